"""Tiny models with random weights, of the architectures that the registry names, saved as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from verseir.systems.registry import load_registry

LETTERS = "abcdefghijklmnopqrstuvwxyz" + "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأإؤئةى" + "0123456789:.,'?"
HIDDEN = 32

#: Lines made up for these tests.
TEXTS = [
    "قمر على الماء",
    "نام الحارس فوق السور حتى طلع الفجر وصاح الديك في القرية البعيدة",
    "a lamp",
    "The well is dry and the rope hangs over the stone, waiting for rain.",
]


def entry(folder: Path, **settings: Any) -> dict[str, Any]:
    """The entry of a model in ``folder``, read through a registry file, as a user's would be."""
    given = {"kind": "dense", "path": str(folder), "dimension": HIDDEN, "max_length": 64, "pooling": "mean", **settings}
    place = folder.parent / f"{folder.name}.yaml"
    kept = {key: value for key, value in given.items() if value is not ...}
    place.write_text(yaml.safe_dump({"tiny": kept}), "utf-8")
    return load_registry([place])["tiny"]


def bert(folder: Path, positions: int = 64) -> Path:
    """BERT with WordPiece; no sentence-transformers files."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = special + list(LETTERS) + [f"##{letter}" for letter in LETTERS]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece()
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    _save_tokenizer(tokenizer, folder, names)
    _seed()
    configuration = BertConfig(
        vocab_size=len(pieces),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.3,  # texts get vectors that are far apart
        max_position_embeddings=positions,
        pad_token_id=0,
    )
    BertModel(configuration, add_pooling_layer=False).save_pretrained(folder)
    return folder


def xlm_roberta(folder: Path) -> Path:
    """XLM-RoBERTa with a Unigram vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [(piece, 0.0) for piece in special] + [("▁", -2.0)] + [(letter, -3.0) for letter in LETTERS]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    _save_tokenizer(tokenizer, folder, names)
    _seed()
    configuration = XLMRobertaConfig(
        vocab_size=len(pieces),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.3,  # texts get vectors that are far apart
        max_position_embeddings=66,  # 64 can be used: they start at padding_idx + 1
        pad_token_id=1,
        type_vocab_size=1,
    )
    XLMRobertaModel(configuration, add_pooling_layer=False).save_pretrained(folder)
    return folder


def qwen3(folder: Path, end_token: bool = True) -> Path:
    """Qwen3 with byte-level BPE, an end token after each text, and a chat template that must stay unused."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import Qwen3Config, Qwen3Model

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: number for number, symbol in enumerate(alphabet)}
    end = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if end_token:
        ends = [("<|endoftext|>", end)]
        tokenizer.post_processor = processors.TemplateProcessing("$A <|endoftext|>", special_tokens=ends)
    names = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    _save_tokenizer(tokenizer, folder, names, "{% for m in messages %}<chat>{{ m.content }}</chat>{% endfor %}")
    _seed()
    configuration = Qwen3Config(
        vocab_size=end + 1,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        intermediate_size=64,
        initializer_range=0.3,  # texts get vectors that are far apart
        max_position_embeddings=512,
        pad_token_id=end,
        eos_token_id=end,
        tie_word_embeddings=True,
    )
    Qwen3Model(configuration).save_pretrained(folder)
    return folder


def with_head(folder: Path, backbone: Path, dimension: int) -> Path:
    """A sentence-transformers folder like LaBSE's: CLS pooling, Dense with tanh, Normalize."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    _seed()
    modules = [
        Transformer(str(backbone)),
        Pooling(HIDDEN, "cls"),
        Dense(HIDDEN, dimension, activation_function=torch.nn.Tanh()),
        Normalize(),
    ]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder


def hidden_states(folder: Path, text: str, max_length: int) -> Any:
    """Hidden states [t, HIDDEN] of one text alone, from transformers alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(text, truncation=True, max_length=max_length, return_tensors="pt")
    tokens.pop("token_type_ids", None)
    with torch.inference_mode():
        return AutoModel.from_pretrained(folder).eval()(**tokens).last_hidden_state[0]


def _save_tokenizer(tokenizer: Any, folder: Path, names: dict[str, str], chat_template: str | None = None) -> None:
    from transformers import PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)
    fast.chat_template = chat_template
    fast.save_pretrained(folder)


def _seed() -> None:
    import torch

    torch.manual_seed(20)
