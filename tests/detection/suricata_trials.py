"""What signatures for Suricata are expected to see of captures: a test tries it, a page shows it.

The rule kept here: what is expected otherwise than the name of a capture says has its reason.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["ALSO", "UNSEEN", "UNSEEN_BY_7", "captures", "expected"]

_FINDINGS = Path(__file__).resolve().parents[2] / "fixtures" / "findings"
_LATE = "the capture begins late: Suricata follows connections from their beginning"
_PARAMETER = "the condition is about bytes behind a text of any length"
_LISTS = "the condition is about lists of any length"
_STREAM = "the condition is about all that this side sent"
_SESSION = "the condition is about what a session sent before"

UNSEEN: dict[str, str] = {
    "DSD-FORM/hit_count": _LISTS,
    "DSD-FORM/hit_list": _LISTS,
    "DSD-FORM/hit_mask": _LISTS,
    "DSD-FORM/hit_no_networks": _LISTS,
    "FLG-RC/hit_direct_name": "a note: it may be right behind a routing server",
    "FRM-SIG/hit_first_bytes": _STREAM,
    "FRM-SIG/hit_in_a_queue": "the packet is a stored one, which a call brings",
    "LEN-ENV/hit_late_start": _LATE,
    "LEN-ENV/hit_past_packet": "a length that does not wrap is compared with what follows it",
    "RPC-FMTLEN/hit_computer": "a name that is too long in one part has a length that others may have",
    "RPC-FMTLEN/hit_create": "Suricata does not read the fragment of 8,344 bytes as a call",
    "SES-NAKED/hit_begins_late": _LATE,
    "SES-ORDER/hit_second_establish": _SESSION,
    "SES-PARM/hit_window_closes": _SESSION,
    "SES-PARM/hit_window_one": "a note: the receiver is short of memory",
    "SRM-XML/hit_entity": "it is looked up, in XML",
    "SRM-XML/hit_undeclared": "bytes of an encoding are judged, in XML",
    "SRM-ID/hit_no_guid": "the form of the id is judged, in XML",
    "SRM-ID/hit_other_source": "two elements are compared",
}
"""Hits in which no signature of the rule speaks."""

UNSEEN_BY_7: dict[str, str] = dict.fromkeys(
    ("RPC-ANON/hit_refused", "RPC-LEVEL/hit_refused"),
    "Suricata 7 does not show the call to rules when a fault answers it, Suricata 8 does",
)
"""Hits in which newer ones speak."""

ALSO: dict[str, str] = {
    "TIM-MAGIC/miss_that_day": "the time is right in October 2013, and rules do not know the date",
}
"""Captures without the finding in which a signature of its rule speaks."""


def captures(rule: str, kind: str) -> list[str]:
    """The hits or misses of a rule, as ``FRM-SIG/hit_version``."""
    return [f"{rule}/{path.stem}" for path in sorted((_FINDINGS / rule).glob(f"{kind}_*.pcap"))]


def expected(rule: str) -> list[str]:
    """The captures of a rule in which it has to speak."""
    return [
        name
        for name in (*captures(rule, "hit"), *captures(rule, "miss"))
        if (name in ALSO or "/hit_" in name) and name not in UNSEEN
    ]
