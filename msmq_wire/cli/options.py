"""Options that several commands share, and what they mean."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from msmq_wire.api.limits import READ_TWICE
from msmq_wire.cli.completion import redactions
from msmq_wire.cli.formats import FileFormat
from msmq_wire.cli.render.screen import Screen
from msmq_wire.errors import MsmqWireError
from msmq_wire.output import folder_refusal, refusal
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.report.redaction.redactor import Redaction, Redactor

if TYPE_CHECKING:
    from msmq_wire.cli.capture_set import CaptureSet
    from msmq_wire.detection.filtering import FindingFilter
    from msmq_wire.records.filter.compiling import Filter
    from msmq_wire.records.tree.tree import TreeOptions

_BODY_LIMIT = 512


class Color(StrEnum):
    """When colours are used."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_KINDS = "pcap or pcapng, plain or compressed with gzip, bzip2, xz or zstd. "
CAPTURES = typer.Argument(
    metavar="FILE...",
    help=f"{_KINDS}- is standard input, a folder all captures in it.",
    show_default=False,
)
CaptureFiles = Annotated[list[str], CAPTURES]
CapturesReadTwice = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help=f"{_KINDS}A folder is all captures in it.", show_default=False),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="EXPR",
        help='Show only what matches, as in "type == user_message and label ~ order". May be repeated: '
        "all must match. See msmq-wire filter --help.",
        show_default=False,
    ),
]
Ids = Annotated[
    list[int] | None,
    typer.Option(
        "--id", metavar="N", min=1, help="Show only this item. May be repeated.", show_default=False
    ),
]
Ports = Annotated[
    list[int] | None,
    typer.Option(
        "--port",
        metavar="N",
        min=1,
        max=65535,
        help="A further TCP port that carries MSMQ. May be repeated.",
        show_default=False,
    ),
]
DecodeAs = Annotated[
    list[str] | None,
    typer.Option(
        "--decode-as",
        metavar="PORT=AS",
        help="Read what a TCP port carries as msmq, rpc or http, as in 8085=http. May be repeated.",
        show_default=False,
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Check the signatures of messages, too. Its findings are CNT-VERIFY and CNT-EXPIRED.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory to follow sessions and messages in, as 500m or 4g. Without it MSMQ_WIRE_MEMORY "
        "counts, else a quarter of what there is, at most 2g.",
        show_default=False,
    ),
]
Recursive = Annotated[bool, typer.Option("--recursive", help="Read folders in folders too.")]
Carve = Annotated[
    bool,
    typer.Option(
        "--carve",
        help="FILEs are no captures: search storage files, memory dumps and disk images (see carve --help).",
    ),
]
ShowHex = Annotated[bool, typer.Option("--hex", help="Show the bytes beside the fields.")]
BodyLimit = Annotated[
    int | None,
    typer.Option(
        "--body-limit",
        metavar="N",
        min=0,
        help="Bytes of a body to show. 0 shows all.",
        show_default=str(_BODY_LIMIT),
    ),
]
Redactions = Annotated[
    list[str] | None,
    typer.Option(
        "--redact",
        metavar="WHAT",
        help="Blank out bodies, labels, hosts, or several with commas between. Lengths stay.",
        autocompletion=redactions,
        show_default=False,
    ),
]
UtcTime = Annotated[bool, typer.Option("--utc", help="Show times in UTC, which is the default.")]
LocalTime = Annotated[bool, typer.Option("--local", help="Show times in the zone of this machine.")]
TimeZone = Annotated[
    str | None,
    typer.Option(
        "--timezone", metavar="ZONE", help="Show times in a zone, as Europe/Berlin.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Write over what is there.")]
ColorOption = Annotated[Color, typer.Option("--color", help="Use colours.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary and no progress on standard error.")]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Count frames and packets by kind in the summary. diagnose shows its answers."
    ),
]


def screen_for(color: Color) -> Screen:
    """Standard output as a screen."""
    return Screen(
        sys.stdout, "always" if color is Color.ALWAYS else "never" if color is Color.NEVER else "auto"
    )


def zone_for(utc: bool, local: bool, timezone: str | None) -> tzinfo | None:
    """The zone times are shown in, None for this machine's. Raises typer.BadParameter."""
    if utc + local + (timezone is not None) > 1:
        raise typer.BadParameter("only one of --utc, --local and --timezone can be used")
    if local:
        return None
    if timezone is None:
        return UTC
    try:
        return ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        raise typer.BadParameter(f"no time zone is called {timezone!r}", param_hint="--timezone") from None


def tree_options(hex_: bool, body_limit: int | None, zone: tzinfo | None) -> TreeOptions:
    """How trees are printed."""
    from msmq_wire.records.tree.tree import TreeOptions

    return TreeOptions(hex=hex_, body_limit=_BODY_LIMIT if body_limit is None else body_limit, zone=zone)


def redactor_for(words: list[str] | None) -> Redactor:
    """What --redact asks for. Raises typer.BadParameter."""
    found = set()
    for word in (part.strip() for words_ in words or () for part in words_.split(",")):
        try:
            found.add(Redaction(word))
        except ValueError:
            known = ", ".join(Redaction)
            raise typer.BadParameter(f"{word!r} is none of {known}", param_hint="--redact") from None
    return Redactor(found)


def refuse_without_effect(format_: str, given: Mapping[str, bool]) -> None:
    """Raise typer.BadParameter if an option was given that changes nothing in a format."""
    where = "with --to" if isinstance(format_, FileFormat) else f"in --format {format_}"
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter(f"{option} changes nothing {where}")


def check_output(path: str, hint: str, *, force: bool, in_place: bool = False) -> None:
    """Raise typer.BadParameter for what must not be written, before captures are read for it."""
    if path == "-":
        raise typer.BadParameter("- is no file here; ./- would be one", param_hint=hint)
    reason = refusal(path, force=force, in_place=in_place)
    if reason is not None:
        forced = not force and refusal(path, force=True, in_place=in_place) is None
        more = ": --force writes over it" if forced else ""
        raise typer.BadParameter(f"{path} {reason}{more}", param_hint=hint)


def check_folder(path: str, hint: str) -> None:
    """Raise typer.BadParameter for a folder into which nothing must be written."""
    if path == "-":
        raise typer.BadParameter("- is no folder here; ./- would be one", param_hint=hint)
    reason = folder_refusal(path)
    if reason is not None:
        raise typer.BadParameter(f"{path} {reason}", param_hint=hint)


def finding_filter_for(expressions: list[str] | None, zone: tzinfo | None) -> FindingFilter | None:
    """The filters of a command line that are about findings. Raises typer.BadParameter."""
    if not expressions:
        return None
    from msmq_wire.detection.filtering import FindingFilter

    try:
        return FindingFilter(expressions, zone)
    except MsmqWireError as error:
        raise typer.BadParameter(str(error), param_hint="--filter") from None


def filter_for(
    expressions: list[str] | None, zone: tzinfo | None, *, outcomes: bool = False
) -> Filter | None:
    """The filters of a command line as one, None without any. Raises typer.BadParameter.

    ``outcomes`` says that the command knows what became of messages.
    """
    if not expressions:
        return None
    from msmq_wire.records.filter.compiling import compile_filter

    try:
        parts = [compile_filter(expression, zone, outcomes=outcomes) for expression in expressions]
    except MsmqWireError as error:
        raise typer.BadParameter(str(error), param_hint="--filter") from None
    return lambda subject: all(part(subject) for part in parts)


def filters_by_outcome(expressions: list[str] | None, reading: CaptureSet) -> bool:
    """Whether filters ask what became of messages.

    Raises typer.BadParameter where they ask, and the reading cannot answer.
    """
    if not expressions:
        return False
    from msmq_wire.records.filter.compiling import asks_for_outcome

    if not any(map(asks_for_outcome, expressions)):
        return False
    if reading.at_rest:
        raise typer.BadParameter("what lies at rest has no outcome", param_hint="--filter")
    if reading.once:
        raise typer.BadParameter(f"{OUTCOME.name} {READ_TWICE}", param_hint="--filter")
    return True
