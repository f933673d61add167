"""Arabic text: normalisation presets, alignment to the source, words, verses. Harmless to text of other scripts."""

from verseir.arabic.hemistichs import join_hemistichs
from verseir.arabic.presets import PRESETS, Preset, find_preset, normalise, normalise_aligned
from verseir.arabic.tokens import token_spans, tokenize

__all__ = [
    "PRESETS",
    "Preset",
    "find_preset",
    "join_hemistichs",
    "normalise",
    "normalise_aligned",
    "token_spans",
    "tokenize",
]
