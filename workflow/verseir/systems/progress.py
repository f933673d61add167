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
    """Counts texts, and tells how many are done, how many per second, and the time left."""

    def __init__(self, total: int, name: str):
        self.total, self.name, self.done = total, name, 0
        self._bar = None
        self._started = self._told = time.monotonic()

    def __enter__(self) -> Progress:
        if self.total and sys.stderr.isatty():
            from tqdm import tqdm

            # tqdm shows nothing on a terminal that does not tell its size (a container's, say): this has a default.
            width, height = shutil.get_terminal_size()
            self._bar = tqdm(
                total=self.total, desc=self.name, unit=" texts", file=sys.stderr, ncols=width, nrows=height
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self.done:
            self._tell()

    def add(self, n_texts: int) -> None:
        """``n_texts`` more are done."""
        self.done += n_texts
        if self._bar is not None:
            self._bar.update(n_texts)
        elif time.monotonic() - self._told >= SPARSE and self.done < self.total:
            self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        rate = self.done / max(1e-9, self._told - self._started)
        left = (self.total - self.done) / rate
        log.info("%s: %d of %d texts, %.0f texts/s, %.0f s left", self.name, self.done, self.total, rate, left)
