"""The order in which NumPy's portable ``argsort`` leaves equal numbers, whatever NumPy and processor are in use.

``numpy.argsort`` is not stable by default, and where a processor has wide vectors NumPy now sorts with other code, that
leaves equal numbers in another order. A result that was published from ``argsort(scores)[::-1]`` comes out again only
in the order of the sort it was made with: here, introsort (Musser 1997) as NumPy's own loop has it. That is quicksort
with the median of three as pivot, insertion sort of parts of at most 16, and heapsort of a part that quicksort has
split too often, more than 2 floor(log2 n) times.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Parts up to this length are sorted by insertion.
SHORT = 16


@njit(cache=True)
def _swap(order, i, j):
    order[i], order[j] = order[j], order[i]


@njit(cache=True)
def _split(values, order, low, high):
    """Part ``order[low:high + 1]`` around its pivot. Returns the pivot's place."""
    middle = low + ((high - low) >> 1)
    if values[order[middle]] < values[order[low]]:
        _swap(order, middle, low)
    if values[order[high]] < values[order[middle]]:
        _swap(order, high, middle)
    if values[order[middle]] < values[order[low]]:
        _swap(order, middle, low)
    pivot = values[order[middle]]
    i = low
    j = high - 1
    _swap(order, middle, j)
    while True:  # the ends stop both scans: what is first is not above the pivot, what is last not below
        i += 1
        while values[order[i]] < pivot:
            i += 1
        j -= 1
        while pivot < values[order[j]]:
            j -= 1
        if i >= j:
            break
        _swap(order, i, j)
    _swap(order, i, high - 1)
    return i


@njit(cache=True)
def _insert(values, order, low, high):
    """Sort ``order[low:high + 1]`` by insertion; equal values stay as they are."""
    for place in range(low + 1, high + 1):
        moved = order[place]
        free = place
        while free > low and values[moved] < values[order[free - 1]]:
            order[free] = order[free - 1]
            free -= 1
        order[free] = moved


@njit(cache=True)
def _sift(values, heap, moved, i, n):
    """Let ``moved`` sink from place ``i`` of a heap that counts from 1 and holds n."""
    j = 2 * i
    while j <= n:
        if j < n and values[heap[j - 1]] < values[heap[j]]:
            j += 1
        if not values[moved] < values[heap[j - 1]]:
            break
        heap[i - 1] = heap[j - 1]
        i = j
        j = 2 * i
    heap[i - 1] = moved


@njit(cache=True)
def _heapsort(values, heap):
    n = len(heap)
    for i in range(n >> 1, 0, -1):
        _sift(values, heap, heap[i - 1], i, n)
    for last in range(n - 1, 0, -1):
        moved = heap[last]
        heap[last] = heap[0]
        _sift(values, heap, moved, 1, last)


@njit(cache=True, nogil=True)
def introsort(values):
    """int64 [n]: the places of float [n], all finite, lowest value first, equal values as the sort leaves them."""
    n = len(values)
    order = np.arange(n)
    budget = 0
    while n >> (budget // 2 + 1):
        budget += 2
    # The longer part waits, so no more than log2(n) parts ever do.
    waiting = np.empty((64, 3), dtype=np.int64)
    n_waiting = 0
    low = 0
    high = n - 1
    while True:
        if budget < 0:
            _heapsort(values, order[low : high + 1])
        else:
            while high - low >= SHORT:
                pivot = _split(values, order, low, high)
                budget -= 1
                if pivot - low < high - pivot:
                    waiting[n_waiting] = pivot + 1, high, budget
                    high = pivot - 1
                else:
                    waiting[n_waiting] = low, pivot - 1, budget
                    low = pivot + 1
                n_waiting += 1
            _insert(values, order, low, high)
        if n_waiting == 0:
            return order
        n_waiting -= 1
        low, high, budget = waiting[n_waiting]
