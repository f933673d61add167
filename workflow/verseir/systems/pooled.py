"""Numba kernels of max-pooled, exact top-k search.

All kernels live in this one file: numba's on-disk cache watches the file of a kernel, not the files of what it calls.
Each query is handled by one thread from start to end, so results do not depend on the number of threads.

Chunks come in ranking order (see ``verseir.ranking``): poem indices never decrease along the chunks.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

#: Chunks looked at together: most of them hold no score above the threshold and are passed over as a whole.
SEGMENT = 64


@njit(cache=True)
def rank_key(score: np.float32, poem: int) -> int:
    """One int64 that orders results: a higher score first, then a lower poem index. Finite scores only."""
    bits = np.int64(np.float32(score + np.float32(0.0)).view(np.int32))  # adding 0.0 makes -0.0 equal to 0.0
    if bits < 0:
        bits ^= np.int64(0x7FFFFFFF)  # of negative floats the larger has the smaller bit pattern
    return bits * np.int64(1 << 32) + (np.int64(0xFFFFFFFF) - np.int64(poem))


@njit(cache=True)
def _product(a: np.ndarray, b: np.ndarray) -> float:
    """Inner product of two float32 vectors, summed in float64 in a fixed order.

    A product of two float32 numbers is exact in float64, so fused multiply-add changes nothing: the same bits on every
    machine. Eight running sums let the processor work ahead.
    """
    n = len(a)
    whole = n - n % 8
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for i in range(0, whole, 8):
        s0 += np.float64(a[i]) * np.float64(b[i])
        s1 += np.float64(a[i + 1]) * np.float64(b[i + 1])
        s2 += np.float64(a[i + 2]) * np.float64(b[i + 2])
        s3 += np.float64(a[i + 3]) * np.float64(b[i + 3])
        s4 += np.float64(a[i + 4]) * np.float64(b[i + 4])
        s5 += np.float64(a[i + 5]) * np.float64(b[i + 5])
        s6 += np.float64(a[i + 6]) * np.float64(b[i + 6])
        s7 += np.float64(a[i + 7]) * np.float64(b[i + 7])
    for i in range(whole, n):
        s0 += np.float64(a[i]) * np.float64(b[i])
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(cache=True, nogil=True)
def squared_norms(vectors: np.ndarray) -> np.ndarray:
    """float64 [n]: the squared length of each row of float32 [n, d]; not finite where a component is not."""
    out = np.empty(len(vectors), dtype=np.float64)
    for row in range(len(vectors)):
        out[row] = _product(vectors[row], vectors[row])
    return out


@njit(cache=True)
def _decided(best, second, threshold, margin):
    """Whether the best chunk by approximate score is the best one by exact score.

    It is when each other chunk of the poem was seen, and lies further below than errors reach (``margin`` on each side):
    whatever lies within reach is above the threshold, so it was seen, and the best of it is ``second``.
    """
    reach = np.float64(best) - 2.0 * margin
    return np.float64(second) < reach and reach >= np.float64(threshold)


@njit(cache=True)
def _best_chunk(poem, query, vectors, order, starts):
    """The place and the exact score of the best chunk of a poem."""
    place = starts[poem]
    top = np.float32(_product(query, vectors[order[place]]))
    for chunk in range(starts[poem] + 1, starts[poem + 1]):
        score = np.float32(_product(query, vectors[order[chunk]]))
        if score > top:
            top = score
            place = chunk
    return place, top


@njit(cache=True)
def _prune(n, depth, poems, places, best, second, threshold, margin):
    """Drop the candidates whose exact score cannot be among the ``depth`` highest. Returns the new n and threshold."""
    kth = np.float64(np.partition(best[:n], n - depth)[n - depth])
    threshold = max(threshold, np.float32(kth - 2.0 * margin))
    kept = 0
    for i in range(n):
        if best[i] >= threshold:
            poems[kept] = poems[i]
            places[kept] = places[i]
            best[kept] = best[i]
            second[kept] = second[i]
            kept += 1
    return kept, threshold


@njit(cache=True)
def _shrink(n, depth, poems, places, best, second, threshold, margin, query, vectors, order, starts):
    """Make room in a full list of candidates. Returns the new n and threshold."""
    n, threshold = _prune(n, depth, poems, places, best, second, threshold, margin)
    if n > (depth + len(best)) // 2:  # too many scores too close to tell apart: make them exact now
        keys = np.empty(n, dtype=np.int64)
        for i in range(n):
            if _decided(best[i], second[i], threshold, margin):
                best[i] = np.float32(_product(query, vectors[order[places[i]]]))
            else:
                places[i], best[i] = _best_chunk(poems[i], query, vectors, order, starts)
            second[i] = -np.inf
            keys[i] = rank_key(best[i], poems[i])
        lowest = np.partition(keys, n - depth)[n - depth]
        kept = 0
        for i in range(n):
            if keys[i] >= lowest:
                poems[kept] = poems[i]
                places[kept] = places[i]
                best[kept] = best[i]
                second[kept] = second[i]
                kept += 1
        n, threshold = _prune(kept, depth, poems, places, best, second, threshold, margin)
    return n, threshold


@njit(cache=True, nogil=True)
def dense_scan(
    scores, first, depth, poem_of, starts, order, queries, vectors, margins, poems, places, best, second, filled, thresholds
):
    """Add one block of approximate chunk scores to the candidates of each query.

    Args:
        scores: float32 [q, b], inner products of the queries with the chunks at places ``first`` .. ``first + b``.
        margins: float64 [q], how far an approximate score may lie from the exact one.
        poems, places, best, second: [q, capacity], the candidates: poem index, place of the best chunk so far, its
            approximate score, and that of the second best.
        filled, thresholds: [q], how many candidates there are; below which score a chunk is passed over.
    """
    for q in range(len(scores)):
        n = filled[q]
        threshold = thresholds[q]
        for low in range(0, scores.shape[1], SEGMENT):
            segment = scores[q, low : low + SEGMENT]
            hit = np.uint8(0)
            for j in range(len(segment)):
                hit |= np.uint8(segment[j] >= threshold)
            if not hit:
                continue
            for j in range(len(segment)):
                score = segment[j]
                if score < threshold:
                    continue
                place = first + low + j
                poem = poem_of[place]
                if n > 0 and poems[q, n - 1] == poem:
                    if score > best[q, n - 1]:
                        second[q, n - 1] = best[q, n - 1]
                        best[q, n - 1] = score
                        places[q, n - 1] = place
                    elif score > second[q, n - 1]:
                        second[q, n - 1] = score
                    continue
                if n == best.shape[1]:
                    n, threshold = _shrink(
                        n, depth, poems[q], places[q], best[q], second[q], threshold, margins[q], queries[q], vectors,
                        order, starts,
                    )  # fmt: skip
                    if score < threshold:
                        continue
                poems[q, n] = poem
                places[q, n] = place
                best[q, n] = score
                second[q, n] = -np.inf
                n += 1
        filled[q] = n
        thresholds[q] = threshold


@njit(cache=True, nogil=True)
def dense_finish(depth, starts, order, queries, vectors, margins, poems, places, best, second, filled, thresholds):
    """Score the candidates of each query exactly and bring the first ``depth``, in ranking order, to the front."""
    capacity = best.shape[1]
    # Candidates that one chunk decides are listed by chunk, so that each vector is fetched from memory once.
    head = np.full(len(order), -1, dtype=np.int64)
    after = np.empty(best.size, dtype=np.int64)
    for q in range(len(filled)):
        n, threshold = _prune(filled[q], depth, poems[q], places[q], best[q], second[q], thresholds[q], margins[q])
        filled[q] = n
        for i in range(n):
            if _decided(best[q, i], second[q, i], threshold, margins[q]):
                after[q * capacity + i] = head[places[q, i]]
                head[places[q, i]] = q * capacity + i
            else:
                places[q, i], best[q, i] = _best_chunk(poems[q, i], queries[q], vectors, order, starts)
    for place in range(len(head)):
        entry = head[place]
        while entry >= 0:
            q = entry // capacity
            best[q, entry - q * capacity] = np.float32(_product(queries[q], vectors[order[place]]))
            entry = after[entry]
    for q in range(len(filled)):
        n = filled[q]
        keys = np.empty(n, dtype=np.int64)
        for i in range(n):
            keys[i] = rank_key(best[q, i], poems[q, i])
        ranking = np.argsort(keys)[::-1][:depth]
        poems[q, :depth] = poems[q, :n][ranking]
        places[q, :depth] = places[q, :n][ranking]
        best[q, :depth] = best[q, :n][ranking]


@njit(cache=True)
def _cut(n, depth, keys, places):
    """Keep the ``depth`` highest of n keys, in their order. Returns the lowest key kept."""
    lowest = np.partition(keys[:n], n - depth)[n - depth]
    kept = 0
    for i in range(n):
        if keys[i] >= lowest:
            keys[kept] = keys[i]
            places[kept] = places[i]
            kept += 1
    return lowest


@njit(cache=True, parallel=True)
def sparse_search(
    data, indices, indptr, poem_of, tokens, weights, starts, depth, lanes, out_keys, out_places, out_counts
):
    """Sum the postings of each query's tokens, pool by poem and keep the first ``depth`` poems.

    Args:
        data, indices, indptr: float32, int32, int64: the index by columns; postings of token t are
            ``indptr[t]:indptr[t + 1]``, their chunks in ``indices``, their non-negative scores in ``data``.
        poem_of: int32 [n], the poem of each chunk.
        tokens, weights, starts: int64, float32, int64 [q + 1]: the tokens of query i, and how often each occurs in it, are
            at ``starts[i]:starts[i + 1]``.
        lanes: how many queries are worked on side by side.
        out_keys, out_places, out_counts: int64 [q, depth], int32 [q, depth], int64 [q]: the results in ranking order.
    """
    n_queries = len(starts) - 1
    capacity = 2 * depth + 1024
    for lane in prange(lanes):
        scores = np.empty(len(poem_of), dtype=np.float32)
        # A sum that starts at -0.0 keeps its sign bit only if nothing was added, not even 0.0: as int32 a chunk that
        # shares no term is negative, and the others are ordered as their scores are.
        bits = scores.view(np.int32)
        keys = np.empty(capacity, dtype=np.int64)
        places = np.empty(capacity, dtype=np.int32)
        for q in range(lane, n_queries, lanes):
            scores[:] = np.float32(-0.0)
            for i in range(starts[q], starts[q + 1]):
                weight = weights[i]
                for j in range(indptr[tokens[i]], indptr[tokens[i] + 1]):
                    scores[indices[j]] += weight * data[j]
            n = 0
            last = -1
            threshold = np.int32(0)
            for low in range(0, len(bits), SEGMENT):
                high = min(low + SEGMENT, len(bits))
                hits = 0
                for j in range(low, high):
                    hits += bits[j] >= threshold
                if hits == 0:
                    continue
                for j in range(low, high):
                    if bits[j] < threshold:
                        continue
                    poem = poem_of[j]
                    key = rank_key(scores[j], poem)
                    if poem == last:
                        if key > keys[n - 1]:
                            keys[n - 1] = key
                            places[n - 1] = j
                        continue
                    if n == capacity:
                        lowest = _cut(n, depth, keys, places)
                        n = depth
                        # Poems to come have higher indices: of those that tie with the last one kept none gets in.
                        threshold = np.int32((lowest >> 32) + 1)
                        last = -1
                        if bits[j] < threshold:
                            continue
                    keys[n] = key
                    places[n] = j
                    n += 1
                    last = poem
            if n > depth:
                _cut(n, depth, keys, places)
                n = depth
            ranking = np.argsort(keys[:n])[::-1]
            out_counts[q] = n
            out_keys[q, :n] = keys[:n][ranking]
            out_places[q, :n] = places[:n][ranking]
