"""What an encoder reads of a text, and which part of it becomes the vector."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """A string as an encoder reads it, and the part of it that is pooled.

    Attributes:
        text: the exact string.
        prompt: how many characters at its start are read but not pooled.
        span: first and last character (exclusive) of the part whose tokens' mean is the vector; None: the model pools
            the text in its own way.
        second: the second text of a pair; None for one text.
        head: whether the modules after the pooling (Dense) apply to the mean over a span.
    """

    text: str
    prompt: int = 0
    span: tuple[int, int] | None = None
    second: str | None = None
    head: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether it is one text that is pooled whole: nothing but a string."""
        return not self.has_part and self.second is None

    @property
    def has_part(self) -> bool:
        """Whether a part is pooled, not all."""
        return self.prompt > 0 or self.span is not None

    @property
    def order(self) -> tuple[str, int, tuple[int, int], str, bool]:
        """A key to sort by."""
        return self.text, self.prompt, self.span or (-1, -1), self.second or "", self.head


#: What an encoder is given: a string that it pools whole, or a reading of another kind.
Prepared = str | Reading


def as_reading(prepared: Prepared) -> Reading:
    """``prepared`` as a reading."""
    return Reading(prepared) if isinstance(prepared, str) else prepared
