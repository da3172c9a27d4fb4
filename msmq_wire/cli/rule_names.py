"""Rules by the ids that somebody typed on the command line."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from msmq_wire.detection.named_rules import rules_named as rules_by_name
from msmq_wire.detection.rule import Rule
from msmq_wire.errors import MsmqWireError


def rules_named(ids: Iterable[str], hint: str, *, also: Iterable[str] = ()) -> dict[str, Rule]:
    """The rules with these ids. Raises typer.BadParameter, which names ``hint``."""
    try:
        return rules_by_name(ids, also=also)
    except MsmqWireError as error:
        raise typer.BadParameter(str(error), param_hint=hint) from None
