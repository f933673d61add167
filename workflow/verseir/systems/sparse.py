"""Numba kernels of BM25: sums over postings, pooled to poems.

No kernel calls one of another file: numba's on-disk cache watches the file of a kernel alone. They run without the GIL
on a share of the queries each; a query is handled by one thread from start to end, so results do not depend on the
number of threads. Chunks come in ranking order (see ``verseir.ranking``): poem indices never decrease along the chunks.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Chunks whose scores are summed together: they, and the weights of frequent tokens in them, stay near the processor.
BLOCK = 4096
#: A token that more than one in so many chunks have is frequent: adding its weights chunk by chunk, absent ones too,
#: takes less time than going from one posting to the next.
FREQUENT = 32
#: The most tokens that are treated so, at 16 kB each.
ROWS = 512

_LOW = 0xFFFFFFFF


def read_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores (float32) and the chunk places (int64) of keys of ``sparse_search``."""
    return (keys >> 32).astype(np.int32).view(np.float32), _LOW - (keys & _LOW)


@njit(cache=True)
def _kth_largest(values, k):
    """The k-th largest of an int64 array (Hoare 1961, FIND)."""
    a = values.copy()
    target = len(a) - k
    low = 0
    high = len(a) - 1
    while low < high:
        pivot = a[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            break
    return a[target]


@njit(cache=True)
def _cut(n, depth, keys):
    """Keep the ``depth`` highest of n distinct keys, in their order. Returns the lowest key kept."""
    lowest = _kth_largest(keys[:n], depth)
    kept = 0
    for i in range(n):
        keys[kept] = keys[i]
        kept += keys[i] >= lowest
    return lowest


@njit(cache=True)
def _floor(data, indices, poem_of, depth):
    """The highest weight, as bits, that a token reaches in ``depth`` poems; 0 where fewer have it.

    A query with the token has at least so many poems that score no less: sums of numbers that are not below 0 never
    fall, rounded or not.
    """
    weights = data.view(np.int32)
    best = np.empty(len(weights), dtype=np.int64)
    n = 0
    poem = np.int32(-1)
    for i in range(len(weights)):
        if poem_of[indices[i]] == poem:
            best[n - 1] = max(best[n - 1], np.int64(weights[i]))
        else:
            poem = poem_of[indices[i]]
            best[n] = weights[i]
            n += 1
    return np.int32(_kth_largest(best[:n], depth)) if n >= depth else np.int32(0)


@njit(cache=True, nogil=True)
def sparse_search(data, indices, indptr, poem_of, tokens, terms, weights, starts, depth, keys):
    """Sum the postings of each query's tokens, pool by poem and keep the best poems.

    The sums of a query are made in the order of its tokens, whatever the block.

    Args:
        data, indices, indptr: float32, int32, int64: the index by columns; postings of token t are
            ``indptr[t]:indptr[t + 1]``, their chunks in ``indices``, ascending, their scores in ``data``, none below 0.
        poem_of: int32 [n], the poem of each chunk.
        tokens: int64 [t], the tokens of all queries, each once.
        terms, weights, starts: int64, float32, int64 [q + 1]: the tokens of query i, as places in ``tokens``, and how
            often each occurs in it, are at ``starts[i]:starts[i + 1]``.
        depth: poems to keep, below capacity.
        keys: int64 [q, capacity], the results, not in order: of each of at most ``depth`` poems its best chunk, as a
            key that puts a higher score first, then a lower place, see ``read_keys``; what is left is -1.
    """
    # A sum that starts at -0.0 keeps its sign only if nothing was added, not even 0.0: as int32 a chunk that shares no
    # term is negative, and the others are in the order of their scores. Nor does adding -0.0 change any sum.
    nothing = np.float32(-0.0)
    n = len(poem_of)
    scores = np.empty(BLOCK, dtype=np.float32)
    bits = scores.view(np.int32)
    reaching = np.empty(BLOCK, dtype=np.bool_)
    groups = reaching.view(np.uint64)
    hits = np.empty(BLOCK + 1, dtype=np.int64)
    # Of frequent tokens all chunks of a block have a weight, in a row of their own.
    row_of = np.full(len(tokens), -1, dtype=np.int64)
    n_rows = 0
    reached = np.empty(len(tokens), dtype=np.int64)
    floors = np.empty(len(tokens), dtype=np.int32)
    for t in range(len(tokens)):
        reached[t] = indptr[tokens[t]]
        stop = indptr[tokens[t] + 1]
        floors[t] = _floor(data[reached[t] : stop], indices[reached[t] : stop], poem_of, depth)
        if n_rows < ROWS and (stop - reached[t]) * FREQUENT > n:
            row_of[t] = n_rows
            n_rows += 1
    rows = np.empty((n_rows, BLOCK), dtype=np.float32)
    # Of each term the next posting, and its chunk: n where there is none.
    posting = np.empty(len(terms), dtype=np.int64)
    upcoming = np.empty(len(terms), dtype=np.int32)
    for i in range(len(terms)):
        posting[i] = indptr[tokens[terms[i]]]
        upcoming[i] = indices[posting[i]]
    found = np.zeros(len(keys), dtype=np.int64)
    last = np.full(len(keys), -1, dtype=np.int32)
    thresholds = np.zeros(len(keys), dtype=np.int32)
    for q in range(len(keys)):
        for i in range(starts[q], starts[q + 1]):
            thresholds[q] = max(thresholds[q], floors[terms[i]])
    for first in range(0, n, BLOCK):
        end = min(first + BLOCK, n)
        for t in range(len(tokens)):
            if row_of[t] < 0:
                continue
            row = rows[row_of[t]]
            row[:] = nothing
            stop = indptr[tokens[t] + 1]
            j = reached[t]
            while j < stop and indices[j] < end:
                row[indices[j] - first] = data[j]
                j += 1
            reached[t] = j
        for q in range(len(keys)):
            shared = False
            for i in range(starts[q], starts[q + 1]):
                shared |= row_of[terms[i]] >= 0 or upcoming[i] < end
            if not shared:
                continue
            scores[:] = nothing
            for i in range(starts[q], starts[q + 1]):
                weight = weights[i]
                if row_of[terms[i]] >= 0:
                    row = rows[row_of[terms[i]]]
                    for j in range(BLOCK):
                        scores[j] += weight * row[j]
                elif upcoming[i] < end:
                    j = posting[i]
                    stop = indptr[tokens[terms[i]] + 1]
                    while j < stop and indices[j] < end:
                        scores[indices[j] - first] += weight * data[j]
                        j += 1
                    posting[i] = j
                    upcoming[i] = indices[j] if j < stop else n
            mine = keys[q]
            m = found[q]
            poem = last[q]
            top = mine[m - 1]
            threshold = thresholds[q]
            for j in range(BLOCK):
                reaching[j] = bits[j] >= threshold
            # Without branches: which chunks are hit cannot be foreseen.
            n_hits = 0
            for group in range(len(groups)):
                if groups[group]:
                    for j in range(8 * group, 8 * group + 8):
                        hits[n_hits] = j
                        n_hits += reaching[j]
            for hit in hits[:n_hits]:
                place = first + hit
                key = (np.int64(bits[hit]) << np.int64(32)) + (np.int64(_LOW) - np.int64(place))
                same = poem_of[place] == poem
                if m == len(mine) and not same:
                    # Poems to come stand further back: of those that tie with the last one kept, none gets in.
                    threshold = np.int32((_cut(m, depth, mine) >> np.int64(32)) + 1)
                    m = depth
                poem = poem_of[place]
                m += not same
                top = max(key, top if same else np.int64(-1))
                mine[m - 1] = top
            found[q] = m
            last[q] = poem
            thresholds[q] = threshold
    for q in range(len(keys)):
        if found[q] > depth:
            _cut(found[q], depth, keys[q])
        keys[q, min(found[q], depth) :] = -1


@njit(cache=True, nogil=True)
def sum_weights(data, indices, indptr, tokens, scores, sharing):
    """Score all chunks for one query, its tokens one after the other, a repeated one again.

    Args:
        data, indices, indptr: float64, int32, int64: the index by columns, see ``sparse_search``.
        tokens: int64, the tokens of the query in its own order.
        scores, sharing: float64 [n], bool [n]: the scores, and which chunks share a token.
    """
    scores[:] = 0.0
    sharing[:] = False
    for i in range(len(tokens)):
        for j in range(indptr[tokens[i]], indptr[tokens[i] + 1]):
            scores[indices[j]] += data[j]
            sharing[indices[j]] = True


@njit(cache=True, nogil=True)
def best_sharing(scores, sharing, starts, best, places):
    """Write the score and the place of the best sharing chunk of each poem; 0 and -1 where no chunk shares a token.

    Args:
        scores, sharing: float [n], bool [n], see ``sum_weights``.
        starts: int64 [p + 1], of ``ranking.ChunkOrder``.
        best, places: float [p], int64 [p].
    """
    for poem in range(len(best)):
        best[poem] = 0.0
        places[poem] = -1
        for place in range(starts[poem], starts[poem + 1]):
            if sharing[place] and (places[poem] < 0 or scores[place] > best[poem]):
                best[poem] = scores[place]
                places[poem] = place
