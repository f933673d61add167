"""What an encode or an index will take, known without loading a model: texts, tokens, hours, bytes.

Tokens are counted with the encoder's own tokenizer where its file is at hand. Hours rest on speeds that were measured,
or on the arithmetic of a forward pass: two operations for each parameter and token (Kaplan et al. 2020, Scaling Laws
for Neural Language Models, 2.1), without attention, which short texts have little of.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verseir.faults import UserError
from verseir.systems.blocks import Blocks
from verseir.systems.identity import KEY_BYTES, Identity, Role, identify
from verseir.systems.readings import Prepared, Reading, as_reading
from verseir.systems.sources import LOADER_FILES, Source, cached, package_files
from verseir.systems.tokenizers import tokens_of
from verseir.systems.vectors import VectorStore

log = logging.getLogger(__name__)

#: Characters that are taken for a token where no tokenizer is at hand: what that of multilingual E5 makes of verse.
CHARACTERS = 2.6
#: Of more texts than this, every n-th is read by a tokenizer, and the rest is taken to be like them.
SAMPLE = 20_000
#: Operations a second that a GPU of a data centre keeps up, and one core of a processor; half of it on the GPU where
#: a model computes in float32.
GPU_FLOPS, CORE_FLOPS = 5e13, 4e10
#: Chunks that one core indexes for BM25 in a second.
INDEXED = 10_000.0

#: Weights that are looked up, not multiplied with.
_LOOKED_UP = re.compile(r"(word_embeddings|embed_tokens|tok_embeddings|\bwte|\bshared)\.weight$")


class Volume(NamedTuple):
    """The texts of one encode.

    Attributes:
        n_texts: distinct texts of documents, and of what is read of queries.
        n_new: those to be encoded: the store lacks them, and no encode before this one makes them.
        n_tokens: what the encoder reads of the new ones, cut to its limit.
        counted: how tokens were counted: ``tokenizer``, ``sample`` of texts by the tokenizer, or ``characters``; None
            where there are none.
        largest_share: of the characters to be encoded, the part that falls to the job with the most.
        n_blocks: blocks of texts that jobs share.
    """

    n_texts: int
    n_new: int
    n_tokens: int
    counted: str | None
    largest_share: float
    n_blocks: int


def known_identity(entry: dict[str, Any]) -> Identity:
    """The identity of an encoder; of one that is not at hand, one that no vectors are stored under."""
    try:
        return identify(entry)
    except UserError:
        return Identity(entry, Source("none", "", "", ""), f"none-{entry['name']}")


def volume(
    identity: Identity, texts: Mapping[Role, Sequence[str | Reading]], planned: set[bytes], shards: int = 1
) -> Volume:
    """The volume of one encode.

    Args:
        identity: of the encoder.
        texts: by role, without repeats.
        planned: keys of the texts that encodes before this one make; those of this one are added.
        shards: jobs that share the encode.
    """
    store = VectorStore(identity)
    blocks = Blocks(identity, texts if shards > 1 else {})
    shard_of = blocks.shard_of(shards)
    load = np.zeros(shards)
    fresh: list[Prepared] = []
    for role, asked in sorted(texts.items()):
        lacking = store.missing(asked, role)
        keyed = dict(zip(identity.text_keys(lacking, role), lacking, strict=True))
        new = [text for key, text in keyed.items() if key not in planned]
        planned.update(keyed)
        fresh += new
        if shards > 1:
            np.add.at(load, shard_of[blocks.block_of(new, role)], [len(as_reading(text).text) for text in new])
    largest = float(load.max() / load.sum()) if load.any() else 1.0
    return Volume(sum(map(len, texts.values())), len(fresh), *count_tokens(identity, fresh), largest, len(blocks))


def count_tokens(identity: Identity, prepared: Sequence[Prepared], sample: int = SAMPLE) -> tuple[int, str | None]:
    """The tokens that an encoder reads of prepared strings, special ones included, and how they were counted."""
    if not prepared:
        return 0, None
    strings = [reading.text + (reading.second or "") for reading in map(as_reading, prepared)]
    lengths = np.array([len(string) for string in strings], np.int64)
    limit = identity.entry["max_length"] or np.iinfo(np.int64).max
    counter = _counter(identity)
    if counter is None:
        return int(np.minimum(np.ceil(lengths / CHARACTERS), limit).sum()), "characters"
    step = max(1, math.ceil(len(strings) / sample))
    n_tokens = np.minimum(counter(strings[::step]), limit).sum()
    if step == 1:
        return int(n_tokens), "tokenizer"
    return round(float(n_tokens * lengths.sum() / max(1, lengths[::step].sum()))), "sample"


def _counter(identity: Identity) -> Callable[[list[str]], np.ndarray] | None:
    """What counts the tokens of strings; None where the encoder's tokenizer is not at hand as a ``tokenizer.json``."""
    file = _model_file(identity, "tokenizer.json")
    if file is None:
        return None
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing narrower; half a download is no reason to plan nothing
        log.warning("%s cannot be read (%s): its tokens are taken from characters", file, error)
        return None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda strings: np.array([len(one.ids) for one in tokenizer.encode_batch_fast(strings)], np.int64)


def _model_file(identity: Identity, name: str) -> Path | None:
    """A file of a model, where it lies on this machine; nothing is fetched."""
    entry, source = identity.entry, identity.source
    if source.kind == "none":
        return None
    if source.kind == "hub":
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(source.place, name, revision=source.revision)
        return Path(found) if isinstance(found, str) else None
    if source.kind == "package" and entry["loader"] in LOADER_FILES:
        return next((file for file in package_files(entry) if file.name == name), None)
    file = Path(source.place) / name
    return file if file.is_file() else None


def at_hand(identity: Identity) -> bool:
    """Whether the encoder lies on this machine; nothing is fetched."""
    source = identity.source
    return source.kind != "none" and (source.kind != "hub" or cached(identity.entry, source.revision) is not None)


def parameters_of(identity: Identity) -> int | None:
    """The parameters that a token is multiplied with, without embeddings of tokens: read from the weights where they
    are at hand, else those that the registry names; None where neither is known."""
    weights = _model_file(identity, "model.safetensors")
    if weights is None:
        return identity.entry.get("parameters")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, "np") as held:
            shapes = {name: held.get_slice(name).get_shape() for name in held.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError) as error:
        log.warning("%s cannot be read (%s): its parameters are those of the registry", weights, error)
        return identity.entry.get("parameters")
    return sum(math.prod(shape) for name, shape in shapes.items() if not _LOOKED_UP.search(name))


def hours(parameters: int, n_tokens: int, flops: float) -> float:
    """Hours that a forward pass over so many tokens takes at ``flops`` operations a second."""
    return 2 * parameters * n_tokens / flops / 3600


def gpu_flops(dtype: str) -> float:
    """Operations a second that a GPU is taken to keep up in a number type."""
    return GPU_FLOPS / 2 if dtype == "float32" else GPU_FLOPS


def vector_bytes(n_texts: int, dimension: int) -> int:
    """Bytes that a store takes for so many vectors and their keys."""
    return n_texts * (4 * dimension + KEY_BYTES)


def index_bytes(texts: Sequence[str], entry: Mapping[str, Any], names: int, sample: int = SAMPLE) -> float:
    """Bytes that the BM25 index of some texts takes on disk: postings, vocabulary, names of chunks and poems.

    Of many texts, every n-th is read. The vocabulary grows as Heaps' law says (Heaps 1978, 7.5), with the exponent
    that half of what is read shows.

    Args:
        names: bytes that the names take.
    """
    step = max(1, math.ceil(len(texts) / sample))
    read = [set(tokens) for tokens in tokens_of(texts[::step], entry)]
    postings = sum(map(len, read)) * len(texts) / max(1, len(read))
    words: set[str] = set().union(*read)
    half = len(set[str]().union(*read[::2]))
    growth = (len(texts) / max(1, len(read))) ** math.log2(max(1, len(words)) / max(1, half))
    vocabulary = growth * sum(len(word.encode()) + 4 + 8 for word in words)  # in quotes, and where its postings are
    weight = 8 if entry["method"] == "okapi" else 4
    return postings * (weight + 4) + vocabulary + 4 * len(texts) + names


def run_bytes(n_rows: int, n_poems: int, n_chunks: int) -> float:
    """Bytes that a run takes as Parquet: scores, the numbers of poems and chunks, and their names once."""
    numbers = (math.log2(max(2, n_poems)) + math.log2(max(2, n_chunks))) / 8
    return n_rows * (3.5 + numbers) + 12 * min(n_rows, n_chunks)
