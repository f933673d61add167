"""BM25 over chunks, pooled to poems: the weights are those of bm25s or of rank_bm25, the search is exact.

Results keep the ranking policy (``verseir.ranking``). Two things are particular to the method ``okapi``:

* Scores are float64 sums, in the order of the query; they become float32 before they are ranked, as all scores are.
* Tied poems can be put in another order than by poem_id: with ``ties="introsort"`` in that of NumPy's portable sort of
  all poems' float64 scores, reversed (see ``systems.introsort``), to reproduce what was published from such a sort.
  Poems that share no token take part in that sort with score 0, but are not retrieved.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from verseir.faults import UserError, closest
from verseir.ranking import DEPTH, ChunkOrder, check_depth, empty_run, order_chunks, run_frame
from verseir.systems.okapi import RANKERS, Ranker, okapi_weights
from verseir.systems.postings import Postings, bm25s_weights
from verseir.systems.tokens import Tokens, starts_of

#: Variants by the names of Kamphuis et al. (2020, Which BM25 do you mean?). Those that score absent terms are left out.
#: ``okapi`` is rank_bm25's.
METHODS = ("atire", "lucene", "okapi", "robertson")
#: With so high a k1 the weight of a token is in proportion to its frequency; a far higher one leaves no finite weights.
MOST_K1 = 1_000_000
#: Version of the files that ``save_indexes`` writes.
FORMAT = 2
_ARRAYS = {"indices": np.int32, "indptr": np.int64, "poem_of": np.int32}
#: Queries that one thread works on together, so that their results take little memory.
QUERIES = 512

#: Per query the number of its results, int64 [q]; then poem indices, scores and chunk places [m], in ranking order.
Results = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Bm25Index:
    """A BM25 index.

    Attributes:
        method, k1, b: the variant and its parameters.
        vocabulary: token to column, columns in the order of the tokens.
        data, indices, indptr: float32 (of ``okapi`` float64), int32, int64: weights by column, in it by chunk.
        names: the chunks in ranking order; ``indices`` are places in it.
    """

    method: str
    k1: float
    b: float
    vocabulary: dict[str, int]
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    names: ChunkOrder

    @classmethod
    def build(
        cls,
        tokens: Sequence[Sequence[str]],
        chunk_ids: Sequence[str] | pl.Series,
        poem_ids: Sequence[str] | pl.Series,
        method: str = "lucene",
        k1: float = 1.5,
        b: float = 0.75,
        *,
        positions: Sequence[int] | pl.Series | None = None,
    ) -> Bm25Index:
        """Index the tokens of n chunks; chunks without tokens are left out, of the statistics too.

        Args:
            tokens: the tokens of each chunk.
            chunk_ids, poem_ids: n names each.
            method: one of ``METHODS``.
            k1, b: saturation of term frequency, 0 to ``MOST_K1``; weight of chunk length, 0 to 1.
            positions: where each chunk stands in its poem (its first verse), see ``ranking.order_chunks``.

        Raises:
            UserError: an unknown method, a parameter out of range, lengths that differ, or no token at all.
        """
        if method not in METHODS:
            raise UserError(f"unknown BM25 method '{method}'", hint=closest(method, METHODS))
        if not (0 <= k1 <= MOST_K1 and 0 <= b <= 1):
            raise UserError(f"BM25 with k1={k1}, b={b}", hint=f"k1 lies between 0 and {MOST_K1:,}, b between 0 and 1")
        if not len(tokens) == len(chunk_ids) == len(poem_ids) == len(chunk_ids if positions is None else positions):
            raise UserError(f"{len(tokens)} token lists for {len(chunk_ids)} chunks of {len(poem_ids)} poem ids")
        # Columns go by the order of the tokens, and so does summation: both depend on the corpus alone.
        tokens = Tokens.of(tokens).trimmed()
        kept = np.flatnonzero(tokens.lengths)
        names = order_chunks(
            pl.Series(chunk_ids, dtype=pl.String).gather(kept),
            pl.Series(poem_ids, dtype=pl.String).gather(kept),
            None if positions is None else pl.Series(positions, dtype=pl.Int64).gather(kept),
        )
        rows = kept[names.order]
        postings = Postings.of(tokens, rows)
        if method == "okapi":
            data = okapi_weights(tokens.take(rows), postings, k1, b)
        else:
            data = bm25s_weights(postings, method, k1, b)
        return cls(
            method=method,
            k1=float(k1),
            b=float(b),
            vocabulary={token: column for column, token in enumerate(tokens.vocabulary)},
            data=_frozen(data, _dtype(method)),
            indices=_frozen(postings.chunk_of, np.int32),
            indptr=_frozen(postings.indptr, np.int64),
            names=names,
        )

    def search(
        self,
        query_ids: Sequence[str],
        query_tokens: Sequence[Sequence[str]],
        depth: int = DEPTH,
        *,
        ties: str = "id",
        threads: int | None = None,
    ) -> pl.DataFrame:
        """Rank the poems that share at least one token with each query.

        A token that a query repeats counts as often as it occurs. A poem that shares no token is not retrieved; one
        that shares only tokens of weight 0 is, with score 0.

        Args:
            query_ids: q names, distinct.
            query_tokens: the tokens of each query.
            depth: poems kept per query.
            ties: ``id``, or with the method ``okapi`` also ``introsort``.
            threads: threads to use; numba's number of threads where nothing is said.

        Returns:
            A RUN frame, sorted by query_id and rank.
        """
        check_depth(depth)
        if ties not in RANKERS:
            raise UserError(f"unknown order of ties '{ties}'", hint=closest(ties, RANKERS))
        if ties != "id" and self.method != "okapi":
            raise UserError(f"ties are put in the order '{ties}' by the method okapi alone, not by {self.method}")
        if len(query_ids) != len(query_tokens):
            raise UserError(f"{len(query_ids)} query ids and {len(query_tokens)} token lists: they must be as many")
        if not len(query_ids):
            return empty_run()
        by_id = sorted(range(len(query_ids)), key=query_ids.__getitem__)
        asked = Tokens.of(query_tokens).take(np.array(by_id))
        return run_frame([query_ids[i] for i in by_id], *self._rank(asked, depth, ties, threads), self.names)

    def _rank(self, queries: Tokens, depth: int, ties: str, threads: int | None) -> Results:
        from numba import get_num_threads

        column_of = np.array([self.vocabulary.get(token, -1) for token in queries.vocabulary], dtype=np.int64)
        columns = column_of[queries.ids]
        starts = starts_of(columns >= 0)[queries.starts]
        columns = columns[columns >= 0]
        threads = threads or get_num_threads()
        share = min(QUERIES, -(-len(queries) // threads))
        depth = min(depth, len(self.names.poem_ids))
        search = partial(self._search_okapi, RANKERS[ties]) if self.method == "okapi" else self._search_share

        def search_from(first: int) -> Results:
            own = starts[first : first + share + 1]
            return search(columns[own[0] : own[-1]], own - own[0], depth)

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(search_from, range(0, len(queries), share)))
        filled, poems, scores, places = (np.concatenate(part) for part in zip(*parts, strict=True))
        return filled, poems, scores, places

    def _search_share(self, columns: np.ndarray, starts: np.ndarray, depth: int) -> Results:
        from verseir.systems import sparse

        n_queries = len(starts) - 1
        query_of = np.repeat(np.arange(n_queries), np.diff(starts))
        pairs, counts = np.unique((query_of << 32) + columns, return_counts=True)
        query_of, tokens = pairs >> 32, pairs & 0xFFFFFFFF
        asked, terms = np.unique(tokens, return_inverse=True)
        keys = np.empty((n_queries, min(len(self.names.poem_ids), 2 * depth + 100) + 1), dtype=np.int64)
        sparse.sparse_search(
            self.data, self.indices, self.indptr, _frozen(self.names.poem_of, np.int32), asked, terms,
            counts.astype(np.float32), np.searchsorted(query_of, np.arange(n_queries + 1)), depth, keys,
        )  # fmt: skip
        keys = keys[:, :depth]
        keys.sort(axis=1)
        keys = keys[:, ::-1]
        used = keys >= 0
        scores, places = sparse.read_keys(keys[used])
        return used.sum(axis=1), self.names.poem_of[places], scores, places

    def _search_okapi(self, rank: Ranker, columns: np.ndarray, starts: np.ndarray, depth: int) -> Results:
        from verseir.systems import sparse

        scores = np.empty(len(self.names.poem_of))
        sharing = np.empty(len(scores), dtype=np.bool_)
        ranked = []
        for first, end in pairwise(starts.tolist()):
            sparse.sum_weights(self.data, self.indices, self.indptr, columns[first:end], scores, sharing)
            ranked.append(rank(scores, sharing, self.names.starts, depth))
        poems, best, places = (np.concatenate(part) for part in zip(*ranked, strict=True))
        return np.array([len(row[0]) for row in ranked], dtype=np.int64), poems, best, places

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the index to ``folder``, which is replaced as a whole."""
        save_indexes(folder, {"": self})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Bm25Index:
        """Read an index that ``save`` wrote; its arrays stay on disk and are mapped into memory.

        Raises:
            UserError: the folder is absent, damaged, of another format, or holds the indexes of groups.
        """
        indexes = load_indexes(folder)
        if set(indexes) != {""}:
            raise UserError(f"{folder} holds no BM25 index of a whole corpus, but of {len(indexes)} groups")
        return indexes[""]


def save_indexes(folder: str | os.PathLike[str], indexes: Mapping[str, Bm25Index]) -> None:
    """Write indexes of one method and its parameters to ``folder``, which is replaced as a whole.

    However many there are, they are ``layout.BM25_FILES``: the arrays of all, one after the other.

    Args:
        indexes: at least one, by the names of their groups; the index of a whole corpus has the name "".
    """
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    first = next(iter(indexes.values()))
    try:
        new = work / "new"
        new.mkdir()
        for name in ("data", *_ARRAYS):
            arrays = [_array(index, name) for index in indexes.values()]
            np.save(new / f"{name}.npy", arrays[0] if len(arrays) == 1 else np.concatenate(arrays))
        groups = [
            {
                "group": group,
                "vocabulary": list(index.vocabulary),
                "chunk_ids": index.names.chunk_ids.to_list(),
                "poem_ids": index.names.poem_ids.to_list(),
            }
            for group, index in indexes.items()
        ]
        texts = {"format": FORMAT, "method": first.method, "k1": first.k1, "b": first.b, "groups": groups}
        (new / "index.json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
        if target.exists():
            target.rename(work / "old")
        new.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def load_indexes(folder: str | os.PathLike[str]) -> dict[str, Bm25Index]:
    """Read what ``save_indexes`` wrote; the arrays stay on disk and are mapped into memory.

    Raises:
        UserError: the folder is absent, damaged, or of another format.
    """
    source = Path(folder)
    hint = f"remove {source} and run again: the index is built anew"
    try:
        texts = json.loads((source / "index.json").read_text(encoding="utf-8"))
        if texts["format"] != FORMAT:
            raise UserError(f"{source} has format {texts['format']}, this version reads {FORMAT}", hint=hint)
        types = {"data": _dtype(texts["method"])} | _ARRAYS
        whole = {name: _frozen(np.load(source / f"{name}.npy", mmap_mode="r"), dtype) for name, dtype in types.items()}
        places = dict.fromkeys(types, 0)
        indexes = {}
        for group in texts["groups"]:
            arrays = {}
            for name, size in (("indptr", len(group["vocabulary"]) + 1), ("poem_of", len(group["chunk_ids"]))):
                arrays[name] = whole[name][places[name] : places[name] + size]
                places[name] += size
            for name in ("data", "indices"):
                size = int(arrays["indptr"][-1])
                arrays[name] = whole[name][places[name] : places[name] + size]
                places[name] += size
            poem_of = arrays.pop("poem_of")
            indexes[group["group"]] = Bm25Index(
                method=texts["method"],
                k1=texts["k1"],
                b=texts["b"],
                vocabulary={token: column for column, token in enumerate(group["vocabulary"])},
                **arrays,
                names=ChunkOrder(
                    order=np.arange(len(poem_of)),
                    chunk_ids=pl.Series("chunk_id", group["chunk_ids"], dtype=pl.String),
                    poem_ids=pl.Series("poem_id", group["poem_ids"], dtype=pl.String),
                    poem_of=poem_of,
                    starts=np.concatenate([[0], np.cumsum(np.bincount(poem_of))]),
                ),
            )
        if places != {name: len(array) for name, array in whole.items()}:
            raise ValueError("its arrays do not fit its names")
        return indexes
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        raise UserError(f"{source} holds no BM25 index that can be read: {error}", hint=hint) from error


def _array(index: Bm25Index, name: str) -> np.ndarray:
    array: np.ndarray = index.names.poem_of if name == "poem_of" else getattr(index, name)
    return array


def _dtype(method: str) -> type:
    return np.float64 if method == "okapi" else np.float32


def _frozen(array: np.ndarray, dtype: type) -> np.ndarray:
    """``array`` as a plain read-only array, whether fresh or mapped: numba compiles a kernel for each type anew."""
    plain: np.ndarray = np.asarray(np.ascontiguousarray(array, dtype=dtype)).view()
    plain.flags.writeable = False
    return plain
