"""``python -m benchmarks``: everything side by side, as tables, as JSON and as a page of the docs."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import capture_groups, codec_groups, command_groups, rpc_groups, scaling, spark_groups
from benchmarks.captures import CAPTURES
from benchmarks.codec_groups import Sizes
from benchmarks.measure import BUSY, Neighbours, Result, pin
from benchmarks.report import document, page_with, summary, table_text
from benchmarks.workload import MIX_CYCLE, messages, mixed

_DOCS = Path(__file__).resolve().parent.parent / "docs"

_PAGES = {"commands": "command-performance.md", "spark": "spark-performance.md"}
"""Where the figures of a run of its own stand."""


class _Plan(msgspec.Struct, frozen=True):
    """How much a run does: packets and rounds of the codec groups, frames and rounds of the captures."""

    codec: Sizes
    frames: int
    rounds: int
    stubs: int


_FULL = _Plan(
    Sizes(slow=5 * MIX_CYCLE, rows=10_000, columns=10_000, rounds=11), frames=100_000, rounds=5, stubs=20_000
)
_QUICK = _Plan(
    Sizes(slow=MIX_CYCLE, rows=2_000, columns=10_000, rounds=3), frames=6_000, rounds=3, stubs=5_000
)


def _packets(group: str, count: int) -> list[bytes]:
    if group == "mixed":
        return mixed(count)
    return list(messages(count, 600 if group == "600" else 4096))


def _agree(lines: list[str], what: str) -> bool:
    for line in lines:
        print(f"{what}: {line}", file=sys.stderr)
    return not lines


def _check(folder: Path) -> bool:
    """Whether all contestants read and write the same; every difference is a line on standard error."""
    agreed = True
    for group in ("600", "4k", "mixed"):
        agreed &= _agree(codec_groups.check(_packets(group, 2 * MIX_CYCLE)), group)
    for name in CAPTURES:
        agreed &= _agree(capture_groups.check(folder, name), f"capture {name}")
    agreed &= _agree(rpc_groups.check(folder), "calls")
    agreed &= _agree(command_groups.check(folder), "commands")
    return agreed


def _codec(plan: _Plan) -> Iterator[list[Result]]:
    for group in ("600", "4k", "mixed"):
        sizes = plan.codec
        if group == "mixed":
            # A mix takes longer to build, and repeats itself after some cycles all the same.
            cycles = mixed(10 * MIX_CYCLE)
            packets = cycles * (max(sizes.rows, sizes.columns) // len(cycles))
        else:
            packets = _packets(group, max(sizes.rows, sizes.columns))
        yield codec_groups.run(group, packets, sizes)


def _captures(plan: _Plan, folder: Path) -> Iterator[list[Result]]:
    for name in CAPTURES:
        yield capture_groups.run(folder, name, plan.frames, plan.rounds)


def _calls(plan: _Plan, folder: Path) -> Iterator[list[Result]]:
    yield rpc_groups.run(folder, stubs=plan.stubs, calls=plan.stubs // 5, rounds=plan.rounds)


def _measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    plan = _QUICK if options.quick else _FULL
    pinned = pin() is not None
    neighbours = Neighbours()
    results: list[Result] = []
    if options.spark:
        groups = spark_groups.run(folder, plan.frames * 2, plan.rounds)
    elif options.commands:
        groups = command_groups.run(folder, plan.frames * 3 // 2, 3)
    else:
        groups = itertools.chain(_codec(plan), _captures(plan, folder), _calls(plan, folder))
    for found in groups:
        results += found
        for group in dict.fromkeys(result.group for result in found):
            print(table_text(found, group), flush=True)
    # The Java process counts as somebody else until it ends.
    busy = None if options.spark else neighbours.share()
    if busy is not None and busy > BUSY:
        print(
            f"\nwarning: others kept {busy:.2f} cores busy: take ratios with care and rates not at all",
            file=sys.stderr,
        )
    rest = not options.spark and not options.commands
    grown = scaling.run(folder) if options.scale and rest else []
    jobs = list(spark_groups.grow(folder)) if options.scale and options.spark else []
    return document(results, grown, jobs, pinned=pinned, busy=busy, quick=options.quick)


def _arguments() -> argparse.Namespace:
    description = (__doc__ or "").partition(": ")[2]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=description)
    parser.add_argument("--quick", action="store_true", help="fewer messages and rounds: a few minutes")
    parser.add_argument("--check", action="store_true", help="see that all agree, measure nothing")
    parser.add_argument("--scale", action="store_true", help="captures of 1 and 5 million frames, too: 3 GB")
    parser.add_argument(
        "--spark", action="store_true", help="the Spark job instead of the rest; needs Java 17"
    )
    parser.add_argument(
        "--commands", action="store_true", help="the commands beside tshark instead of the rest"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to FILE")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/")
    parser.add_argument(
        "--from", dest="given", type=Path, metavar="FILE", help="for --docs: a run written before"
    )
    options = parser.parse_args()
    if options.spark and (options.check or options.commands):
        parser.error("--spark is a run of its own: leave --check and --commands out")
    if options.given is not None and not options.docs:
        parser.error("--from needs --docs")
    return options


def main() -> int:
    options = _arguments()
    if options.given is not None:
        found = json.loads(options.given.read_text(encoding="utf-8"))
    else:
        with tempfile.TemporaryDirectory(prefix="msmq-wire-") as name:
            folder = Path(name)
            if not options.spark:
                if not _check(folder):
                    return 1
                print("all contestants agree", flush=True)
            if options.check:
                return 0
            found = _measured(options, folder)
        print("\nRatios of the rounds, by the clock and by CPU time")
        print(*summary(found), sep="\n")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.docs:
        kinds = {result["group"].partition("_")[0] for result in found["results"]}
        page = _DOCS / _PAGES.get(min(kinds), "performance.md")
        page.write_text(page_with(page.read_text(encoding="utf-8"), found), encoding="utf-8")
        print(f"figures written into {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
