"""The names of filters, from the columns."""

from __future__ import annotations

from docs.generators.markers import code, table
from msmq_wire.detection.filtering import all_names
from msmq_wire.records.filter.expression_text import doc_of

__all__ = ["blocks"]


def blocks() -> dict[str, str]:
    """What each group of names means, by the group."""
    head = ("Name", "Kind", "Meaning")
    return {
        group: table(head, [(code(one.name), one.place.shown, doc_of(one)) for one in names])
        for group, names in all_names().items()
    }
