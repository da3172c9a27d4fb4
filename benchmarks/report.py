"""What a run found, as a JSON document, as text for a terminal and as the tables of the documentation."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
from collections.abc import Iterator, Sequence
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
from benchmarks.measure import Result, ratio_of
from benchmarks.scaling import Scaling
from benchmarks.spark_groups import Growth
from docs.generators.markers import code, filled, table

__all__ = ["GROUPS", "document", "page_with", "ratios", "table_text"]

GROUPS: dict[str, tuple[str, str]] = {
    "decode_600": ("Decode, messages of 600 bytes", codec.LEAN),
    "decode_4k": ("Decode, messages of 4,096 bytes", codec.LEAN),
    "decode_mixed": ("Decode, every kind of packet", codec.LEAN),
    "encode_600": ("Encode, messages of 600 bytes", codec.LEAN),
    "encode_4k": ("Encode, messages of 4,096 bytes", codec.LEAN),
    "encode_mixed": ("Encode, every kind of packet", codec.LEAN),
    "capture_600": ("Capture, messages of 600 bytes, one in a segment", capture.TSHARK_FIELDS),
    "capture_4k": ("Capture, messages of 4,096 bytes over segments", capture.TSHARK_FIELDS),
    "ndr_ndr": ("R_StartReceive reply with 4,096 bytes of body, NDR", rpc.SCAPY_RPC),
    "ndr_ndr64": ("R_StartReceive reply with 4,096 bytes of body, NDR64", rpc.SCAPY_RPC),
    "pdu_small": ("Small remote read calls of a capture", rpc.SCAPY_SESSION),
    "capture_reordered": ("Capture, segments cut anywhere, late and twice", capture.TSHARK_FIELDS),
    **{
        f"commands_{suite}_{suffix}": (f"{title}, {traffic}", peer)
        for suffix, traffic in (
            ("600", "messages of 600 bytes"),
            ("mixed", "every kind of packet"),
            ("others", "calls and HTTP"),
        )
        for suite, title, peer in (
            ("decode", "Command decode, JSON lines", commands.TSHARK_EK),
            ("tree", "Command decode, trees", commands.TSHARK_V),
            ("messages", "Command messages", commands.TSHARK_FIELDS),
            ("judged", "Commands that judge", commands.TSHARK_PAYLOAD),
        )
    },
    "commands_start": ("Start of a command", commands.TSHARK_START),
    "spark": ("Messages of 4,096 bytes to tables, Spark with two cores", spark.TSHARK_SPARK),
    "spark_mixed": ("Every kind of packet to tables, Spark with two cores", spark.TSHARK_SPARK),
}
"""Title and baseline of every group."""

_CODEC_SUFFIXES = {"600": "", "4k": "_4k", "mixed": "_mixed"}
_CAPTURE_SUFFIXES = {"4k": "", "600": "_600", "reordered": "_reordered"}
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
    "capture_arrow_vs_memory_floor": (capture.ARROW, capture.FLOOR),
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
_COMMAND_SUFFIXES = {"600": "", "mixed": "_mixed", "others": "_others"}
_COMMAND_RATIOS = {
    "decode": {"commands_decode_jsonl_vs_tshark_ek": (commands.DECODE, commands.TSHARK_EK)},
    "tree": {"commands_decode_tree_vs_tshark_v": (commands.TREE, commands.TSHARK_V)},
    "messages": {
        "commands_messages_jsonl_vs_tshark_fields": (commands.JSON_LINES, commands.TSHARK_FIELDS),
        "commands_messages_csv_vs_tshark_fields": (commands.CSV, commands.TSHARK_FIELDS),
        "commands_messages_table_vs_tshark_fields": (commands.TABLE, commands.TSHARK_FIELDS),
        "commands_calls_jsonl_vs_tshark_fields": (commands.CALLS, commands.TSHARK_FIELDS),
    },
    "judged": {
        "commands_findings_jsonl_vs_tshark_payload": (commands.FINDINGS, commands.TSHARK_PAYLOAD),
        "commands_diagnose_vs_tshark_payload": (commands.DIAGNOSE, commands.TSHARK_PAYLOAD),
        "commands_report_vs_tshark_payload": (commands.REPORT, commands.TSHARK_PAYLOAD),
    },
}
_START_RATIOS = {
    "commands_start_messages_vs_tshark": (commands.START, commands.TSHARK_START),
    "commands_start_help_vs_tshark": (commands.HELP, commands.TSHARK_START),
    "commands_start_explain_vs_tshark": (commands.EXPLAIN, commands.TSHARK_START),
}
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
    results: Sequence[Result], scaling: Sequence[Scaling] = (), jobs: Sequence[Growth] = ()
) -> dict[str, float]:
    """Medians of the ratios of the rounds: how many times as fast the first of a name is as the second.

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
        *((f"commands_{suite}", _COMMAND_SUFFIXES, pairs) for suite, pairs in _COMMAND_RATIOS.items()),
        ("commands_start", {"": ""}, _START_RATIOS),
        ("spark", {"": "", "mixed": "_mixed"}, _SPARK_RATIOS),
    ):
        for group, suffix in suffixes.items():
            for name, (contestant, baseline) in pairs.items():
                each = ratio_of(results, f"{prefix}_{group}".rstrip("_"), contestant, baseline)
                if each:
                    found[name + suffix] = statistics.median(each)
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
    }


def _rows(results: Sequence[Result], group: str) -> Iterator[tuple[str, str, str, str, str, str]]:
    baseline = GROUPS[group][1]
    for result in sorted((each for each in results if each.group == group), key=lambda each: each.median):
        ratio = ratio_of(results, group, result.contestant, baseline)
        middle = f"{statistics.median(ratio):,.4g}" if ratio else ""
        spread = f"{min(ratio):,.4g} to {max(ratio):,.4g}" if ratio else ""
        rate, low, high = (f"{rate:,.0f}" for rate in (result.median, result.min, result.max))
        yield (result.contestant, rate, low, high, middle, spread)


def table_text(results: Sequence[Result], group: str) -> str:
    """One group for a terminal: rates and their range, ratios to the baseline and their range."""
    title, baseline = GROUPS[group]
    unit = next(result.unit for result in results if result.group == group)
    lines = [f"\n{title}; {unit}, ratio to: {baseline}"]
    for name, rate, low, high, ratio, spread in _rows(results, group):
        lines.append(f"  {name:48} {rate:>12} ({low} to {high})   x {ratio} ({spread})")
    return "\n".join(lines)


_CODEC_COLUMNS = {"": "600 bytes", "_4k": "4,096 bytes", "_mixed": "mixed"}
_NDR_COLUMNS = {"": "NDR", "_ndr64": "NDR64"}
_OF_CALLS = ("ndr_", "pdu_")
_OF_CAPTURES = ("capture_", "scaling_")
_OF_COMMANDS = ("commands_",)
_OF_SPARK = ("spark_",)
_COMMAND_COLUMNS = {"": "600 bytes", "_mixed": "mixed", "_others": "calls and HTTP"}
_CAPTURE_COLUMNS = {
    "": "4,096 bytes in segments",
    "_600": "600 bytes, one in a segment",
    "_reordered": "reordered",
}


def _ratio_table(found: dict[str, float], columns: dict[str, str]) -> str:
    """One line for every ratio, one column for every workload; ratios of the growth have a single value."""
    lines: dict[str, dict[str, str]] = {}
    for name, value in found.items():
        suffix = next((suffix for suffix in reversed(columns) if name.endswith(suffix)), "")
        lines.setdefault(name.removesuffix(suffix), {})[suffix] = f"{value:,.4g}"
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
    ratios = found["ratios"]
    captures = {name: value for name, value in ratios.items() if name.startswith(_OF_CAPTURES)}
    calls = {name: value for name, value in ratios.items() if name.startswith(_OF_CALLS)}
    jobs = {name: value for name, value in ratios.items() if name.startswith(_OF_SPARK)}
    commands = {name: value for name, value in ratios.items() if name.startswith(_OF_COMMANDS)}
    others = captures | calls | jobs | commands
    codecs = {name: value for name, value in ratios.items() if name not in others}
    for some, columns in (
        (codecs, _CODEC_COLUMNS),
        (captures, _CAPTURE_COLUMNS),
        (calls, _NDR_COLUMNS),
        (commands, _COMMAND_COLUMNS),
        (jobs, {"": "times"}),
    ):
        if some:
            yield _ratio_table(some, columns)
    for group, (title, baseline) in GROUPS.items():
        if any(result.group == group for result in results):
            unit = next(result.unit for result in results if result.group == group)
            yield f"### {title}"
            head = ("Contestant", unit, "lowest", "highest", f"Ratio to {baseline}", "lowest to highest")
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
