"""What a run found, as a JSON document, as text for a terminal and as the tables of the documentation."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import capture_groups as capture
from benchmarks import codec_groups as codec
from benchmarks import command_groups as commands
from benchmarks import rpc_groups as rpc
from benchmarks import spark_groups as spark
from benchmarks.captures import CAPTURES
from benchmarks.measure import Result, ratio_of
from benchmarks.scaling import Scaling
from benchmarks.spark_groups import Growth
from docs.generators.markers import code, filled, table

__all__ = ["GROUPS", "document", "page_with", "ratios", "summary", "table_text"]

GROUPS: dict[str, tuple[str, str]] = {
    "decode_600": ("Decode, messages of 600 bytes", codec.LEAN),
    "decode_4k": ("Decode, messages of 4,096 bytes", codec.LEAN),
    "decode_mixed": ("Decode, every kind of packet", codec.LEAN),
    "encode_600": ("Encode, messages of 600 bytes", codec.LEAN),
    "encode_4k": ("Encode, messages of 4,096 bytes", codec.LEAN),
    "encode_mixed": ("Encode, every kind of packet", codec.LEAN),
    **{f"capture_{name}": (f"Capture, {one.title}", capture.TSHARK_FIELDS) for name, one in CAPTURES.items()},
    "ndr_ndr": ("R_StartReceive reply with 4,096 bytes of body, NDR", rpc.SCAPY_RPC),
    "ndr_ndr64": ("R_StartReceive reply with 4,096 bytes of body, NDR64", rpc.SCAPY_RPC),
    "pdu_small": ("Small remote read calls of a capture", rpc.SCAPY_SESSION),
    **{
        f"commands_{key}_{name}": (f"{commands.SUITES[key].title}, {one.title}", commands.SUITES[key].peer)
        for name, one in CAPTURES.items()
        for key in one.suites
    },
    "commands_start": (commands.START.title, commands.START.peer),
    "spark": ("Messages of 4,096 bytes to tables, Spark with two cores", spark.TSHARK_SPARK),
    "spark_session": ("A two-way session to tables, Spark with two cores", spark.TSHARK_SPARK),
    "spark_mixed": (
        "Messages of all sizes, 24 connections, to tables, Spark with two cores",
        spark.TSHARK_SPARK,
    ),
}
"""Title and baseline of every group."""

_CODEC_SUFFIXES = {"600": "", "4k": "_4k", "mixed": "_mixed"}
_CAPTURE_SUFFIXES = {name: "" if name == "4k" else f"_{name}" for name in CAPTURES}
_FLOOR = "vs_memory_floor"
"""Ends the names of ratios that are shown in percent."""
_DECODE_RATIOS = {
    "rows_decode_vs_construct_lean": (codec.ROWS, codec.LEAN),
    "rows_decode_vs_construct_idiomatic": (codec.ROWS, codec.IDIOMATIC),
    "rows_decode_vs_reference": (codec.ROWS, codec.REFERENCE),
    "rows_inspect_vs_rows_decode": (codec.INSPECT, codec.ROWS),
    "columns_decode_vs_construct_lean": (codec.COLUMNS, codec.LEAN),
    "columns_judged_vs_construct_lean": (codec.COLUMNS_JUDGED, codec.LEAN),
    "columns_arrow_vs_construct_lean": (codec.ARROW, codec.LEAN),
    "columns_arrow_judged_vs_construct_lean": (codec.ARROW_JUDGED, codec.LEAN),
}
_ENCODE_RATIOS = {
    "encode_vs_construct_lean": (codec.ROWS, codec.LEAN),
    "encode_vs_construct_idiomatic": (codec.ROWS, codec.IDIOMATIC),
}
_CAPTURE_RATIOS = {
    "capture_rows_vs_tshark_fields": (capture.ROWS, capture.TSHARK_FIELDS),
    "capture_rows_vs_tshark_ek": (capture.ROWS, capture.TSHARK_EK),
    "capture_rows_vs_dpkt": (capture.ROWS, capture.DPKT),
    "capture_arrow_vs_tshark_fields": (capture.ARROW, capture.TSHARK_FIELDS),
    "capture_arrow_vs_tshark_ek": (capture.ARROW, capture.TSHARK_EK),
    f"capture_judged_{_FLOOR}": (capture.JUDGED, capture.FLOOR),
    f"capture_arrow_{_FLOOR}": (capture.ARROW, capture.FLOOR),
}
_NDR_SUFFIXES = {"ndr": "", "ndr64": "_ndr64"}
_NDR_RATIOS = {
    "ndr_vs_scapy_rpc": (rpc.DECODE, rpc.SCAPY_RPC),
    "ndr_vs_impacket": (rpc.DECODE, rpc.IMPACKET),
    "ndr_inspect_vs_scapy_rpc": (rpc.INSPECT, rpc.SCAPY_RPC),
}
_PDU_RATIOS = {
    "pdu_vs_scapy": (rpc.READ_CAPTURE, rpc.SCAPY_SESSION),
    "pdu_association_vs_scapy": (rpc.ASSOCIATION, rpc.SCAPY_SESSION),
}
_COMMAND_SUFFIXES = {name: "" if name == "600" else f"_{name}" for name in CAPTURES}


def _command_ratios(suite: commands.Suite) -> dict[str, tuple[str, str]]:
    return {f"commands_{name}": (contestant, suite.peer) for name, contestant in suite.ours.items()}


_SPARK_RATIOS = {
    "spark_parquet_vs_tshark_ek_spark": (spark.JOB, spark.TSHARK_SPARK),
    "spark_source_vs_tshark_ek_spark": (spark.SOURCE, spark.TSHARK_SPARK),
    "spark_parquet_vs_cli": (spark.JOB, spark.CLI),
    "spark_parquet_vs_scapy": (spark.JOB, spark.SCAPY),
    "spark_everything_vs_tshark_ek_spark": (spark.EVERYTHING, spark.TSHARK_SPARK),
}
_DISTRIBUTIONS = (
    "msmq-wire",
    "construct",
    "dissect.cstruct",
    "dpkt",
    "impacket",
    "msgspec",
    "numpy",
    "pyarrow",
    "pyshark",
    "pyspark",
    "scapy",
    "scapy-rpc",
)


def ratios(
    results: Sequence[Result],
    scaling: Sequence[Scaling] = (),
    jobs: Sequence[Growth] = (),
    *,
    cpu: bool = False,
    pick: Callable[[Sequence[float]], float] = statistics.median,
) -> dict[str, float]:
    """Medians of the ratios of the rounds: how many times as fast the first of a name is as the second.

    ``cpu`` takes user and system time and not the clock, ``pick`` another one than the median.
    ``scaling_<work>_5m_vs_1m`` is the cost of a frame in the largest capture over that in the smallest,
    ``spark_growth_<files>_vs_1`` the cost of a byte of so many files over that of one.
    """
    found: dict[str, float] = {}
    for prefix, suffixes, pairs in (
        ("decode", _CODEC_SUFFIXES, _DECODE_RATIOS),
        ("encode", _CODEC_SUFFIXES, _ENCODE_RATIOS),
        ("capture", _CAPTURE_SUFFIXES, _CAPTURE_RATIOS),
        ("ndr", _NDR_SUFFIXES, _NDR_RATIOS),
        ("pdu", {"small": ""}, _PDU_RATIOS),
        *(
            (f"commands_{key}", _COMMAND_SUFFIXES, _command_ratios(suite))
            for key, suite in commands.SUITES.items()
        ),
        ("commands_start", {"": ""}, _command_ratios(commands.START)),
        ("spark", {"": "", "session": "_session", "mixed": "_mixed"}, _SPARK_RATIOS),
    ):
        for group, suffix in suffixes.items():
            for name, (contestant, baseline) in pairs.items():
                each = ratio_of(results, f"{prefix}_{group}".rstrip("_"), contestant, baseline, cpu=cpu)
                if each:
                    found[name + suffix] = pick(each)
    for work in {each.work for each in scaling}:
        costs = {each.frames: each.nanoseconds for each in scaling if each.work == work}
        found[f"scaling_{work}_5m_vs_1m"] = costs[max(costs)] / costs[min(costs)]
    for each_job in jobs[1:]:
        of_one = jobs[0].seconds / jobs[0].bytes
        found[f"spark_growth_{each_job.files}_vs_1"] = each_job.seconds / each_job.bytes / of_one
    return found


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    model = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return model[1] if model else platform.machine()


def _versions() -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    tshark = capture.find_tshark()
    if tshark is not None:
        reported = subprocess.run([tshark, "--version"], capture_output=True, text=True, check=False).stdout
        number = re.search(r"\d+\.\d+\.\d+", reported)
        versions["tshark"] = number[0] if number else "unknown"
    return versions


def document(
    results: Sequence[Result],
    scaling: Sequence[Scaling],
    jobs: Sequence[Growth] = (),
    *,
    pinned: bool,
    busy: float | None,
    quick: bool,
) -> dict[str, Any]:
    """The run as one object, as ``--json`` writes it; ``busy`` are the cores that others used."""
    return {
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "pinned": pinned,
            "busy": busy,
        },
        "date": datetime.now(UTC).date().isoformat(),
        "quick": quick,
        "versions": _versions(),
        "results": msgspec.to_builtins(results),
        "scaling": msgspec.to_builtins(scaling),
        "jobs": msgspec.to_builtins(jobs),
        "ratios": ratios(results, scaling, jobs),
        "lowest_ratios": ratios(results, pick=min),
        "cpu_ratios": ratios(results, cpu=True),
        "lowest_cpu_ratios": ratios(results, cpu=True, pick=min),
    }


def summary(found: dict[str, Any]) -> Iterator[str]:
    """Every ratio of a document as a line: median and lowest of the rounds, by the clock and by CPU."""
    kinds = ("ratios", "lowest_ratios", "cpu_ratios", "lowest_cpu_ratios")
    yield f"{'':52}{'median':>10}{'lowest':>10}{'CPU':>10}{'lowest':>10}"
    for name in found["ratios"]:
        yield f"{name:52}" + "".join(f"{_shown(name, found[kind]):>10}" for kind in kinds)


def _shown(name: str, of: dict[str, float]) -> str:
    """A ratio by its name, "" where there is none."""
    if name not in of:
        return ""
    return f"{100 * of[name]:.3g} %" if _FLOOR in name else f"{of[name]:,.4g}"


def _rows(results: Sequence[Result], group: str) -> Iterator[tuple[str, ...]]:
    baseline = GROUPS[group][1]
    for result in sorted((each for each in results if each.group == group), key=lambda each: each.median):
        shown = [f"{rate:,.0f}" for rate in (result.median, result.min, result.max)]
        for cpu in (False, True):
            ratio = ratio_of(results, group, result.contestant, baseline, cpu=cpu)
            shown.append(f"{statistics.median(ratio):,.4g}" if ratio else "")
            shown.append(f"{min(ratio):,.4g} to {max(ratio):,.4g}" if ratio else "")
        yield (result.contestant, *shown)


def table_text(results: Sequence[Result], group: str) -> str:
    """One group for a terminal: rates, and ratios to the baseline by the clock and by CPU, with ranges."""
    title, baseline = GROUPS[group]
    unit = next(result.unit for result in results if result.group == group)
    lines = [f"\n{title}; {unit}, ratio to: {baseline}"]
    for name, rate, low, high, ratio, spread, cpu, cpu_spread in _rows(results, group):
        used = f"   CPU x {cpu} ({cpu_spread})" if cpu else ""
        lines.append(f"  {name:48} {rate:>12} ({low} to {high})   x {ratio} ({spread}){used}")
    return "\n".join(lines)


_CODEC_COLUMNS = {"": "600 bytes", "_4k": "4,096 bytes", "_mixed": "mixed"}
_NDR_COLUMNS = {"": "NDR", "_ndr64": "NDR64"}
_COMMAND_COLUMNS = {suffix: name for name, suffix in _COMMAND_SUFFIXES.items() if CAPTURES[name].suites}
_CAPTURE_COLUMNS = {suffix: name for name, suffix in _CAPTURE_SUFFIXES.items()}
_RATIO_TABLES: dict[tuple[str, ...], dict[str, str]] = {
    ("rows_", "columns_", "encode_"): _CODEC_COLUMNS,
    ("capture_", "scaling_"): _CAPTURE_COLUMNS,
    ("ndr_", "pdu_"): _NDR_COLUMNS,
    ("commands_",): _COMMAND_COLUMNS,
    ("spark_",): {"": "4,096 bytes", "_session": "session", "_mixed": "mixed"},
}
"""Columns by suffix, for the ratios that begin like this."""


def _ratio_table(found: dict[str, Any], names: Sequence[str], columns: dict[str, str]) -> str:
    """One line for every ratio, one column for every workload; ratios of the growth have a single value."""
    lines: dict[str, dict[str, str]] = {}
    for name in names:
        suffix = next((suffix for suffix in columns if suffix and name.endswith(suffix)), "")
        by_clock, by_cpu = (_shown(name, found[kind]) for kind in ("ratios", "cpu_ratios"))
        lines.setdefault(name.removesuffix(suffix), {})[suffix] = f"{by_clock} / {by_cpu}".removesuffix(" / ")
    return table(
        ("Ratio", *columns.values()),
        [(code(name), *(values.get(suffix, "") for suffix in columns)) for name, values in lines.items()],
    )


def _blocks(found: dict[str, Any]) -> Iterator[str]:
    machine, versions = found["machine"], found["versions"]
    results = msgspec.convert(found["results"], list[Result])
    scaling = msgspec.convert(found["scaling"], list[Scaling])
    programs = ", ".join(f"{name} {version}" for name, version in versions.items())
    one = "one core for this process" if machine["pinned"] else "no core of its own"
    load = "" if machine["busy"] is None else f", others used {machine['busy']:.2f} cores"
    short = " A short run (`--quick`): read it as an order of magnitude." if found["quick"] else ""
    yield (
        f"Measured on {found['date']}: {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"{one}{load}. {programs}.{short}"
    )
    yield "### Ratios"
    for prefixes, columns in _RATIO_TABLES.items():
        names = [name for name in found["ratios"] if name.startswith(prefixes)]
        if names:
            yield _ratio_table(found, names, columns)
    for group, (title, baseline) in GROUPS.items():
        if any(result.group == group for result in results):
            unit = next(result.unit for result in results if result.group == group)
            yield f"### {title}"
            spread = "lowest to highest"
            head = ("Contestant", unit, "lowest", "highest", f"Ratio to {baseline}", spread, "CPU", spread)
            yield table(head, _rows(results, group))
    if found.get("jobs"):
        yield "### Growth of the job"
        grown = msgspec.convert(found["jobs"], list[Growth])
        yield table(
            ("Files", "MB", "Seconds", "MB/s"),
            [
                (
                    str(one.files),
                    f"{one.bytes / 1e6:,.0f}",
                    f"{one.seconds:,.1f}",
                    f"{one.bytes / 1e6 / one.seconds:,.0f}",
                )
                for one in grown
            ],
        )
    if scaling:
        yield "### Growth"
        yield table(
            ("Work", "Frames", "ns a frame", "lowest to highest", "Peak memory, MB"),
            [
                (
                    f"capture to {each.work}",
                    f"{each.frames:,}",
                    f"{each.nanoseconds:,.0f}",
                    f"{min(each.runs):,.0f} to {max(each.runs):,.0f}",
                    f"{each.peak_memory / 1e6:,.0f}",
                )
                for each in scaling
            ],
        )


def page_with(text: str, found: dict[str, Any]) -> str:
    """The page of the documentation with the figures of a document. Raises ValueError without its markers."""
    return filled(text, {"figures": "\n\n".join(_blocks(found))})
