"""Options of the commands that read captures and show what is in them, as one value: `ReadingOptions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import msgspec
import typer

from msmq_wire.cli.options import (
    Carve,
    Color,
    ColorOption,
    LocalTime,
    Ports,
    Quiet,
    Recursive,
    Redactions,
    TimeZone,
    UtcTime,
    redactor_for,
    refuse_without_effect,
    screen_for,
    zone_for,
)
from msmq_wire.cli.reading import Reading
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.secrets import KEY_OPTIONS, Keytabs, NtHashes, NtPasswords, negotiator_for
from msmq_wire.redaction.redactor import Redactor

__all__ = ["ReadingOptions", "with_reading_options"]

_NOTHING: Mapping[str, Sequence[str]] = {}


class ReadingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was given, in the order of the help; what it means may raise typer.BadParameter."""

    carve: Carve = False
    recursive: Recursive = False
    ports: Ports = None
    nt_passwords: NtPasswords = None
    nt_hashes: NtHashes = None
    keytabs: Keytabs = None
    redact: Redactions = None
    utc: UtcTime = False
    local: LocalTime = False
    timezone: TimeZone = None
    color: ColorOption = Color.AUTO
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
        self, files: Sequence[str], redactor: Redactor, *, streams: bool = False, rows: bool = False
    ) -> Reading:
        """The captures, with what opens their sealed calls; what lies in files of any kind with ``carve``."""
        given = self.given(redactor, streams=streams, rows=rows)
        if not self.carve:
            return Reading(files, **given)
        self._refuse_for_carving()
        # Few commands search files, and then it is much to load.
        from msmq_wire.cli.carve_reading import CarveReading

        return CarveReading(files, **given)

    def _refuse_for_carving(self) -> None:
        """Raise typer.BadParameter for options that are about connections."""
        keys = bool(self.nt_passwords or self.nt_hashes or self.keytabs)
        for name, used in (("--port", bool(self.ports)), (KEY_OPTIONS, keys)):
            if used:
                raise typer.BadParameter(f"{name} is about connections, and --carve finds none")

    def given(self, redactor: Redactor, *, streams: bool, rows: bool) -> dict[str, Any]:
        """The options of a `Reading`."""
        return {
            "ports": self.ports or (),
            "streams": streams,
            "quiet": self.quiet,
            "negotiator": negotiator_for(self.nt_passwords, self.nt_hashes, self.keytabs),
            "anonymous": redactor.hides_hosts,
            "rows": rows,
            "recursive": self.recursive,
        }


def with_reading_options(
    *, carves: bool = False, but: Sequence[str] = (), before: Mapping[str, Sequence[str]] = _NOTHING
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each of `ReadingOptions` in place of its last parameter.

    ``carves`` says that it also reads what is no capture.
    They follow its own in the help, except those of its own that stand ``before`` one of them.
    """
    hints = get_type_hints(ReadingOptions, include_extras=True)
    shared = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in msgspec.structs.fields(ReadingOptions)
        if field.name not in (*but, *(() if carves else ("carve",)))
    ]

    def given(command: Callable[..., None]) -> Callable[..., None]:
        *own, options = signature(command, eval_str=True).parameters.values()

        @wraps(command)
        def run(**values: Any) -> None:
            gathered = {one.name: values.pop(one.name) for one in shared}
            command(**values, **{options.name: ReadingOptions(**gathered)})

        known = {one.name: one for one in (*own, *shared)}
        names = [name for one in shared for name in (*before.get(one.name, ()), one.name)]
        parameters = [*(one for one in own if one.name not in names), *(known[name] for name in names)]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        return run

    return given
