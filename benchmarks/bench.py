"""How fast this project works, as ratios against other programs that do the same on the same input in the same run.

    python benchmarks/bench.py                       all lines, all sizes: benchmarks/results.json and RESULTS.md
    python benchmarks/bench.py --quick               small sizes, under two minutes: build/bench; do all agree?
    python benchmarks/bench.py --only bm25-search    one line or several: build/bench
    python benchmarks/bench.py --only measures --again    the same in place of what benchmarks/results.json has of it
    python benchmarks/bench.py --page                the page anew, from the results as they are

Programs are timed in turns; a figure is the median of the pairs. Before that their results are compared: where they do
not agree the line fails. Ends with 1 where one failed; a floor that is missed is told, and is no failure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "workflow")]

from harness.case import Effort, Job, run_job  # noqa: E402  (found on the path above)
from harness.page import write_page  # noqa: E402
from harness.results import read_results, replaced, write_results  # noqa: E402
from harness.runner import Plan, run  # noqa: E402
from harness.timing import FEWEST, MOST  # noqa: E402
from lines import all_lines  # noqa: E402

from verseir.whole import at_least_one  # noqa: E402

#: The full run, and the trial.
FULL, QUICK = Effort(5.0, FEWEST, MOST), Effort(0.0, 1, 1)


def main() -> int:
    lines = all_lines()
    args = _arguments(lines)
    if args.job:
        job = json.loads(args.job)
        run_job(Job(job["cases"], job["threads"], job["first"], Effort(*job["effort"])), lines, Path(job["output"]))
        return 0
    if args.list:
        for line in lines.values():
            print(f"{line.name:18} {line.work} ({', '.join(peer.name for peer in line.peers)})")
        return 0
    partial = args.quick or args.only or args.sizes or args.threads != 2
    folder = args.output or (ROOT / "build" / "bench" if partial and not args.again else HERE)
    if args.page:
        write_page(folder, read_results(folder / "results.json"))
        return 0
    effort = QUICK if args.quick else FULL
    chosen = [lines[name] for name in args.only] if args.only else list(lines.values())
    unfinished = folder / "unfinished.json"  # what a run that is stopped leaves
    for results in run(
        Plan(
            chosen,
            lambda line: args.sizes or (line.quick if args.quick else line.sizes),
            args.threads,
            effort if args.pairs is None else Effort(effort.seconds, args.pairs, args.pairs),
            together=args.quick,
        ),
        Path(__file__),
        lambda text: print(text, flush=True),
    ):
        write_results(unfinished, results)
    unfinished.unlink()
    if args.again:
        results = replaced(read_results(folder / "results.json"), results)
    write_results(folder / "results.json", results)
    write_page(folder, results)
    failed = [row for row in results["rows"] if row.error]
    floors = [row for row in results["rows"] if row.met is not None]
    missed = [row for row in floors if not row.met]
    print(f"{len(results['rows'])} rows in {results['seconds']:.0f} s: {folder / 'RESULTS.md'}")
    print(f"{len(floors) - len(missed)} of {len(floors)} floors met, {len(failed)} rows failed")
    return 1 if failed else 0


def _arguments(lines: Collection[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, few pairs")
    parser.add_argument("--only", nargs="+", choices=sorted(lines), metavar="LINE", help="these lines (see --list)")
    parser.add_argument(
        "--again", action="store_true", help="put the lines in place of those in benchmarks/results.json"
    )
    parser.add_argument("--sizes", nargs="+", type=int, help="in place of the sizes of each line")
    parser.add_argument("--threads", type=at_least_one, default=2, help="the most threads (2)")
    parser.add_argument("--pairs", type=int, help=f"pairs of times, in place of {FEWEST} to {MOST}")
    parser.add_argument("--output", type=Path, help="folder of results.json, RESULTS.md and growth.svg")
    parser.add_argument("--list", action="store_true", help="list the lines and their peers")
    parser.add_argument("--page", action="store_true", help="write the page of results that are there")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
