"""How numbers read in the report. A number that is not there is never shown as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext

NOT_ESTIMABLE = "not estimable"
MINUS = "\u2212"
#: Keeps the two ends of an interval on one line.
NBSP = "\u00a0"

#: Numbers that agree to this many decimals differ by the order of a sum and no more.
DECIMALS = 12

#: Holds every float to any number of decimals.
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)

#: Smaller p values are printed as below this: no test of this project can tell them apart.
SMALLEST_P = 1e-20


def known(*values: float | None) -> bool:
    """Whether all ``values`` are finite numbers."""
    return all(value is not None and math.isfinite(value) for value in values)


def printed(value: float, form: str) -> str:
    """A finite number in a format such as ``.3f`` or ``,.1f``, rounded half up.

    What is rounded are its first 12 decimal digits: in which order a sum was made does not show.
    """
    with localcontext(_EXACT):
        return format(decimal(value), form)


def decimal(value: float) -> Decimal:
    """A finite number without the noise of binary fractions."""
    return Decimal(f"{value:.{DECIMALS}g}")


def number(value: float | None, digits: int = 3) -> str:
    """``0.746``, with a true minus sign."""
    if value is None or not math.isfinite(value):
        return NOT_ESTIMABLE
    text = printed(value, f".{digits}f")
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def signed(value: float | None, digits: int = 3) -> str:
    """``+0.120``: a difference. Zero has no sign."""
    text = number(value, digits)
    return f"+{text}" if known(value) and not text.startswith(MINUS) and float(text) > 0 else text


def moved(value: float) -> str:
    """A change: ``+0.120``, or with as many decimals as it takes to see that there is one, ``+0.0003``."""
    return signed(value, decimals_of(value))


def decimals_of(*values: float | None) -> int:
    """How many decimals it takes to see of each of ``values`` that it is not zero; at least 3."""
    seen = [round(value, DECIMALS) for value in values if value is not None and math.isfinite(value)]
    digits = 3
    while digits < DECIMALS and any(value and not float(printed(value, f".{digits}f")) for value in seen):
        digits += 1
    return digits


def interval(low: float | None, high: float | None, digits: int = 3, sign: bool = False) -> str:
    """``[0.701, 0.789]``."""
    if not known(low, high):
        return f"interval {NOT_ESTIMABLE}"
    form = signed if sign else number
    return f"[{form(low, digits)},{NBSP}{form(high, digits)}]"


def p_value(p: float | None) -> str:
    """A p value to two figures; never 0."""
    if p is None or not math.isfinite(p):
        return NOT_ESTIMABLE
    if p < SMALLEST_P:
        return f"< {SMALLEST_P:.0e}"
    if p < 0.00095:
        mantissa, exponent = printed(p, ".1e").split("e")
        return f"{mantissa}e{int(exponent)}"
    decimals = 2 if p >= 0.0995 else 3 if p >= 0.00995 else 4
    text = printed(p, f".{decimals}f")
    while (p < 0.05) != (float(text) < 0.05):  # rounding must not carry p across the level it is read against
        decimals += 1
        text = printed(p, f".{decimals}f") if decimals <= DECIMALS + 2 else repr(p)
    return text


def p_phrase(name: str, p: float | None) -> str:
    """``Holm p = 0.047`` or ``Holm p < 1e-20``."""
    text = p_value(p)
    sign = "" if text == NOT_ESTIMABLE or text.startswith("<") else "= "
    return f"{name} {sign}{text}".replace(" ", NBSP)


def percent(share: float | None) -> str:
    """A share in [0, 1] as ``3.2%``; one that is not zero never looks like zero."""
    if share is None or not math.isfinite(share):
        return NOT_ESTIMABLE
    if 0 < share < 0.001:
        return "< 0.1%"
    return "0%" if share == 0 else f"{printed(100 * share, '.1f')}%"


def quantity(value: float | None) -> str:
    """A size, a duration or a rate, to three figures: ``1,240``, ``35.2``, ``0.012``."""
    if value is None or not math.isfinite(value):
        return NOT_ESTIMABLE
    if value == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(value)))
    return printed(value, f",.{min(max(decimals, 0), 4)}f").replace("-", MINUS)


def count(n: int, one: str, many: str = "") -> str:
    """``1 query``, ``1,200 queries``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def ordinal(n: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def listing(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
