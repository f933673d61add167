"""Processors: how many threads to use, which GPU, and one job per GPU at a time."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

log = logging.getLogger(__name__)

#: Seconds between two looks for a free GPU.
POLL = 1.0


def cpu_threads() -> int:
    """Threads for numeric work: ``OMP_NUM_THREADS`` where it is set, else the cores that this process may use."""
    stated = os.environ.get("OMP_NUM_THREADS", "")
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def visible_gpus() -> list[tuple[str, str]]:
    """The NVIDIA GPUs that this process may use: what ``CUDA_VISIBLE_DEVICES`` calls each, and its lasting id.

    The ids are the same for all processes of a machine; the numbers in ``CUDA_VISIBLE_DEVICES`` need not be: inside a
    Slurm job the only GPU is 0, whichever it is. An id may be given by its first letters, as CUDA allows.
    """
    listed = _installed_gpus()
    stated = os.environ.get("CUDA_VISIBLE_DEVICES")
    if stated is None:
        return list(listed.items())
    names = [name.strip() for name in stated.split(",") if name.strip() not in ("", "-1")]
    return [(name, _lasting(name, listed)) for name in names] if listed else []


def _lasting(name: str, listed: dict[str, str]) -> str:
    """The id of the GPU that is called ``name``; the name itself where no GPU, or more than one, may be meant."""
    if name in listed:
        return listed[name]
    meant = [lasting for lasting in listed.values() if lasting.startswith(name)]
    return meant[0] if len(meant) == 1 else name


@lru_cache(maxsize=1)
def _installed_gpus() -> dict[str, str]:
    """Number and id of each GPU, from nvidia-smi; empty without it."""
    if not shutil.which("nvidia-smi"):
        return {}
    command = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(line.split(", ", 1) for line in answer.splitlines() if ", " in line)


@contextmanager
def claim_device(lock_folder: Path | None = None, *, gpus: int = 1, useful: bool = True) -> Iterator[str]:
    """Yield ``cuda`` while this process alone holds a GPU, waiting for one to come free; else ``mps`` or ``cpu``.

    ``CUDA_VISIBLE_DEVICES`` names the GPU held. It must be set before CUDA starts: claim before a model is loaded. The
    locks are between processes of one user and machine, and end with the process, however it ends.

    Args:
        lock_folder: of the locks; by default one of this user's in the folder for temporary files.
        gpus: how many GPUs the scheduler gave to this job; with 0 it runs on the CPU, whatever the machine has.
        useful: whether what is loaded can use one; else it runs on the CPU, and nothing is amiss.
    """
    if not useful:
        _say_cpu()
        yield "cpu"
        return
    if gpus < 1:
        _say_cpu("this job was given no GPU")
        yield "cpu"
        return
    visible = visible_gpus()
    if not visible:
        yield _device_without_gpu()
        return
    from filelock import FileLock

    folder = lock_folder or Path(tempfile.gettempdir()) / f"verseir-gpus-{os.getuid()}"
    folder.mkdir(parents=True, exist_ok=True)
    locks = [(name, FileLock(folder / f"{_slug(lasting)}.lock")) for name, lasting in visible]
    name, lock = _first_free(locks)
    names = {"CUDA_VISIBLE_DEVICES": name}
    if "CUDA_VISIBLE_DEVICES" not in os.environ:  # the numbers are nvidia-smi's: CUDA's own put the fastest GPU first
        names["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    before = {variable: os.environ.get(variable) for variable in names}
    os.environ.update(names)
    try:
        log.info("using GPU %s", name)
        yield "cuda"
    finally:
        lock.release()
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value


def _first_free(locks: list) -> tuple:
    """The first of ``locks`` that can be had, as soon as one can."""
    from filelock import Timeout

    waiting = False
    while True:
        for name, lock in locks:
            try:
                lock.acquire(timeout=0)
                return name, lock
            except Timeout:
                continue
        if not waiting:
            log.info("all %d GPUs are in use: waiting for one", len(locks))
            waiting = True
        time.sleep(POLL)


@lru_cache(maxsize=1)
def _device_without_gpu() -> str:
    """``mps`` on a Mac that has it, else ``cpu``; said once."""
    import platform

    if platform.system() == "Darwin":
        import torch

        if torch.backends.mps.is_available():
            return "mps"
    _say_cpu("no GPU is visible")
    return "cpu"


@lru_cache
def _say_cpu(why: str = "") -> None:
    """Say once that the CPU is used, and why where a GPU could be."""
    log.warning("%srunning on the CPU with %d threads", f"{why}: " if why else "", cpu_threads())


def _slug(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-_" else "-" for character in name)
