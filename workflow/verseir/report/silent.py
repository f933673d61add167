"""Measures that tell nothing of a corpus, and measures that repeat another: they stay in the tables, and it is said."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from verseir.formats import DECIMALS, count, listing
from verseir.report.standings import Standing

#: Measures that see only whether a poem is within the cut: one that holds the whole corpus leaves them nothing to see.
_REACH = re.compile(r"(?:recall|r|p|precision|success)@(\d+)", re.IGNORECASE)


def silent_measures(
    modes: Collection[Mapping[str, Standing]], order: Sequence[str], corpus: str, n_poems: int | None
) -> tuple[list[str], list[str]]:
    """The measures of ``order`` that say little, and sentences that say why; also those that repeat another measure.

    ``modes`` holds, for each mode of one corpus and query set, the standing of each measure.
    """
    reaching = [name for name in order if n_poems and _reaches(name, n_poems)]
    several = any(len(standing.scores) > 1 for standings in modes for standing in standings.values())
    level = [name for name in order if several and name not in reaching and _level(modes, name)]
    remarks = []
    if reaching:
        remarks.append(
            f"{listing(reaching)} {_says(reaching)} little here: {corpus} has {count(n_poems or 0, 'poem')}, so the "
            "cut holds every poem that is retrieved at all, wherever it is ranked."
        )
    if level:
        remarks.append(f"{listing(level)} {_says(level)} nothing here: all systems have the same mean.")
    telling = [name for name in order if name not in reaching and name not in level]
    means = {name: _means(modes, name) for name in telling}
    for place, name in enumerate(telling):
        first = next((other for other in telling[:place] if means[other] == means[name]), None)
        if first:
            remarks.append(f"{name} equals {first} in every row.")
    return [*reaching, *level], remarks


def _says(names: Sequence[str]) -> str:
    return "says" if len(names) == 1 else "say"


def _reaches(measure: str, n_poems: int) -> bool:
    found = _REACH.fullmatch(measure)
    return found is not None and int(found[1]) >= n_poems


def _level(modes: Collection[Mapping[str, Standing]], measure: str) -> bool:
    """All systems have the same mean in every mode."""
    found = [standings[measure] for standings in modes if measure in standings]
    return bool(found) and all(len(standing.leaders) == len(standing.scores) for standing in found)


def _means(modes: Collection[Mapping[str, Standing]], measure: str) -> list[dict[str, float]]:
    found = [standings[measure].scores if measure in standings else () for standings in modes]
    return [{score.system: round(score.mean, DECIMALS) for score in scores} for scores in found]
