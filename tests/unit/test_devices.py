"""Devices: threads, GPUs that are visible, one job per GPU. A script stands in for nvidia-smi: no test needs a GPU."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from verseir.systems import devices
from verseir.systems.devices import claim_device, cpu_threads, visible_gpus

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    for variable in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(devices, "POLL", 0.01)
    cached = (devices._installed_gpus, devices._device_without_gpu, devices._say_cpu)
    for one in cached:
        one.cache_clear()
    yield
    for one in cached:
        one.cache_clear()


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    script = tmp_path / "bin" / "nvidia-smi"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho '0, GPU-aaaa'\necho '1, GPU-bbbb'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)


@pytest.fixture
def no_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert cpu_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert 1 <= cpu_threads() <= os.cpu_count()


def test_without_a_gpu_the_cpu_is_used_and_said_once(no_gpu, caplog, monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Linux")
    for _ in range(3):
        with claim_device() as device:
            assert device == "cpu"
    assert caplog.text.count("no GPU is visible: running on the CPU") == 1
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_a_job_that_was_given_no_gpu_leaves_those_of_the_machine_alone(two_gpus, tmp_path, caplog):
    for _ in range(2):
        with claim_device(tmp_path, gpus=0) as device:
            assert device == "cpu"
    assert caplog.text.count("this job was given no GPU: running on the CPU with") == 1
    assert list(tmp_path.glob("*.lock")) == []


def test_what_has_no_use_for_a_gpu_takes_none_and_complains_of_nothing(two_gpus, tmp_path, caplog):
    with claim_device(tmp_path, useful=False) as device:
        assert device == "cpu"
    assert caplog.messages == [f"running on the CPU with {cpu_threads()} threads"]
    assert list(tmp_path.glob("*.lock")) == []


def test_visible_gpus(two_gpus, monkeypatch):
    assert visible_gpus() == [("0", "GPU-aaaa"), ("1", "GPU-bbbb")]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert visible_gpus() == [("1", "GPU-bbbb")]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-bbbb, 0")
    assert visible_gpus() == [("GPU-bbbb", "GPU-bbbb"), ("0", "GPU-aaaa")]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b")  # CUDA takes the first letters of an id
    assert visible_gpus() == [("GPU-b", "GPU-bbbb")]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-")
    assert visible_gpus() == [("GPU-", "GPU-")]
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert visible_gpus() == []


def test_a_broken_driver_is_no_gpu(tmp_path, monkeypatch):
    script = tmp_path / "nvidia-smi"
    script.write_text("#!/bin/sh\necho 'driver mismatch'\nexit 9\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert visible_gpus() == []


def test_each_job_gets_a_gpu_of_its_own(two_gpus, tmp_path):
    with claim_device(tmp_path) as first:
        assert (first, os.environ["CUDA_VISIBLE_DEVICES"]) == ("cuda", "0")
        assert os.environ["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"  # so that 0 is what nvidia-smi calls 0
        del os.environ["CUDA_VISIBLE_DEVICES"]  # as in another process
        with claim_device(tmp_path):
            assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    with claim_device(tmp_path):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"
    assert not {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"} & set(os.environ)


HOLD = """
import os, sys, time
from pathlib import Path
from verseir.systems import devices
devices.POLL = 0.01
with devices.claim_device(Path(sys.argv[1])) as device:
    print(device, os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holders(two_gpus, tmp_path):
    """Start processes that say which GPU they hold, and hold it until their input ends."""
    started = []

    def start():
        command = [sys.executable, "-c", HOLD, str(tmp_path / "locks")]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
        started.append(
            subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_processes_hold_different_gpus_and_a_killed_one_gives_its_own_back(holders):
    first, second = holders(), holders()
    held = {process: process.stdout.readline().split() for process in (first, second)}
    assert sorted(held.values()) == [["cuda", "0"], ["cuda", "1"]]
    third = holders()
    assert select.select([third.stdout], [], [], 0.5)[0] == []  # it waits: both are held
    second.kill()
    assert third.stdout.readline().split() == held[second]


def test_a_job_waits_for_a_gpu_to_come_free(two_gpus, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    waiting, order = threading.Event(), []

    def second():
        waiting.set()
        with claim_device(tmp_path) as device:
            order.append(device)

    with claim_device(tmp_path):
        job = threading.Thread(target=second)
        job.start()
        waiting.wait()
        job.join(timeout=0.2)
        order.append("first done")
    job.join(timeout=10)
    assert order == ["first done", "cuda"]
    assert caplog.text.count("waiting for one") == 1
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"


def test_the_lock_goes_with_an_error(two_gpus, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), claim_device(tmp_path):
            raise ZeroDivisionError
