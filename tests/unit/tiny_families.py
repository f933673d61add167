"""Tiny models with random weights, of the further architectures that IdioLink's encoders have, saved as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiny_models
from tiny_models import HIDDEN, LETTERS

#: The vectors of a model with a head are this long.
DENSE = 24
SIZES = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "intermediate_size": 64,
    "initializer_range": 0.3,  # texts get vectors that are far apart
    "max_position_embeddings": 512,
}


def build(folder: Path, family: str) -> Path:
    """A model of ``family``; no sentence-transformers files."""
    makers = {
        "bert": _bert,
        "xlm_roberta": _xlm_roberta,
        "qwen3": tiny_models.qwen3,
        "nomic_bert": _nomic_bert,
        "t5": _t5,
    }
    return makers[family](folder) if family in makers else _decoder(folder, family)


def with_dense(folder: Path, backbone: Path, pooling: str, bias: bool) -> Path:
    """A sentence-transformers folder: the backbone, its pooling, Dense, Normalize."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(7)
    modules = [
        Transformer(str(backbone)),
        Pooling(HIDDEN, pooling),
        Dense(HIDDEN, DENSE, bias=bias, activation_function=torch.nn.Identity()),
        Normalize(),
    ]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder


def _bert(folder: Path) -> Path:
    return tiny_models.bert(folder, positions=256)


def _xlm_roberta(folder: Path) -> Path:
    from transformers import XLMRobertaConfig, XLMRobertaModel

    tiny_models.xlm_roberta(folder)
    tiny_models._seed()
    known = XLMRobertaConfig.from_pretrained(folder)
    known.max_position_embeddings = 256
    XLMRobertaModel(known, add_pooling_layer=False).save_pretrained(folder)
    return folder


def _nomic_bert(folder: Path) -> Path:
    """The dense model of version 1: the mixture of experts of version 2 is not in transformers."""
    from transformers import NomicBertConfig, NomicBertModel

    sizes = {**SIZES, "hidden_act": "gelu", "vocab_size": _pieces(folder, ends=True), "head_dim": None}
    del sizes["num_key_value_heads"]
    tiny_models._seed()
    NomicBertModel(NomicBertConfig(**sizes), add_pooling_layer=False).save_pretrained(folder)
    return folder


def _decoder(folder: Path, family: str) -> Path:
    """Qwen2 and Llama read bytes, Mistral and Gemma 2 pieces; Qwen2 begins with no token, none ends with one."""
    import transformers

    name = {"qwen2": "Qwen2", "llama": "Llama", "mistral": "Mistral", "gemma2": "Gemma2"}[family]
    size = _bytes_tokenizer(folder, begins=family == "llama") if family in ("qwen2", "llama") else _pieces(folder)
    tiny_models._seed()
    configuration = getattr(transformers, f"{name}Config")(**SIZES, vocab_size=size, pad_token_id=0, eos_token_id=2)
    getattr(transformers, f"{name}Model")(configuration).save_pretrained(folder)
    return folder


def _t5(folder: Path) -> Path:
    from transformers import T5Config, T5EncoderModel

    size = _pieces(folder, begins=False, ends=True)
    tiny_models._seed()
    configuration = T5Config(
        d_model=HIDDEN, d_kv=16, d_ff=64, num_layers=2, num_heads=2, vocab_size=size, initializer_factor=3.0
    )
    T5EncoderModel(configuration).save_pretrained(folder)
    return folder


def _bytes_tokenizer(folder: Path, begins: bool) -> int:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = ["<pad>", "<s>", "</s>"]
    symbols = special + sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "t"), ("c", "at")]
    symbols += ["".join(pair) for pair in merges]
    tokenizer = Tokenizer(models.BPE({symbol: number for number, symbol in enumerate(symbols)}, merges))
    tokenizer.add_special_tokens(special)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    return _save(tokenizer, folder, begins)


def _pieces(folder: Path, begins: bool = True, ends: bool = False) -> int:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = ["<pad>", "<s>", "</s>", "<unk>"]
    pieces = [(piece, 0.0) for piece in [*special, "<|user|>", "<|embed|>"]] + [("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in LETTERS + "\n<>|[]_IQRSEP"] + [("▁the", -4.0), ("cat", -5.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    frame = f"{'<s> ' if begins else ''}$A{' </s>' if ends else ''}"
    pair = "$A </s> $B </s>" if ends else f"{frame} $B"
    tokenizer.post_processor = processors.TemplateProcessing(frame, pair, special_tokens=[("<s>", 1), ("</s>", 2)])
    return _save(tokenizer, folder, begins)


def _save(tokenizer: Any, folder: Path, begins: bool) -> int:
    names = {"eos_token": "</s>", "pad_token": "<pad>"} | ({"bos_token": "<s>"} if begins else {})
    names |= {"unk_token": "<unk>"} if tokenizer.token_to_id("<unk>") is not None else {}
    tiny_models._save_tokenizer(tokenizer, folder, names)
    return tokenizer.get_vocab_size()
