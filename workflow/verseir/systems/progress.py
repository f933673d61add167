"""Progress of a long step: a bar on a terminal, else a line in the log now and then."""

from __future__ import annotations

import logging
import shutil
import sys
import time

log = logging.getLogger(__name__)

#: Seconds between two lines in a log.
SPARSE = 30.0


class Progress:
    """Counts texts, and tells how many are done, how many per second, and the time left.

    Args:
        total: how many there are.
        name: what is done, or by what.
        unit: what is counted.
        brief: say nothing of what is done before the first line in a log is due.
    """

    def __init__(self, total: int, name: str, unit: str = "texts", brief: bool = False):
        self.total, self.name, self.unit, self.done = total, name, unit, 0
        self._silent = brief
        self._bar = None
        self._started = self._told = time.monotonic()

    def __enter__(self) -> Progress:
        if self.total and sys.stderr.isatty():
            from tqdm import tqdm

            # tqdm shows nothing on a terminal that does not tell its size (a container's, say): this has a default.
            width, height = shutil.get_terminal_size()
            self._bar = tqdm(
                total=self.total,
                desc=self.name,
                unit=f" {self.unit}",
                file=sys.stderr,
                ncols=width,
                nrows=height,
                leave=not self._silent,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self.done and not self._silent:
            self._tell()

    def add(self, n_texts: int) -> None:
        """``n_texts`` more are done."""
        self.done += n_texts
        if self._bar is not None:
            self._bar.update(n_texts)
        elif time.monotonic() - self._told >= SPARSE and self.done < self.total:
            self._tell()

    def _tell(self) -> None:
        self._told, self._silent = time.monotonic(), False
        rate = self.done / max(1e-9, self._told - self._started)
        left = (self.total - self.done) / rate
        speed = f"{rate:.0f}" if rate >= 1 else f"{rate:.2g}"
        log.info(
            "%s: %d of %d %s, %s %s/s, %.0f s left",
            *(self.name, self.done, self.total, self.unit, speed, self.unit, left),
        )
