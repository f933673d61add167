"""The entry of the registry that a folder with an encoder asks for, read from the folder's own files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from verseir.faults import UserError

#: Which of the registry's ways of pooling a module of sentence-transformers does.
_POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
}
#: Keys that configurations call the length of a vector by.
_WIDTHS = ("hidden_size", "d_model", "dim", "n_embd")
#: Tokenizers without a limit state a number beyond any text.
_NO_LIMIT = 10**6
#: Positions of these begin after that of the padding.
_OFFSET = ("roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet")


def entry_of_folder(folder: Path, name: str = "") -> tuple[dict[str, dict[str, Any]], list[str]]:
    """``{name: entry}`` with the least that an entry needs, and what was taken for granted.

    Args:
        folder: what sentence-transformers or transformers saved.
        name: of the system; made of the folder's name where it is empty.

    Raises:
        UserError: the folder holds no encoder.
    """
    modules = _json(folder / "modules.json") or []
    parts = {str(module.get("type", "")).rpartition(".")[2]: folder / module.get("path", "") for module in modules}
    backbone = parts.get("Transformer", folder)
    configuration = _json(backbone / "config.json")
    if configuration is None:
        raise UserError(
            f"the folder {folder} holds no encoder: there is no {backbone / 'config.json'}",
            "give the folder that sentence-transformers or transformers saved, with config.json in it",
        )
    said: list[str] = []
    pooling = _pooling(parts, said)
    dense = _json(parts["Dense"] / "config.json") if "Dense" in parts else None
    width = next((configuration[key] for key in _WIDTHS if isinstance(configuration.get(key), int)), None)
    dimension = dense.get("out_features") if dense else width
    if dimension is None:
        raise UserError(
            f"{backbone / 'config.json'} does not say how long a vector is", f"it has none of {', '.join(_WIDTHS)}"
        )
    tokenizer = _json(backbone / "tokenizer_config.json") or {}
    entry: dict[str, Any] = {
        "kind": "dense",
        "path": folder.as_posix(),
        "pooling": pooling,
        "max_length": _max_length(backbone, configuration, tokenizer, said),
        "dimension": dimension,
    }
    if tokenizer.get("padding_side") == "left":
        entry["padding_side"] = "left"
    prompts = _prompts(folder)
    if prompts:
        entry["prompts"] = prompts
    elif "e5" in folder.name.lower():
        said.append(
            'its files state no prompts; the encoders of the e5 family want {query: "query: ", document: "passage: "}'
        )
    if "auto_map" in configuration:
        said.append("it brings code of its own: read it, then set `remote_code: true` and a `code_revision`")
    return {name or slug(folder.resolve().name): entry}, said


def slug(name: str) -> str:
    """``name`` as a system may be called."""
    return re.sub(r"[^a-z0-9_.+-]+", "-", name.lower()).strip("-.+_") or "encoder"


def entry_text(entry: dict[str, dict[str, Any]]) -> str:
    """The entry as YAML, a key a line."""
    lines = []
    for name, given in entry.items():
        lines.append(f"{name}:\n")
        for key, value in given.items():
            text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6).strip()
            lines.append(f"  {key}: {text.removesuffix('...').strip()}\n")
    return "".join(lines)


def _json(path: Path) -> Any:
    """What a JSON file holds; None where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read as JSON: {error}", "the folder is damaged: save or fetch it again"
        ) from error


def _pooling(parts: dict[str, Path], said: list[str]) -> str:
    stated = _json(parts["Pooling"] / "config.json") if "Pooling" in parts else None
    if stated is None:
        said.append("its files do not say how it pools: mean is taken for granted; see its card")
        return "mean"
    given = [
        _POOLING.get(key, "own") for key, value in stated.items() if key.startswith("pooling_mode_") and value is True
    ]
    named = stated.get("pooling_mode")
    if isinstance(named, str):
        given = [named if named in _POOLING.values() else "own"]
    return given[0] if len(given) == 1 else "own"


def _max_length(backbone: Path, configuration: dict, tokenizer: dict, said: list[str]) -> int | None:
    """The most tokens of a text, by what the folder says first: its own limit, the tokenizer's, the positions."""
    positions = configuration.get("max_position_embeddings")
    if positions and configuration.get("model_type") in _OFFSET:
        positions -= 2
    own = (_json(backbone / "sentence_bert_config.json") or {}).get("max_seq_length")
    stated = own or tokenizer.get("model_max_length")
    if not stated or stated > _NO_LIMIT:
        said.append(
            "its files do not say how long a text may be: "
            + ("its positions are" if positions else "no limit is")
            + " taken"
        )
        return positions
    return int(min(stated, positions)) if positions else int(stated)


def _prompts(folder: Path) -> dict[str, str]:
    """The prompts of both roles, where the folder states any."""
    stated = (_json(folder / "config_sentence_transformers.json") or {}).get("prompts") or {}
    query = stated.get("query") or ""
    document = next((stated[key] for key in ("document", "passage", "corpus") if stated.get(key)), "")
    return {"query": query, "document": document} if query or document else {}
