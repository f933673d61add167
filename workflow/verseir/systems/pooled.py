"""Numba kernels of max-pooled, exact top-k search over vectors.

They call none of another file: numba's on-disk cache watches the file of a kernel, not the files of what it calls. They
run without the GIL on a share of the queries each; a query is handled by one thread from start to end, so results
do not depend on the number of threads.

Chunks come in ranking order (see ``verseir.ranking``): poem indices never decrease along the chunks. Results leave as
keys, one int64 each, that put a higher score first, then a lower poem index.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Chunks looked at together: most segments hold no score above the threshold and are passed over as a whole.
SEGMENT = 64
#: Running sums of an inner product, enough for the widest vector units.
LANES = 32
#: Chunks whose exact scores are computed together: their vectors fit in the cache of a core.
TOGETHER = 64

#: A poem that may be among the first ``depth``: its index, the place of its best chunk so far, the approximate score of
#: that chunk, and that of the second best.
CANDIDATE = np.dtype([("poem", np.int32), ("place", np.int32), ("best", np.float32), ("second", np.float32)])

_LOW = 0xFFFFFFFF


@njit(cache=True)
def _key(score, poem):
    """The key of a finite float32 score and a poem index."""
    bits = np.int64(np.float32(score + np.float32(0.0)).view(np.int32))  # adding 0.0 makes -0.0 equal to 0.0
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)  # of negative floats the larger one has the smaller bit pattern
    return (bits << np.int64(32)) + (np.int64(_LOW) - np.int64(poem))


def read_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores (float32) and the poem indices (int64) of an array of keys."""
    bits = (keys >> 32).astype(np.int32)
    bits = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return bits.view(np.float32), _LOW - (keys & _LOW)


@njit(cache=True)
def _kth_largest(values, k):
    """The k-th largest of an array (Hoare 1961, FIND)."""
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
def _inner_product(a, b, sums):
    """Inner product of two float32 vectors, summed in float64 in a fixed order; ``sums`` is space for LANES numbers.

    A product of two float32 numbers is exact in float64, so fused multiply-add changes nothing: the same bits on every
    machine.
    """
    n = len(a)
    for lane in range(LANES):
        sums[lane] = 0.0
    # Four additions to a sum for each time that it is fetched and stored, which takes longer than they do.
    most = n - n % (4 * LANES)
    for i in range(0, most, 4 * LANES):
        x = a[i : i + 4 * LANES]
        y = b[i : i + 4 * LANES]
        for lane in range(LANES):
            total = sums[lane]
            total += np.float64(x[lane]) * np.float64(y[lane])
            total += np.float64(x[lane + LANES]) * np.float64(y[lane + LANES])
            total += np.float64(x[lane + 2 * LANES]) * np.float64(y[lane + 2 * LANES])
            total += np.float64(x[lane + 3 * LANES]) * np.float64(y[lane + 3 * LANES])
            sums[lane] = total
    whole = n - n % LANES
    for i in range(most, whole, LANES):
        x = a[i : i + LANES]
        y = b[i : i + LANES]
        for lane in range(LANES):
            sums[lane] += np.float64(x[lane]) * np.float64(y[lane])
    for i in range(whole, n):
        sums[i - whole] += np.float64(a[i]) * np.float64(b[i])
    width = LANES // 2
    while width > 0:
        for lane in range(width):
            sums[lane] += sums[lane + width]
        width //= 2
    return sums[0]


@njit(cache=True, nogil=True)
def squared_norms(vectors, out):
    """Write the squared length of each row of float32 [n, d] to float64 [n]; not finite where a component is not."""
    sums = np.empty(LANES, dtype=np.float64)
    for row in range(len(vectors)):
        out[row] = _inner_product(vectors[row], vectors[row], sums)


@njit(cache=True)
def _decided(candidate, margin):
    """Whether the best chunk of a poem by approximate score is the best one by exact score.

    It is when every other chunk lies further below than errors reach (``margin`` on each side). Chunks below the
    threshold were not looked at, but none of them is the best of a poem among the first ``depth``: the threshold is
    never above the exact score of the last of these less ``margin``.
    """
    return np.float64(candidate.second) < np.float64(candidate.best) - 2.0 * margin


@njit(cache=True)
def _best_chunk(poem, query, vectors, order, starts, sums):
    """The place and the exact score of the best chunk of a poem."""
    place = starts[poem]
    top = np.float32(_inner_product(query, vectors[order[place]], sums))
    for chunk in range(starts[poem] + 1, starts[poem + 1]):
        score = np.float32(_inner_product(query, vectors[order[chunk]], sums))
        if score > top:
            top = score
            place = chunk
    return place, top


@njit(cache=True)
def _prune(candidates, n, depth, threshold, margin):
    """Drop the candidates whose exact score cannot be among the ``depth`` highest. Returns the new n and threshold."""
    kth = np.float64(_kth_largest(candidates["best"][:n], depth))
    threshold = max(threshold, np.float32(kth - 2.0 * margin))
    kept = 0
    for i in range(n):
        candidates[kept] = candidates[i]
        kept += candidates[i].best >= threshold
    return kept, threshold


@njit(cache=True)
def _shrink(candidates, n, depth, threshold, margin, query, vectors, order, starts):
    """Make room in a full list of candidates. Returns the new n and threshold."""
    n, threshold = _prune(candidates, n, depth, threshold, margin)
    if n > (depth + len(candidates)) // 2:  # too many scores too close to tell apart: make them exact now
        sums = np.empty(LANES, dtype=np.float64)
        keys = np.empty(n, dtype=np.int64)
        for i in range(n):
            place = np.int64(candidates[i].place)
            if _decided(candidates[i], margin):
                top = np.float32(_inner_product(query, vectors[order[place]], sums))
            else:
                place, top = _best_chunk(candidates[i].poem, query, vectors, order, starts, sums)
            candidates[i].place = place
            candidates[i].best = top
            candidates[i].second = -np.inf
            keys[i] = _key(top, candidates[i].poem)
        lowest = _kth_largest(keys, depth)
        kept = 0
        for i in range(n):
            candidates[kept] = candidates[i]
            kept += keys[i] >= lowest
        n, threshold = _prune(candidates, kept, depth, threshold, margin)
    return n, threshold


@njit(cache=True, nogil=True)
def dense_scan(
    scores, first, depth, poem_of, starts, order, vectors, queries, margins, candidates, filled, thresholds
):  # fmt: skip
    """Add one block of approximate chunk scores to the candidates of each query.

    Args:
        scores: float32 [q, b], inner products of the queries with the chunks at places ``first`` .. ``first + b``.
        poem_of, starts, order: of ``ranking.ChunkOrder``.
        vectors, queries: float32 [n, d] in the order of the input, float32 [q, d].
        margins: float64 [q], how far an approximate score may lie from the exact one.
        candidates: CANDIDATE [q, capacity], in the order of poems.
        filled, thresholds: int64 [q], float32 [q], how many candidates there are; below which score a chunk is passed
            over.
    """
    nothing = np.float32(-np.inf)
    for q in range(len(scores)):
        row = scores[q]
        mine = candidates[q]
        n = filled[q]
        threshold = thresholds[q]
        # The last candidate is kept in local variables: chunks of its poem may still come.
        poem = np.int64(-1)
        place = np.int64(0)
        top = nothing
        second = nothing
        if n > 0:
            poem = np.int64(mine[n - 1].poem)
            place = np.int64(mine[n - 1].place)
            top = mine[n - 1].best
            second = mine[n - 1].second
        for low in range(0, len(row), SEGMENT):
            segment = row[low : low + SEGMENT]
            hit = np.uint8(0)
            for j in range(len(segment)):
                hit |= np.uint8(segment[j] >= threshold)
            if not hit:
                continue
            for j in range(len(segment)):
                score = segment[j]
                if score < threshold:
                    continue
                here = first + low + j
                if poem_of[here] == poem:  # without branches: which chunk is best cannot be foreseen
                    second = max(second, min(score, top))
                    place = here if score > top else place
                    top = max(top, score)
                    continue
                if n > 0:
                    mine[n - 1].place = place
                    mine[n - 1].best = top
                    mine[n - 1].second = second
                if n == len(mine):
                    n, threshold = _shrink(mine, n, depth, threshold, margins[q], queries[q], vectors, order, starts)
                    poem = np.int64(mine[n - 1].poem)
                    place = np.int64(mine[n - 1].place)
                    top = mine[n - 1].best
                    second = mine[n - 1].second
                    if score < threshold:
                        continue
                poem = np.int64(poem_of[here])
                place = here
                top = score
                second = nothing
                mine[n].poem = poem
                n += 1
        if n > 0:
            mine[n - 1].place = place
            mine[n - 1].best = top
            mine[n - 1].second = second
        filled[q] = n
        thresholds[q] = threshold


@njit(cache=True, nogil=True)
def dense_finish(depth, starts, order, vectors, queries, margins, candidates, filled, thresholds, keys):
    """Score the candidates of each query exactly and write their keys, int64 [q, capacity]; ``filled`` is how many."""
    capacity = candidates.shape[1]
    sums = np.empty(LANES, dtype=np.float64)
    # Candidates that one chunk decides are listed by groups of chunks, and by query there, so that vectors of chunks
    # and queries are used again while they are near.
    head = np.full(len(order) // TOGETHER + 1, -1, dtype=np.int64)
    after = np.empty(candidates.size, dtype=np.int64)
    for q in range(len(filled)):
        n, thresholds[q] = _prune(candidates[q], filled[q], depth, thresholds[q], margins[q])
        filled[q] = n
        for i in range(n):
            place = np.int64(candidates[q, i].place)
            if _decided(candidates[q, i], margins[q]):
                after[q * capacity + i] = head[place // TOGETHER]
                head[place // TOGETHER] = q * capacity + i
            else:
                poem = candidates[q, i].poem
                place, top = _best_chunk(poem, queries[q], vectors, order, starts, sums)
                candidates[q, i].place = place
                keys[q, i] = _key(top, poem)
    for group in range(len(head)):
        entry = head[group]
        while entry >= 0:
            q = entry // capacity
            i = entry - q * capacity
            chunk = order[candidates[q, i].place]
            score = np.float32(_inner_product(queries[q], vectors[chunk], sums))
            keys[q, i] = _key(score, candidates[q, i].poem)
            entry = after[entry]
