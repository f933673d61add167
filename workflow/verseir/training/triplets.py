"""Triplets: for each query to train on one poem that answers it, and poems that do not, by how they were found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from verseir.faults import UserError, closest
from verseir.measures import RELEVANT
from verseir.queries.splits import drawn_place
from verseir.tables import define
from verseir.training.folds import classes_of

#: ``place`` counts from 0 within a query: 0 is the positive. ``origin`` is one of the words below, or a system.
TRIPLETS = define(
    "triplets",
    {
        "query_id": pl.String,
        "role": pl.String,
        "place": pl.Int64,
        "origin": pl.String,
        "poem_id": pl.String,
        "chunk_id": pl.String,
    },
    unique="query_id place",
)
ROLES = ("positive", "negative")
#: Where a poem is from that no system found.
GOLD, OPPOSITE, RANDOM = "gold", "opposite", "random"

#: The use of an idiom that stands against all others.
_LITERAL = "literal"


@dataclass(frozen=True)
class Negatives:
    """How many negatives of each kind a query gets, and from which ranks those of a system are drawn."""

    opposite: int = 0
    random: int = 0
    systems: Mapping[str, int] = field(default_factory=dict)
    ranks: tuple[int, int] = (1, 100)

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Negatives:
        """Those of the part ``negatives`` of a recipe."""
        ranks = spec.get("ranks", cls.ranks)
        return cls(spec.get("opposite", 0), spec.get("random", 0), spec.get("systems", {}), (ranks[0], ranks[1]))

    @property
    def asked(self) -> dict[str, int]:
        """How many of each origin, in the order of their places, without those of which none is asked for."""
        found = {OPPOSITE: self.opposite, **dict(sorted(self.systems.items())), RANDOM: self.random}
        return {origin: n for origin, n in found.items() if n}


@dataclass(frozen=True)
class Documents:
    """The poems of a corpus that a mode indexes.

    Attributes:
        chunks: poem_id -> its chunks with text, sorted; poems in order of their ids.
        class_of: poem_id -> its class of copies; a poem without is alone.
        idiom, usage: of the poems that have such an attribute.
    """

    chunks: Mapping[str, list[str]]
    class_of: Mapping[str, str]
    idiom: Mapping[str, str]
    usage: Mapping[str, str]

    @cached_property
    def poems(self) -> list[str]:
        """All poem_ids, sorted."""
        return list(self.chunks)

    @cached_property
    def of_idiom(self) -> dict[str, list[str]]:
        """The poems of each idiom, sorted."""
        found: dict[str, list[str]] = {}
        for poem in self.poems:
            if poem in self.idiom:
                found.setdefault(self.idiom[poem], []).append(poem)
        return found

    def same(self, poem: str) -> str:
        """What a poem shares with its copies."""
        return self.class_of.get(poem, poem)

    def opposite(self, poem: str) -> list[str]:
        """The poems of the same idiom that use it literally, or, if this one does, that do not; sorted."""
        literal = self.usage.get(poem) == _LITERAL
        of_idiom = self.of_idiom.get(self.idiom.get(poem, ""), [])
        return [other for other in of_idiom if other in self.usage and (self.usage[other] == _LITERAL) != literal]

    def of_one_idiom(self, poem: str, other: str) -> bool:
        """Whether two poems have an idiom and it is the same."""
        return poem in self.idiom and self.idiom[poem] == self.idiom.get(other)


@dataclass(frozen=True)
class Mined:
    """TRIPLETS sorted by query and place; how many queries have none, and how many got fewer than asked, by origin."""

    triplets: pl.DataFrame
    n_left_out: int
    lacking: Mapping[str, int]


def documents_of(
    chunks: pl.DataFrame, attributes: pl.DataFrame | None = None, duplicates: pl.DataFrame | None = None
) -> Documents:
    """The ``Documents`` of CHUNKS (chunk_id, poem_id, text suffice), ATTRIBUTES and DUPLICATES of a corpus."""
    indexed = chunks.filter(pl.col("text") != "").group_by("poem_id").agg(pl.col("chunk_id").sort()).sort("poem_id")
    known: dict[str, dict[str, str]] = {"idiom": {}, "usage": {}}
    if attributes is not None:
        for name, values in known.items():
            rows = attributes.filter(pl.col("attribute") == name).select("poem_id", "value")
            values.update(rows.iter_rows())
    return Documents(dict(indexed.iter_rows()), classes_of(duplicates), known["idiom"], known["usage"])


def mine(
    query_ids: Collection[str],
    qrels: pl.DataFrame,
    documents: Documents,
    runs: Mapping[str, pl.DataFrame],
    negatives: Negatives,
    seed: int,
    held_out: Collection[str] = (),
) -> Mined:
    """The triplets of a query set; a query has none without a relevant poem in the corpus that may be trained on.

    The positive is drawn from the relevant poems, and stands with the chunk by which a system found it best, else with
    one drawn. A negative is neither relevant to its query nor to one that is held out, nor a copy of such a poem; no
    two of a query are copies of each other. They are, in this order: of the ``opposite`` use of the idiom of the
    positive; what each system ranks, in the order of their names; poems at random, of other idioms if the positive has
    one. What is drawn for a query hangs on ``seed`` and its id, not on other queries or the order of rows.

    Args:
        query_ids: the queries to train on.
        qrels: QRELS of the whole set.
        documents: what is searched.
        runs: system -> RUN of the set.
        negatives: how many of which kind.
        seed: of the draws.
        held_out: queries of ``qrels`` whose relevant poems must not be trained on.

    Raises:
        UserError: a system has no run, no query has a relevant poem, or there is nothing of a kind for any query.
    """
    for name in sorted(set(negatives.systems) - set(runs)):
        raise UserError(f"no run of '{name}' to draw negatives from", closest(name, runs))
    answers: dict[str, list[str]] = {}
    judged = qrels.filter(pl.col("grade") >= RELEVANT).select("query_id", "poem_id")
    for query_id, poem in judged.sort("query_id", "poem_id").iter_rows():
        answers.setdefault(query_id, []).append(poem)
    barred = {documents.same(poem) for query_id in held_out for poem in answers.get(query_id, [])}
    positives: dict[str, str] = {}
    for query_id in sorted(query_ids):
        known = [poem for poem in answers.get(query_id, []) if poem in documents.chunks]
        if here := [poem for poem in known if documents.same(poem) not in barred]:
            positives[query_id] = here[int(_chance(query_id, GOLD, seed).integers(len(here)))]
    if not positives:
        raise UserError(
            f"none of {len(query_ids)} queries to train on has a relevant poem in the corpus, or none but poems that"
            " queries which test or validate ask for",
            "`train` names a corpus and a query set that is judged in it; `folds` part one set by poem",
        )
    found_by = _best_chunks(positives, runs)
    ranked = {name: _ranked(runs[name], positives, negatives.ranks) for name in negatives.systems}
    rows: list[tuple[str, str, int, str, str, str]] = []
    lacking, got = dict.fromkeys(negatives.asked, 0), dict.fromkeys(negatives.asked, 0)
    for query_id, positive in positives.items():
        chunk = _chunk(documents, positive, found_by.get(query_id), _chance(query_id, "chunk", seed))
        rows.append((query_id, ROLES[0], 0, GOLD, positive, chunk))
        closed = {documents.same(poem) for poem in answers[query_id]}
        place = 0
        for origin, n in negatives.asked.items():
            chance = _chance(query_id, origin, seed)
            candidates: dict[str, str | None] = ranked.get(origin, {}).get(query_id, {})
            if origin == OPPOSITE:
                poems = _shuffled(documents.opposite(positive), chance)
            elif origin == RANDOM:
                drawn = _shuffled(documents.poems, chance)
                poems = (poem for poem in drawn if not documents.of_one_idiom(positive, poem))
            else:
                poems = _shuffled([poem for poem in candidates if poem in documents.chunks], chance)
            taken = list(_taken(poems, n, documents, barred, closed))
            lacking[origin] += len(taken) < n
            got[origin] += len(taken)
            for poem in taken:
                place += 1
                chunk = _chunk(documents, poem, candidates.get(poem), chance)
                rows.append((query_id, ROLES[1], place, origin, poem, chunk))
    for origin, n in got.items():
        if not n:
            raise _nothing(origin, negatives.ranks)
    triplets = pl.DataFrame(rows, schema=dict(TRIPLETS.columns), orient="row")
    return Mined(triplets, len(query_ids) - len(positives), lacking)


def _chance(query_id: str, what: str, seed: int) -> np.random.Generator:
    """What a draw for one query takes its numbers from: each ``what`` has its own, so that none moves another."""
    return np.random.default_rng(int.from_bytes(drawn_place(query_id, what, seed), "big"))


def _shuffled(poems: list[str], chance: np.random.Generator) -> Iterator[str]:
    """``poems`` in an order drawn at random, of which only so much is worked out as is asked for (Fisher and Yates)."""
    moved: dict[int, int] = {}
    for i in range(len(poems)):
        j = int(chance.integers(i, len(poems)))
        yield poems[moved.get(j, j)]
        moved[j] = moved.get(i, i)


def _taken(
    poems: Iterable[str], n: int, documents: Documents, barred: Collection[str], closed: set[str]
) -> Iterator[str]:
    """The first ``n`` of ``poems`` whose class is neither ``barred`` nor ``closed``; each closes its own."""
    for poem in poems:
        same = documents.same(poem)
        if same in barred or same in closed:
            continue
        closed.add(same)
        yield poem
        n -= 1
        if n == 0:
            return


def _chunk(documents: Documents, poem: str, found: str | None, chance: np.random.Generator) -> str:
    """The chunk ``found`` if it is one of the poem's, else one drawn: a run of another program may name none."""
    chunks = documents.chunks[poem]
    return found if found in chunks else chunks[int(chance.integers(len(chunks)))]


def _best_chunks(positives: Mapping[str, str], runs: Mapping[str, pl.DataFrame]) -> dict[str, str]:
    """The chunk of the best rank at which a system found each positive; of equal ranks the first system counts."""
    wanted = pl.DataFrame(list(positives.items()), schema={"query_id": pl.String, "poem_id": pl.String}, orient="row")
    found: dict[str, tuple[int, str, str]] = {}
    for name in sorted(runs):
        named = runs[name].filter(pl.col("chunk_id").is_not_null()).join(wanted, on=["query_id", "poem_id"], how="semi")
        for query_id, rank, chunk in named.select("query_id", "rank", "chunk_id").iter_rows():
            found[query_id] = min(found.get(query_id, (rank, name, chunk)), (rank, name, chunk))
    return {query_id: chunk for query_id, (_, _, chunk) in found.items()}


def _ranked(
    run: pl.DataFrame, positives: Mapping[str, str], ranks: tuple[int, int]
) -> dict[str, dict[str, str | None]]:
    """query_id -> {poem_id: chunk_id} of the poems in these ranks, both ends included, in their order."""
    found: dict[str, dict[str, str | None]] = {query_id: {} for query_id in positives}
    within = run.filter(pl.col("rank").is_between(*ranks)).sort("query_id", "rank")
    for query_id, poem, chunk in within.select("query_id", "poem_id", "chunk_id").iter_rows():
        if query_id in found:
            found[query_id][poem] = chunk
    return found


def _nothing(origin: str, ranks: tuple[int, int]) -> UserError:
    """A kind of negatives that no query has any of."""
    if origin == OPPOSITE:
        return UserError(
            "no query has a poem of its idiom in the opposite use",
            "`opposite` is for corpora whose poems have the attributes idiom and usage: take it out of `negatives`",
        )
    if origin == RANDOM:
        return UserError(
            "no poem is left to draw as a random negative: all are relevant, held out, copies of these or taken",
            "take `random` out of `negatives`, or train on a larger corpus",
        )
    return UserError(
        f"'{origin}' ranks no poem from {ranks[0]} to {ranks[1]} that may be a negative of any query",
        "widen `ranks`, which end at `depth` at the latest, or take the system out of `negatives`",
    )
