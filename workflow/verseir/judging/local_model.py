"""Questions to a causal language model on this machine, whose answers can be nothing but JSON that follows the schema.

Transformers runs the model; at each step, llguidance names the tokens with which the answer can still be completed, and
the likeliest of them is taken. So an answer is always sound, unless the limit on tokens cuts it off: then it is
malformed. Greedy, and one text at a time: the same text gets the same answer, whatever else is asked.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from verseir.faults import UserError
from verseir.judging.answers import Answer, Answers, Tally, read_content
from verseir.systems.devices import claim_device
from verseir.systems.progress import Progress
from verseir.systems.sources import cache_folder, content_hash, files_of, snapshot

#: Rises when a change of this module changes answers.
VERSION = 1
DTYPES = ("auto", "float32", "bfloat16")
#: Where the two texts go in a chat template: characters that no text of ours holds.
SYSTEM, USER = "\ue000system\ue000", "\ue000user\ue000"


@dataclass(frozen=True)
class LocalSettings:
    """A causal language model in the layout of transformers, and how to run it.

    Args:
        path: its folder; weights are read from safetensors only.
        hub, revision: its id on the hub and the commit (40 hex digits), where there is no such folder.
        device: ``cpu``, ``cuda`` or ``mps``; ``auto`` for the best at hand.
        dtype: ``float32``, ``bfloat16``, or ``auto`` for the one that its weights are stored in.
        max_tokens: of an answer.
    """

    path: str | None = None
    hub: str | None = None
    revision: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    max_tokens: int = 1024

    @property
    def folder(self) -> Path | None:
        """``path``, when there is such a folder."""
        folder = Path(self.path).expanduser() if self.path else None
        return folder if folder and folder.is_dir() else None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that can change an answer."""
        return {"dtype": self.dtype, "max_tokens": self.max_tokens, "version": VERSION}


@dataclass
class LocalModel:
    """A model on this machine. It is loaded once, and only when something is asked that is not kept.

    Args:
        settings: where it is and how to run it.
        folder: of the kept answers; by default ``answers`` in the cache folder.

    Raises:
        UserError: the settings name no model, or a folder that is not there.
    """

    settings: LocalSettings
    folder: Path = field(default_factory=lambda: cache_folder() / "answers")
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        given = self.settings
        if given.dtype not in DTYPES:
            raise UserError(f"model.dtype: '{given.dtype}' is none of {', '.join(DTYPES)}", hint="auto suits most")
        if not given.path and not given.hub:
            raise UserError("the model has neither `path` nor `hub`", hint="model.path: a folder with the model")
        if given.path and not given.folder and not given.hub:
            raise UserError(f"model.path: '{given.path}' is not a folder", hint="the folder with config.json in it")
        if given.hub and not re.fullmatch("[0-9a-f]{40}", given.revision or ""):
            raise UserError(
                f"model.revision: '{given.revision}' is no commit of {given.hub}",
                hint="the 40 hex digits of the commit, so that a study names its judge for good",
            )

    @property
    def name(self) -> str:
        folder = self.settings.folder
        return folder.resolve().name if folder else str(self.settings.hub)

    @property
    def cost(self) -> float | None:
        """None: a model on this machine has no price."""
        return None

    @cached_property
    def _answers(self) -> Answers:
        """Kept under what the files of the folder hold, or under the commit on the hub."""
        folder = self.settings.folder
        identity = f"{self.settings.hub}@{self.settings.revision}"
        if folder:
            identity = f"files {content_hash(files_of(folder))}"
        return Answers(self.folder, identity, self.settings.parameters)

    @cached_property
    def _loaded(self) -> _Loaded:
        self._claims = ExitStack()  # a GPU is held as long as the model is in its memory
        device = self.settings.device
        if device == "auto":
            device = self._claims.enter_context(claim_device())
        return _Loaded(self._files(), self.settings, device)

    def _files(self) -> Path:
        """The folder to load from, downloaded first where it has to be."""
        if self.settings.folder:
            return self.settings.folder
        hub, revision = self.settings.hub, str(self.settings.revision)
        try:
            return snapshot({"name": hub, "hub": hub, "revision": revision, "weights": "safetensors"}, revision)
        except UserError as error:
            said = str(error.args[0]).splitlines()[-1].strip()
            raise UserError(
                f"model.{said}",
                hint=f"where there is a network: hf download {hub} --revision {revision}; then take HF_HOME along; "
                "or set model.path to a folder that holds the model",
            ) from None

    def ask(self, prompt: str, inputs: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> list[Answer]:
        """The answer to ``prompt`` about each of ``inputs`` (named texts), in their order. Equal inputs are asked once.

        Raises:
            UserError: the model is not at hand or cannot be loaded, or the schema cannot be followed.
        """

        def ask(waiting: Mapping[str, str]) -> Iterator[tuple[str, Answer]]:
            loaded = self._loaded
            with Progress(len(waiting), self.name) as progress:
                for key, message in waiting.items():
                    answer = loaded.answer(prompt, message, schema)
                    self._answers.keep(key, answer)
                    progress.add(1)
                    yield key, answer

        return self._answers.complete(ask, self.tally, prompt, inputs, schema)


class _Loaded:
    """A model in memory, with its tokenizer and the grammar's view of that."""

    def __init__(self, folder: Path, settings: LocalSettings, device: str):
        self.device, self.max_tokens = device, settings.max_tokens
        self._tokenizer, self._model = load(folder, settings.dtype, device)
        configuration = self._model.config.get_text_config()
        self.positions: int | None = getattr(configuration, "max_position_embeddings", None)
        self._prompts = Prompts(self._tokenizer, folder)
        ends = {self._tokenizer.eos_token_id}
        stated = getattr(self._model.generation_config, "eos_token_id", None)
        ends |= set(stated if isinstance(stated, list) else [stated])
        self._ends = sorted(end for end in ends if end is not None)
        self._grammar_tokenizer = self._grammar_view(folder)
        takes = inspect.signature(self._model.forward).parameters
        self._only_last = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
        self._cache_name = "cache" if "cache" in takes else "past_key_values"  # the newer and the older name

    def _grammar_view(self, folder: Path) -> Any:
        import llguidance.hf

        if not self._ends:
            raise UserError(f"the model in {folder} has no end token", hint="choose a model that was made to answer")
        n_tokens = max(len(self._tokenizer), self._model.get_output_embeddings().weight.shape[0])
        try:
            return llguidance.hf.from_tokenizer(self._tokenizer, n_vocab=n_tokens, eos_token=self._ends)
        except Exception as error:  # ValueError, or whatever the Rust side says
            raise UserError(
                f"the tokenizer in {folder} cannot be held to a schema: {error}",
                hint="choose a model with a fast tokenizer (tokenizer.json)",
            ) from error

    def answer(self, prompt: str, message: str, schema: Mapping[str, Any]) -> Answer:
        ids = self._prompts.ids(prompt, message)
        if ids is None:
            return Answer("malformed", content="not asked: its text would become a control token of the model")
        said, whole = self._say(ids, schema)
        content = self._grammar_tokenizer.decode_bytes([token for token in said if token not in self._ends]).decode(
            errors="replace"
        )
        answer = read_content(content, schema) if whole else Answer("malformed", content=content)
        return replace(answer, prompt_tokens=len(ids), completion_tokens=len(said))

    def _say(self, ids: list[int], schema: Mapping[str, Any]) -> tuple[list[int], bool]:
        """The tokens of the answer to a prompt, and whether it came to its end."""
        import torch

        matcher = self._matcher(schema)
        room = self.max_tokens if self.positions is None else min(self.max_tokens, self.positions - len(ids))
        said: list[int] = []
        unread, cache = ids, None
        with torch.inference_mode():
            while True:
                # Tokens that the schema leaves no choice about are read with the next step, not chosen one by one.
                forced = matcher.compute_ff_tokens()[: max(0, room - len(said))]
                matcher.consume_tokens(forced)
                said += forced
                if matcher.is_stopped() or len(said) >= room:
                    return said, matcher.is_accepting() and not matcher.is_error()
                read = torch.tensor([unread + forced], device=self.device)
                kept = {self._cache_name: cache}
                output = self._model(input_ids=read, use_cache=True, **kept, **self._only_last)
                cache = output[self._cache_name]
                token = likeliest(output.logits[0, -1].float().cpu().numpy(), matcher.compute_bitmask())
                matcher.consume_token(token)
                said.append(token)
                unread = [token]

    def _matcher(self, schema: Mapping[str, Any]) -> Any:
        from llguidance import LLMatcher

        grammar = LLMatcher.grammar_from_json_schema(dict(schema), overrides={"whitespace_flexible": False})
        matcher = LLMatcher(self._grammar_tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise UserError(f"an answer cannot be held to this schema: {matcher.get_error()}", hint=json.dumps(schema))
        return matcher


def likeliest(logits: np.ndarray, mask: bytes) -> int:
    """The token with the highest of ``logits`` (float32 [v]) among those whose bit in ``mask`` is set."""
    allowed = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")[: len(logits)].astype(bool)
    scores = np.full(len(logits), -np.inf, np.float32)
    scores[: len(allowed)][allowed] = logits[: len(allowed)][allowed]
    return int(scores.argmax())


class Prompts:
    """Prompts as token ids, in the model's chat template, or one text after the other where it has none.

    A text cannot hold a control token: what looks like one in it is cut in two before it is tokenised, so that it stays
    the letters that it is. All other prompts are tokenised in one piece.
    """

    def __init__(self, tokenizer: Any, folder: Path):
        self._tokenizer = tokenizer
        added = {number: str(token) for number, token in tokenizer.added_tokens_decoder.items()}
        self._control = {number for number, token in added.items() if token.strip()}
        names = sorted({added[number] for number in self._control if len(added[number]) > 1})
        self._names = re.compile(f"(?={'|'.join(map(re.escape, names))})") if names else None
        self._template, self._lead = f"{SYSTEM}\n\n{USER}\n\n", []
        if tokenizer.chat_template:
            self._template = chat_template(tokenizer, folder)
        else:
            self._lead = [token for token in tokenizer("").input_ids if token == tokenizer.bos_token_id]
        self._n_control = self._count(self._tokenised({SYSTEM: "x", USER: "x"}))

    def ids(self, prompt: str, message: str) -> list[int] | None:
        """The token ids of a prompt and a message; None when a text became a control token in spite of all."""
        ids = self._tokenised({SYSTEM: prompt, USER: message})
        return self._lead + ids if self._count(ids) == self._n_control else None

    def _tokenised(self, texts: Mapping[str, str]) -> list[int]:
        runs = [""]
        for part in re.split(f"({SYSTEM}|{USER})", self._template):
            first, *others = self._cut(texts[part]) if part in texts else [part]
            runs[-1] += first
            runs += others
        return [
            token for run in runs for token in self._tokenizer(run, add_special_tokens=False, verbose=False).input_ids
        ]

    def _cut(self, text: str) -> list[str]:
        """``text`` in pieces that hold no control token: each is cut after its first character."""
        places = [found.start() + 1 for found in self._names.finditer(text)] if self._names else []
        return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]

    def _count(self, ids: Sequence[int]) -> int:
        return sum(token in self._control for token in ids)


def chat_template(tokenizer: Any, folder: Path) -> str:
    """A chat in the model's template, with ``SYSTEM`` and ``USER`` where the two texts go.

    A template that knows no system message gets both texts as the user's.
    """
    import jinja2

    apart = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    joined = [{"role": "user", "content": f"{SYSTEM}\n\n{USER}"}]
    why = "it leaves the texts out"
    for messages in (apart, joined):
        try:
            made = tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,  # the schema leaves no room for thoughts
                date_string="26 Jul 2024",  # else Llama's template tells the model today's date
            )
        except jinja2.TemplateError as error:
            why = str(error)
            continue
        if made.count(SYSTEM) == made.count(USER) == 1:
            return made
    raise UserError(f"the chat template in {folder} cannot be used: {why}", hint="choose a model made for chat")


def load(folder: Path, dtype: str, device: str) -> tuple[Any, Any]:
    """The tokenizer and the causal model in ``folder``.

    Raises:
        UserError: it has no safetensors, no causal model, or lacks weights.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    if not any(folder.glob("*.safetensors")):
        raise UserError(f"the model in {folder} has no safetensors", hint="pickled weights are not read")
    transformers_logging.disable_progress_bar()
    loaded: Any
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        loaded = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype if dtype == "auto" else getattr(torch, dtype),
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        model, report = loaded[0].to(device).eval(), loaded[1]
    except Exception as error:  # whatever the model's files or the device say
        raise UserError(
            f"cannot load the model in {folder} on {device}: {type(error).__name__}: {error}",
            hint="model.path: a causal language model in the layout of transformers; model.device",
        ) from error
    if missing := sorted(report["missing_keys"]):
        raise UserError(
            f"the model in {folder} lacks weights: {', '.join(missing[:5])}", hint="it would answer at random"
        )
    return tokenizer, model
