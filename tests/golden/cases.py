"""What is printed: commands, formats and subjects; and which commands are left out, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from msmq_wire.cli.program import COMMANDS, GROUPS
from msmq_wire.detection import RULES

__all__ = ["LEFT", "PAGES", "ROOT", "Case", "all_cases", "is_screen"]

ROOT = Path(__file__).resolve().parents[2]
_FIXTURES = ROOT / "fixtures"
_TOPOLOGY = "fixtures/routing/example.toml"


class Case(NamedTuple):
    """One output: the list that its digest is in, its row and column there, and how it is made.

    ``width`` is that of the terminal, None in a pipe; ``by_column`` asks whether the path for large captures
    gives the same; ``opened`` gives the keys of sealed calls.
    """

    group: str
    subject: str
    form: str
    arguments: tuple[str, ...]
    width: int | None = None
    by_column: bool = False
    opened: bool = False


_READING: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "diagnose": {
        "text": (),
        "verbose": ("-v",),
        "jsonl": ("--format", "jsonl"),
        "csv": ("--question", "18", "--format", "csv"),
    },
    "messages": {"table": ("--all",), "jsonl": ("--format", "jsonl"), "csv": ("--format", "csv")},
    "calls": {"table": (), "jsonl": ("--format", "jsonl"), "csv": ("--format", "csv")},
    "decode": {
        "tree": ("--hex",),
        "table": ("--format", "table"),
        "jsonl": ("--format", "jsonl"),
        "csv": ("--format", "csv"),
    },
    "findings": {
        "table": (),
        "jsonl": ("--format", "jsonl"),
        "sarif": ("--format", "sarif"),
        "csv": ("--format", "csv"),
    },
    "replay": {"table": (), "jsonl": ("--format", "jsonl")},
    "timeline": {
        "text": (),
        "session": ("--session", "0"),
        "message": ("--message", "1"),
        "jsonl": ("--format", "jsonl"),
        "session jsonl": ("--session", "0", "--format", "jsonl"),
        "message jsonl": ("--message", "1", "--format", "jsonl"),
    },
    "why": {"text": ("1",), "jsonl": ("1", "--format", "jsonl")},
    "topology": {"toml": ()},
    "report": {"html": ("-o", "-")},
    "export": {"pcap": ("--filter", "user_header or headers or request", "--to", "-")},
    "route-audit": {
        "table": ("--topology", _TOPOLOGY, "--all"),
        "jsonl": ("--topology", _TOPOLOGY, "--all", "--format", "jsonl"),
        "csv": ("--topology", _TOPOLOGY, "--all", "--format", "csv"),
    },
}
"""The commands that read captures, and their forms. Text is also made for a terminal of 80 columns."""
_TEXT = frozenset(("text", "verbose", "table", "tree", "session", "message"))

_BY_COLUMN = frozenset(("diagnose", "messages", "calls", "decode", "findings", "replay"))
"""The commands whose JSON lines are also made on the path of large captures."""

_OTHER: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "carve": (
        ("fixtures/at_rest",),
        ("fixtures/at_rest", "--format", "jsonl"),
        ("fixtures/at_rest", "--format", "csv"),
        *((path,) for path in (f"fixtures/at_rest/{name}" for name in ("memory.dmp", "P0003420.MQ"))),
    ),
    "demo": ((),),
    "filter": (
        (),
        ("type == user_message and (label ~ order or anomalies > 0)",),
        ('queue matches "orders$" and not host == 192.0.2.0/24',),
        ("message_class in (normal, order_ack) and time >= 2026-11-20T09:14",),
        ("msmq.user_header.message_id == 0x1f",),
        ("lable == x",),
        ("label ~",),
    ),
    "explain": (
        (),
        ("--list",),
        ("CVE-2023-21554",),
        ("MQRR-3.1.4.2-8",),
        ("MQRR-3.1.4.2",),
        ("FRM-SIGG",),
        *((name,) for name in RULES),
    ),
    "route": tuple(
        ("--topology", _TOPOLOGY, source, target, *how)
        for source, target in (("pc-a", "pc-c"), ("pc-a", "pc-c\\private$\\orders"), ("pc-a", "nobody"))
        for how in ((), ("--format", "json"), ("--dot",), ("--svg",))
    ),
    "suricata rules": ((), ("--sightings", "--quiet")),
    "compare-recording": tuple(
        ("fixtures/recordings/small", *how) for how in ((), ("--publish",), ("--format", "jsonl"))
    ),
}
"""Other commands, each with the arguments that follow it; all in a pipe and at 80 columns."""

LEFT: Mapping[str, str] = {
    "doctor": "it tells of the machine",
    "wireshark": "it tells of what is installed",
    "lab serve": "it serves",
    "lab send": "it asks a server",
    "lab receive": "it asks a server",
    "lab peek": "it asks a server",
    "lab purge": "it asks a server",
    "lab move": "it asks a server",
    "lab queues": "it asks a server",
    "lab mgmt": "it asks a server",
    "corpus": "it writes files, which tests compare",
    "encode": "it writes bytes, which tests compare",
    "lab record": "it writes a capture, which tests compare",
    "spark run": "it needs Java",
    "spark sql": "it needs Java",
    "spark status": "tables name the moments at which they were written",
    "spark forget": "it changes tables",
    "spark compact": "it changes tables",
    "spark vacuum": "it changes tables",
    "spark export": "it copies tables",
    "spark package": "it writes the package itself",
}
"""Commands of which there is only the help, and why."""

PAGES = "pages"
"""The list of manual pages, JSON Schemas and Arrow tables: declarations make them, not a command."""

_PEOPLE = (
    "captures/clean_signed.pcap",
    "captures/demo.pcap",
    "digest/fault_and_attack.pcap",
    "digest/payroll_purged.pcap",
    "findings/CNT-NACK/hit_access_denied.pcap",
)
"""Captures of which the screens are kept as text."""
_ALONE = frozenset(("carve fixtures/at_rest", "demo", "explain FRM-SIG", "filter"))


def is_screen(case: Case) -> bool:
    """Whether an output is kept as text, for people to look at."""
    if case.width is None or (case.form == "tree 80" and case.subject != "captures/demo.pcap"):
        # A tree of all packets of a capture has thousands of lines.
        return False
    return case.subject in (_PEOPLE if case.group in _READING else _ALONE)


def all_cases() -> Iterator[Case]:
    """All outputs of commands. Those of one capture follow each other."""
    known = {*_READING, *_OTHER, "packet", *LEFT}
    assert known == set(COMMANDS), f"neither printed nor left out: {known ^ set(COMMANDS)}"
    for path in sorted(one.relative_to(_FIXTURES).as_posix() for one in _FIXTURES.rglob("*.pcap*")):
        for opened in (False, True) if path.startswith("rpc_captures/") else (False,):
            yield from _of_capture(path, opened=opened)
    for hexed in sorted(_FIXTURES.glob("packets/*/*.hex")):
        name = hexed.relative_to(_FIXTURES).as_posix()
        yield from _wide("packet", name, "tree", ("packet", f"fixtures/{name}", "--hex"))
        yield Case("packet", name, "json", ("packet", f"fixtures/{name}", "--format", "json"))
    for group, lines in _OTHER.items():
        for arguments in lines:
            yield from _wide(group, " ".join((group, *arguments)), "text", (*group.split(), *arguments))
    for command in ("", *COMMANDS, *GROUPS):
        yield from _wide("help", command or "msmq-wire", "text", (*command.split(), "--help"))


def _of_capture(name: str, *, opened: bool) -> Iterator[Case]:
    subject = f"{name} opened" if opened else name
    for group, forms in _READING.items():
        for form, options in forms.items():
            arguments = (group, f"fixtures/{name}", *options)
            if form in _TEXT:
                for case in _wide(group, subject, form, arguments):
                    yield case._replace(opened=opened)
            else:
                yield Case(
                    group,
                    subject,
                    form,
                    arguments,
                    by_column=form == "jsonl" and group in _BY_COLUMN,
                    opened=opened,
                )


def _wide(group: str, subject: str, form: str, arguments: tuple[str, ...]) -> Iterator[Case]:
    yield Case(group, subject, form, arguments)
    yield Case(group, subject, f"{form} 80", arguments, width=80)
