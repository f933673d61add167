"""The order of NumPy's portable sort: NumPy itself sorts the type longdouble with it on every processor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.systems import introsort as module
from verseir.systems.introsort import introsort


def portable(values):
    return np.argsort(values.astype(np.longdouble))


@given(st.lists(st.integers(-3, 3), max_size=80))
def test_equal_numbers_stand_as_numpy_leaves_them(values):
    values = np.array(values, dtype=np.float64)
    np.testing.assert_array_equal(introsort(values), portable(values))


@pytest.mark.parametrize("n", [0, 1, 2, 16, 17, 18, 100, 1000, 7500])
@pytest.mark.parametrize("distinct", [1, 2, 30, 10**9])
def test_arrays_of_every_length(n, distinct):
    values = np.random.default_rng(n).integers(0, distinct, n).astype(np.float64)
    np.testing.assert_array_equal(introsort(values), portable(values))
    np.testing.assert_array_equal(introsort(-np.sort(values)), portable(-np.sort(values)))


class Adversary:
    """Gives numbers to places as late as it can, so that each pivot turns out to be among the lowest.

    McIlroy 1999, A killer adversary for quicksort.
    """

    def __init__(self, n):
        self.values = [None] * n
        self.given = 0
        self.candidate = None

    def less(self, a, b):
        if self.values[a] is None and self.values[b] is None:
            self.values[a if a == self.candidate else b] = self.given
            self.given += 1
        if self.values[a] is None:
            self.candidate = a
        elif self.values[b] is None:
            self.candidate = b
        x, y = (len(self.values) if value is None else value for value in (self.values[a], self.values[b]))
        return x < y


class Place:
    def __init__(self, adversary, place):
        self.adversary, self.place = adversary, place

    def __lt__(self, other):
        return self.adversary.less(self.place, other.place)


@pytest.mark.parametrize("n", [50, 300, 2000])
def test_what_quicksort_splits_too_often_goes_by_heapsort(n, monkeypatch):
    adversary = Adversary(n)
    places = np.empty(n, dtype=object)
    places[:] = [Place(adversary, place) for place in range(n)]
    np.argsort(places)
    values = np.array([n if value is None else value for value in adversary.values], dtype=np.float64)
    for numbers in (values, np.floor(values / 3)):
        np.testing.assert_array_equal(introsort(numbers), portable(numbers))
    heaps = []
    monkeypatch.setattr(module, "_heapsort", lambda values, heap: heaps.append(len(heap)))
    introsort.py_func(values)
    assert len(heaps) == 1
