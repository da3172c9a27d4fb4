"""The names of filters, from the columns."""

from __future__ import annotations

from docs.generators.markers import code, table
from msmq_wire.filter.names import groups
from msmq_wire.filter.words import doc_of
from msmq_wire.findings.filtering import FINDING_NAMES

__all__ = ["blocks"]


def blocks() -> dict[str, str]:
    """What each group of names means, by the group."""
    return {
        group: table(
            ("Name", "Kind", "Meaning"), [(code(one.name), one.place.shown, doc_of(one)) for one in names]
        )
        for group, names in (*groups().items(), ("findings", FINDING_NAMES))
    }
