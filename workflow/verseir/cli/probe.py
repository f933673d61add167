"""Try one system before a study uses it: what it is, its self-checks, what it sees of a text, how fast it is."""

import argparse
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verseir.atomic import write_text
from verseir.faults import InputFaults, UserError, closest
from verseir.systems.checks import SAMPLES
from verseir.systems.devices import claim_device
from verseir.systems.inspection import Line, bm25_lines, encoder_lines, fusion_lines, imported_lines
from verseir.systems.local_folder import entry_of_folder, entry_text
from verseir.systems.registry import can_use_gpu, load_registry
from verseir.yaml_files import decoded_yaml, read_yaml

PROJECT = Path(__file__).parents[3]
REGISTRY = "config/systems.yaml"
#: What is encoded where nothing is given: verses of the demo.
DEMO = PROJECT / "resources" / "demo" / "poems.jsonl"
#: Texts that a speed is measured on.
N_TEXTS = 48


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", help="a name of the registry, or a folder with an encoder")
    parser.add_argument("--registry", nargs="+", default=[REGISTRY], help=f"files that define systems ({REGISTRY})")
    parser.add_argument(
        "--texts", type=Path, help="a file of texts to try it on, one a line; verses of the demo if not given"
    )
    parser.add_argument("--gpus", type=int, default=1, help="0: on the CPU, whatever the machine has")
    parser.add_argument("--name", default="", help="what to call an encoder from a folder")
    parser.add_argument("--register", type=Path, help="a registry file to add the entry of the folder to")


def run(args: argparse.Namespace) -> int:
    logging.getLogger().setLevel(logging.WARNING)
    try:
        name, registry, said = _found(args)
        entry = registry[name]
        if args.register and said is None:
            raise UserError(f"'{name}' is in the registry already", "--register is for a folder with an encoder")
        before = _before(args.register, name) if args.register else ""
        _tell("system", f"{name} ({entry['kind']})" + (f": {entry['description']}" if entry["description"] else ""))
        for what, line in _lines(args, entry, registry):
            _tell(what, line)
        if said is not None:
            _tell_entry(args, name, said, before)
    except (InputFaults, UserError) as error:
        print(f"not ready: {error}")
        return 1
    print("ready")
    return 0


def _found(args: argparse.Namespace) -> tuple[str, dict[str, dict[str, Any]], list[str] | None]:
    """The name of the system, a registry that has it, and of a folder: what was taken for granted of it."""
    files = [
        path if Path(path).exists() or path != REGISTRY else PROJECT / REGISTRY for path in map(str, args.registry)
    ]
    registry = load_registry(map(Path, files))
    if args.system in registry:
        return args.system, registry, None
    folder = Path(args.system).expanduser()
    if folder.is_dir():
        entry, said = entry_of_folder(folder, args.name)
        return next(iter(entry)), _read_back(entry), said
    if "/" in args.system:
        raise UserError(f"there is no folder {args.system}", "give a folder with an encoder, or a name of the registry")
    hint = closest(args.system, registry) + "; or a folder; --registry names other files of systems"
    raise UserError(f"unknown system '{args.system}'", hint)


def _read_back(entry: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entry with its defaults, read as a user's file would be."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "entry.yaml"
        file.write_text(entry_text(entry), encoding="utf-8")
        return load_registry([file])


def _lines(args: argparse.Namespace, entry: dict[str, Any], registry: dict[str, dict[str, Any]]) -> Iterator[Line]:
    if entry["kind"] == "fusion":
        yield from fusion_lines(entry, registry)
    elif entry["kind"] == "imported":
        yield from imported_lines(entry)
    elif entry["kind"] == "bm25":
        yield from bm25_lines(entry, _texts(args))
    else:
        from verseir.systems.loading import load_encoder  # PyTorch takes seconds

        with claim_device(gpus=args.gpus, useful=can_use_gpu(entry)) as device:
            yield from encoder_lines(load_encoder(entry, device), _texts(args))


def _texts(args: argparse.Namespace) -> list[str]:
    """Texts to try a system on, without repeats."""
    if args.texts is not None:
        try:
            lines = args.texts.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f"{args.texts} cannot be read: {error}", "--texts: a text file in UTF-8, one text a line"
            ) from error
        texts = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
        if not texts:
            raise UserError(f"{args.texts} holds no text", "--texts: one text a line")
        return texts[: 4 * N_TEXTS]
    if not DEMO.is_file():
        return list(SAMPLES)
    poems = map(json.loads, DEMO.read_text(encoding="utf-8").splitlines())
    return [" ".join(filter(None, (half for verse in poem["verses"][:3] for half in verse))) for poem in poems][
        :N_TEXTS
    ]


def _tell_entry(args: argparse.Namespace, name: str, said: list[str], before: str) -> None:
    """The lines that register an encoder from a folder; they go to a file where one is named."""
    entry, _ = entry_of_folder(Path(args.system), name)
    text = entry_text(entry)
    for line in said:
        print(f"note: {line}")
    if args.register is None:
        print(f"\nIts entry in a registry file (--register FILE adds it):\n\n{text}")
    else:
        _append(args.register, before, text)
        print(f"\nadded to {args.register}:\n\n{text}")
    file = args.register or "my-systems.yaml"
    print(f"A study then says: registry: [{REGISTRY}, {file}] and systems: [..., {name}]\n")


def _before(file: Path, name: str) -> str:
    """What a registry file holds before an entry ``name`` is added. Raises where none can be: nothing is tried then."""
    if not file.exists():
        if not file.parent.is_dir():
            raise UserError(f"there is no folder {file.parent}", "--register: a file in a folder that is there")
        return ""
    try:
        text, faults = decoded_yaml(file, str(file))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}", "--register: a YAML file of systems") from error
    known: Any = None
    if not faults:
        known, _, faults = read_yaml(text, str(file))
    if faults:
        raise InputFaults(faults)
    if known is not None and not isinstance(known, dict):
        raise UserError(f"{file} holds no systems by name", "a registry file has lines such as `my-encoder:` with keys")
    if name in (known or {}):
        raise UserError(f"'{name}' is in {file} already", "--name gives it another name")
    if known and text.lstrip().startswith("{"):
        raise UserError(f"{file} is written in braces: no entry can be added below", "--register: another file")
    return text


def _append(file: Path, before: str, text: str) -> None:
    gap = "" if not before.strip() else "\n" if before.endswith("\n") else "\n\n"
    write_text(file, before + gap + text)


def _tell(what: str, line: str) -> None:
    print(f"{what:26} {line}", flush=True)
