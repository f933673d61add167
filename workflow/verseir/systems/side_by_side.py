"""Several batches at a time, a thread each, and their results in order.

PyTorch and NumPy let other threads run while they compute. One batch a thread beats all threads on one batch: small
matrices are not cut up, nobody waits for the slowest at each step, and what is computed does not depend on how many
threads there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    begin: Callable[[], None] | None = None,
) -> Iterator[tuple[Item, Result]]:
    """Each item and what ``work`` makes of it, in the order of ``items``, which are read as they are needed.

    Args:
        work: called in ``workers`` threads; what it raises is raised here.
        workers: threads. At most ``workers`` + 1 items are begun and not given out yet.
        begin: called once in each thread before its first item.
    """
    begun: deque[tuple[Item, Future[Result]]] = deque()
    with ThreadPoolExecutor(workers, initializer=begin) as pool:
        try:
            for item in items:
                begun.append((item, pool.submit(work, item)))
                if len(begun) > workers:
                    yield _first(begun)
            while begun:
                yield _first(begun)
        finally:  # an error, or whoever asked has had enough
            for _, future in begun:
                future.cancel()


def _first(begun: deque[tuple[Item, Future[Result]]]) -> tuple[Item, Result]:
    item, future = begun.popleft()
    return item, future.result()
