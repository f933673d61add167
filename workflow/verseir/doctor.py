"""What this machine has of what the workflow needs, found out within seconds, with a network or without."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from verseir.systems.devices import cpu_threads
from verseir.systems.sources import cache_folder, package_folder

#: Seconds that any one look outside this process may take.
PATIENCE = 2.5
OK, NOTE, PROBLEM = "ok", "note", "problem"
#: Free space and memory, in GiB, below which to say so, and below which nothing useful runs.
_LITTLE_DISK, _NO_DISK = 10.0, 0.5
_LITTLE_MEMORY, _NO_MEMORY = 4.0, 1.0
#: The Python that the lock is for, and the first Snakemake that reads the rules.
_PYTHON, _SNAKEMAKE = (3, 11), 9
_BROWSERS = ("firefox", "chromium", "chromium-browser", "google-chrome", "chrome", "microsoft-edge", "safari")
_LATEX = ("lualatex", "xelatex", "pdflatex", "tectonic")
#: Fonts of the report that show vocalised Arabic well.
_NASKH = ("Noto Naskh Arabic", "Amiri", "Scheherazade New", "Geeza Pro", "Traditional Arabic")
#: A line of the lock.
_VERSION = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;#]+)", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """One thing looked at: ``state`` is ``ok``, ``note`` (something goes without it) or ``problem``."""

    what: str
    state: str
    said: str
    hint: str = ""

    def __str__(self) -> str:
        hint = f"\n{'':28}hint: {self.hint}" if self.hint and self.state != OK else ""
        return f"{self.state:8} {self.what:18} {self.said}{hint}"


def examine(project: Path, results: Path) -> Iterator[Finding]:
    """All findings, in the order in which they are told.

    Args:
        project: the checkout: its lock and its ``pyproject.toml``.
        results: the folder that studies write to.
    """
    hub = _Later(lambda: hub_finding(PATIENCE))  # the slowest: it waits while the others look
    yield python_finding(sys.version_info[:3])
    yield from package_findings(project)
    yield _snakemake()
    yield from device_findings()
    yield _memory()
    yield disk_finding("results", results)
    yield disk_finding("cache", cache_folder())
    yield from _tokens()
    yield hub.result(PATIENCE + 0.5, Finding("hub", NOTE, "does not answer", "work offline, or try again"))
    yield _fonts()
    yield _program("browser", _BROWSERS, "the report and the sheets are pages: copy them to a machine that has one")
    yield _program("git", ("git",), "the manifest then names no commit")
    yield _program("LaTeX", _LATEX, "needed to typeset the tables of `paper/` only")
    yield _slurm()


class _Later:
    """What a function gives, worked out in a thread that nothing waits for in the end."""

    def __init__(self, work: Callable[[], Finding]):
        self._found: list[Finding] = []
        self._thread = threading.Thread(target=lambda: self._found.append(work()), daemon=True)
        self._thread.start()

    def result(self, seconds: float, otherwise: Finding) -> Finding:
        self._thread.join(seconds)
        return self._found[0] if self._found else otherwise


def python_finding(version: tuple[int, ...]) -> Finding:
    """Whether the Python is the one that the lock is for."""
    said = ".".join(map(str, version))
    wanted = ".".join(map(str, _PYTHON))
    if version[:2] == _PYTHON:
        return Finding("Python", OK, said)
    return Finding(
        "Python",
        PROBLEM,
        f"{said}, not {wanted}",
        f"make the environment with Python {wanted}: make install PYTHON=python{wanted}",
    )


def package_findings(project: Path) -> Iterator[Finding]:
    """Installed packages against the lock; those that the project needs have to be there."""
    lock = project / "requirements.lock"
    if not lock.is_file():
        yield Finding(
            "packages", NOTE, "there is no requirements.lock to compare with", "run it in a checkout of the project"
        )
        return
    pinned = {_normal(name): (name, version) for name, version in _VERSION.findall(lock.read_text(encoding="utf-8"))}
    needed = _needed(project)
    missing, others = [], []
    for key, (name, version) in sorted(pinned.items()):
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if found.partition("+")[0] != version.partition("+")[0]:
            others.append((key in needed, f"{name} {found} (lock: {version})"))
    install = "make install, or: pip install -r requirements.lock"
    lacking = [name for name in missing if _normal(name) in needed]
    if lacking:
        yield Finding("packages", PROBLEM, f"not installed: {_some(lacking)}", install)
    if others:
        said = _some([text for _, text in sorted(others, key=lambda one: not one[0])])
        yield Finding("versions", NOTE, f"{len(others)} of {len(pinned)} are not those of the lock: {said}", install)
    if missing and not lacking:
        yield Finding("packages", NOTE, f"of the lock, not installed: {_some(missing)}", install)
    if not missing and not others:
        yield Finding("packages", OK, f"all {len(pinned)} as the lock has them")


def _needed(project: Path) -> set[str]:
    import tomllib

    try:
        given = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    except (OSError, KeyError, ValueError):
        return set()
    return {_normal(found[0]) for name in given if (found := re.match(r"[A-Za-z0-9._-]+", name))}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _snakemake() -> Finding:
    try:
        version = importlib.metadata.version("snakemake")
    except importlib.metadata.PackageNotFoundError:
        return Finding("Snakemake", PROBLEM, "not installed", "make install")
    if int(version.partition(".")[0]) < _SNAKEMAKE:
        return Finding("Snakemake", PROBLEM, f"{version}, older than {_SNAKEMAKE}", "make install")
    return Finding("Snakemake", OK, version)


def device_findings() -> Iterator[Finding]:
    """The processor, and the GPUs with whether this PyTorch can use them."""
    has_bf16 = "; computes bfloat16 itself" if _cpu_has_bf16() else ""
    yield Finding("processor", OK, f"{cpu_threads()} usable cores, {platform.machine()}{has_bf16}")
    gpus = _gpus()
    built = _torch_cuda()
    if gpus and built:
        for name, memory, capability in gpus:
            bf16 = "bfloat16" if capability >= 8 else "no bfloat16: set `dtype: float16` or `float32`"
            yield Finding("GPU", OK, f"{name}, {memory}, {bf16} (PyTorch for CUDA {built})")
    elif gpus:
        hint = "install a PyTorch for CUDA in place of the lock's, or run with --resources gpu=0"
        yield Finding("GPU", NOTE, f"{', '.join(name for name, *_ in gpus)}: this PyTorch is built without CUDA", hint)
    elif platform.system() == "Darwin" and platform.machine() == "arm64":
        yield Finding("GPU", OK, "Apple's, by MPS")
    else:
        yield Finding(
            "GPU", NOTE, "none: encoders run on the CPU", "large encoders are slow there: make plan tells the hours"
        )


def _gpus() -> list[tuple[str, str, float]]:
    """Name, memory and compute capability of each GPU, from nvidia-smi; empty without it."""
    told = _said("nvidia-smi", "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader")
    rows = [line.split(", ") for line in told.splitlines() if line.count(", ") == 2]
    return [(name, memory, float(cap) if re.fullmatch(r"[\d.]+", cap) else 0.0) for name, memory, cap in rows]


def _torch_cuda() -> str:
    """The CUDA that PyTorch was built for, read without importing it; empty for none."""
    folder = package_folder("torch")
    try:
        told = (folder / "version.py").read_text(encoding="utf-8") if folder else ""
    except OSError:
        return ""
    found = re.search(r"^cuda\b[^=\n]*= *['\"]([\d.]+)", told, re.MULTILINE)
    return found[1] if found else ""


def _cpu_has_bf16() -> bool:
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.machine() == "arm64"
    return bool(re.search(r"\b(avx512_bf16|amx_bf16|bf16)\b", told))


def _memory() -> Finding:
    import psutil

    free = psutil.virtual_memory().available
    limit = _cgroup_memory()
    gib = min(free, limit) / 2**30 if limit else free / 2**30
    said = f"{gib:.1f} GiB available" + (" (what this job may use)" if limit and limit < free else "")
    if gib < _NO_MEMORY:
        return Finding(
            "memory", PROBLEM, said, "close other programs, or ask the cluster for more: 4 GiB will do for the demo"
        )
    if gib < _LITTLE_MEMORY:
        return Finding("memory", NOTE, said, "large encoders and corpora need more")
    return Finding("memory", OK, said)


def _cgroup_memory() -> int:
    """What a container or a job of a cluster may still use, in bytes; 0 for no limit."""
    try:
        most = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        files = Path("/sys/fs/cgroup/memory.stat").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return 0
    if not most.isdigit():
        return 0
    cached = re.search(r"^inactive_file (\d+)$", files, re.MULTILINE)
    return max(1, int(most) - int(used) + (int(cached[1]) if cached else 0))


def disk_finding(what: str, folder: Path) -> Finding:
    """Free space where ``folder`` is or will be, and whether it can be written to."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK) or not place.is_dir():
        hint = (
            "choose another folder: VERSEIR_CACHE names that of the cache"
            if what == "cache"
            else "run in a folder of yours"
        )
        return Finding(f"disk, {what}", PROBLEM, f"{place} cannot be written to", hint)
    free = shutil.disk_usage(place).free / 2**30
    said = f"{free:,.1f} GiB free at {folder}"
    if free < _NO_DISK:
        return Finding(
            f"disk, {what}", PROBLEM, said, "make room, or move it: the vectors of the demo alone take 20 MiB"
        )
    if free < _LITTLE_DISK:
        return Finding(f"disk, {what}", NOTE, said, "make plan tells what a study will take")
    return Finding(f"disk, {what}", OK, said)


def hub_finding(seconds: float) -> Finding:
    """Whether models and data sets can be fetched: the hub, or the proxy to it, takes a connection."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return Finding("hub", NOTE, "offline, by HF_HUB_OFFLINE", "only models that lie here can be used")
    address = urllib.parse.urlsplit(constants.ENDPOINT)
    proxies = [os.environ.get(name, "") for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")]
    proxy = next(filter(None, proxies), "")
    if proxy:
        address = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
    by = " by a proxy" if proxy else ""
    try:
        port = address.port or (443 if address.scheme in ("https", "") else 80)
        socket.create_connection((address.hostname or "", port), timeout=seconds).close()
    except (OSError, ValueError):
        hint = "the demo needs none; fetch models where there is a network and take HF_HOME along"
        return Finding("hub", NOTE, f"does not answer{by}", hint)
    return Finding("hub", OK, f"answers{by}")


def _tokens() -> Iterator[Finding]:
    """Whether keys are there. They are not read, nor shown."""
    from huggingface_hub import constants

    hub = (
        any(os.environ.get(name) for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"))
        or Path(constants.HF_TOKEN_PATH).is_file()
    )
    yield Finding("token of the hub", OK, "there is one" if hub else "none: needed for gated models only")
    model = bool(os.environ.get("OPENAI_API_KEY"))
    yield Finding(
        "key of judges", OK, "OPENAI_API_KEY is set" if model else "none: needed for hosted language models only"
    )


def _fonts() -> Finding:
    """Fonts with Arabic: that of the figures comes with matplotlib, the report asks the system for a better one."""
    folder = package_folder("matplotlib")
    if not folder or not (folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf").is_file():
        return Finding(
            "fonts", PROBLEM, "DejaVu Sans, which figures are drawn with, is not in matplotlib", "make install"
        )
    if platform.system() in ("Darwin", "Windows"):
        return Finding("fonts", OK, "figures: DejaVu Sans; pages: those of the system")
    listed = _said("fc-list", ":lang=ar", "family")
    found = [name for name in _NASKH if name in listed]
    if found:
        return Finding("fonts", OK, f"figures: DejaVu Sans; pages: {found[0]}")
    said = "figures: DejaVu Sans, which has Arabic; pages here: " + ("a plain one" if listed else "not known")
    return Finding(
        "fonts",
        NOTE,
        said,
        "a naskh font, such as Noto Naskh Arabic or Amiri, reads better; readers' own machines matter",
    )


def _program(what: str, names: tuple[str, ...], without: str) -> Finding:
    found = next((name for name in names if shutil.which(name)), None)
    if found or (what == "browser" and platform.system() in ("Darwin", "Windows")):
        return Finding(what, OK, found or "that of the system")
    return Finding(what, NOTE, "none found", without)


def _slurm() -> Finding:
    if not shutil.which("sbatch"):
        return Finding("Slurm", OK, "none: needed for profiles/slurm only")
    return Finding("Slurm", OK, _said("sbatch", "--version").strip() or "sbatch is there, and does not answer")


def _said(*command: str) -> str:
    """What a program prints; empty where it is not there, fails or takes too long."""
    if not shutil.which(command[0]):
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
