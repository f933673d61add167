"""Work in several threads: in order, not too far ahead, and nothing left behind."""

from __future__ import annotations

import threading
import time
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.systems.side_by_side import in_order


@settings(max_examples=40, deadline=None)
@given(waits=st.lists(st.integers(0, 3), max_size=30), workers=st.integers(1, 5))
def test_results_come_in_the_order_of_the_items(waits, workers):
    def work(item):
        time.sleep(waits[item] / 1000)
        return item * item

    assert list(in_order(work, iter(range(len(waits))), workers)) == [(i, i * i) for i in range(len(waits))]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_no_more_is_begun_than_one_more_than_workers(workers):
    begun = []
    for taken, (item, _) in enumerate(in_order(lambda item: None, (begun.append(i) or i for i in range(30)), workers)):
        assert item == taken
        assert len(begun) <= min(30, taken + workers + 1)
    assert len(begun) == 30


def test_the_workers_work_at_the_same_time():
    together = threading.Barrier(3, timeout=20)  # broken, and an error, unless three meet
    assert len(list(in_order(lambda _: together.wait(), range(9), 3))) == 9


def test_an_error_is_raised_where_its_item_stands_and_stops_the_rest():
    done = []

    def work(item):
        done.append(item)
        if item == 3:
            raise ValueError("three")
        return item

    results = in_order(work, count(), 2)
    assert [next(results) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(ValueError, match="three"):
        next(results)
    assert max(done) <= 3 + 2 + 1


def test_whoever_has_had_enough_leaves_no_thread_behind():
    before = threading.active_count()
    names = []
    results = in_order(lambda item: item, count(), 3, lambda: names.append(threading.current_thread().name))
    assert next(results) == (0, 0)
    results.close()
    assert threading.active_count() == before
    assert 1 <= len(set(names)) == len(names) <= 3
