"""Options of the commands that read captures and show what is in them, as one value: `ReadingOptions`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
import typer

from msmq_wire.capture.machine_memory import MEMORY, default_memory
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.options import (
    Carve,
    Color,
    ColorOption,
    DecodeAs,
    LocalTime,
    Memory,
    Ports,
    Quiet,
    Recursive,
    Redactions,
    TimeZone,
    UtcTime,
    Verbose,
    Verify,
    redactor_for,
    refuse_without_effect,
    screen_for,
    zone_for,
)
from msmq_wire.cli.queue_options import QueueFolders, names_beside, queue_names_for
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.secret_options import (
    KEY_OPTIONS,
    Keytabs,
    NtHashes,
    NtPasswords,
    RsaKeyPasswords,
    RsaKeys,
    TrustedFiles,
    body_opener_for,
    negotiator_for,
    trusted_for,
)
from msmq_wire.cli.store_options import size_of
from msmq_wire.records.body_keys import opening_bodies, put_in_force
from msmq_wire.records.recognition import Content
from msmq_wire.records.registered_queues import naming_queues, put_names_in_force
from msmq_wire.records.signatures import checking_signatures, trusting
from msmq_wire.report.redaction.redactor import Redactor

BODY_KEYS = ("rsa_keys", "rsa_key_passwords", "trusted")
"""The options that say nothing to a command which tells of no body and of no signature."""

_R = TypeVar("_R", bound=CaptureSet)
_NOTHING: Mapping[str, Sequence[str]] = {}


class ReadingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was given, in the order of the help; what it means may raise typer.BadParameter."""

    carve: Carve = False
    recursive: Recursive = False
    memory: Memory = None
    ports: Ports = None
    decode_as: DecodeAs = None
    nt_passwords: NtPasswords = None
    nt_hashes: NtHashes = None
    keytabs: Keytabs = None
    rsa_keys: RsaKeys = None
    rsa_key_passwords: RsaKeyPasswords = None
    trusted: TrustedFiles = None
    verify: Verify = False
    queues: QueueFolders = None
    redact: Redactions = None
    utc: UtcTime = False
    local: LocalTime = False
    timezone: TimeZone = None
    color: ColorOption = Color.AUTO
    verbose: Verbose = False
    quiet: Quiet = False

    def zone(self, without_times: str | None = None) -> tzinfo | None:
        """The zone times are shown in; ``without_times`` is a format for which one changes nothing."""
        zone = zone_for(self.utc, self.local, self.timezone)
        if without_times is not None:
            given = {"--local": self.local, "--timezone": self.timezone is not None}
            refuse_without_effect(without_times, given)
        return zone

    def redactor(self) -> Redactor:
        """What is left out."""
        return redactor_for(self.redact)

    def screen(self) -> Screen:
        """Standard output."""
        return screen_for(self.color)

    def reading(
        self,
        files: Sequence[str],
        redactor: Redactor,
        *,
        streams: bool = False,
        rows: bool = False,
        follows: bool = False,
    ) -> CaptureSet:
        """The captures, with what opens their sealed calls; what lies in files of any kind with ``carve``.

        What ``follows`` connections and shows none of their ``streams`` bounds its memory, too.
        """
        given = self.given(redactor, streams=streams, rows=rows)
        if follows:
            given["memory"] = memory_for(self.memory)
        if not self.carve:
            return self.with_keys(CaptureSet(files, **given))
        self._refuse_for_carving()
        # Few commands search files, and then it is much to load.
        from msmq_wire.cli.carve_reading import CarveReading

        return self.with_keys(CarveReading(files, **given))

    def followed_ports(self) -> dict[int, Content | None]:
        """The TCP ports that are given, with what they carry as far as that is said."""
        ports: dict[int, Content | None] = dict.fromkeys(self.ports or ())
        for text in self.decode_as or ():
            port, _, content = text.partition("=")
            number = int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else 0
            known = next((one for one in get_args(Content) if one == content), None)
            if not 0 < number < 65536 or known is None:
                names = ", ".join(get_args(Content))
                raise typer.BadParameter(
                    f"{text[:40]!r} is not PORT=AS with one of {names}, as in 8085=http",
                    param_hint="--decode-as",
                )
            if ports.get(number, known) not in (known, None):
                raise typer.BadParameter(f"port {number} is given twice", param_hint="--decode-as")
            ports[number] = known
        return ports

    def with_keys(self, reading: _R) -> _R:
        """A reading of which bodies are opened with the keys that were given, to the end of the command.

        Nothing is opened where something is redacted: no marker says what is in a body. Beside storage files
        that are searched the names of their queues may lie.
        """
        if reading.at_rest and not self.queues:
            put_names_in_force(names_beside(reading.files, reading.redactor))
        if self.redact:
            if self.rsa_keys:
                raise typer.BadParameter("--rsa-key opens bodies: it cannot be used with --redact")
            return reading
        opener = body_opener_for(self.rsa_keys, self.rsa_key_passwords)
        if opener is not None:
            put_in_force(opener, lambda found: reading.counts.take_opened(found))
        return reading

    def _refuse_for_carving(self) -> None:
        """Raise typer.BadParameter for options that are about connections."""
        keys = bool(self.nt_passwords or self.nt_hashes or self.keytabs)
        ports = {"--port": bool(self.ports), "--decode-as": bool(self.decode_as)}
        for name, used in (*ports.items(), (KEY_OPTIONS, keys)):
            if used:
                raise typer.BadParameter(f"{name} is about connections, and --carve finds none")

    def given(self, redactor: Redactor, *, streams: bool, rows: bool) -> dict[str, Any]:
        """The options of a `CaptureSet`."""
        return {
            "ports": self.followed_ports(),
            "streams": streams,
            "quiet": self.quiet,
            "verbose": self.verbose,
            "negotiator": negotiator_for(self.nt_passwords, self.nt_hashes, self.keytabs),
            "redactor": redactor,
            "rows": rows,
            "recursive": self.recursive,
            # What follows connections asks for their steps.
            "memory": memory_for(self.memory) if streams else None,
        }


def with_reading_options(
    *,
    carves: bool = False,
    follows: bool = False,
    verifies: bool = False,
    but: Sequence[str] = (),
    before: Mapping[str, Sequence[str]] = _NOTHING,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each of `ReadingOptions` in place of its last parameter.

    ``carves`` says that it also reads what is no capture, ``follows`` that it follows sessions, ``verifies``
    that it judges.
    They follow its own in the help, except those of its own that stand ``before`` one of them.
    """
    hints = get_type_hints(ReadingOptions, include_extras=True)
    left = {"carve": carves, "memory": follows, "verify": verifies}
    without = (*but, *(name for name, has in left.items() if not has))
    shared = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in msgspec.structs.fields(ReadingOptions)
        if field.name not in without
    ]

    def given(command: Callable[..., None]) -> Callable[..., None]:
        *own, options = signature(command, eval_str=True).parameters.values()

        @wraps(command)
        def run(**values: Any) -> None:
            gathered = {one.name: values.pop(one.name) for one in shared}
            # A key that is given counts to the end of the command.
            read = ReadingOptions(**gathered)
            asked = read.verify or (verifies and bool(read.trusted))
            names = queue_names_for(read.queues, read.redactor(), quiet=read.quiet)
            with (
                opening_bodies(None),
                checking_signatures(asked),
                trusting(trusted_for(read.trusted)),
                naming_queues(names),
            ):
                command(**values, **{options.name: read})

        known = {one.name: one for one in (*own, *shared)}
        names = [name for one in shared for name in (*before.get(one.name, ()), one.name)]
        parameters = [*(one for one in own if one.name not in names), *(known[name] for name in names)]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        return run

    return given


def memory_for(text: str | None) -> int:
    """Bytes that a text asks for, or `MEMORY`, else as much as `default_memory` says.

    Raises typer.BadParameter for what is no size.
    """
    asked = text or os.environ.get(MEMORY)
    return size_of(asked, "--memory" if text else MEMORY) if asked else default_memory()
