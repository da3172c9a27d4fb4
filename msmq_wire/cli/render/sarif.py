"""Findings as one SARIF 2.1.0 log, for tools that gather results of checks.

The rule kept here: what SARIF has a place for stands there. Offsets count bytes of a packet, not of the
capture, so they are properties and no region.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias
from urllib.parse import quote

from msmq_wire.detection import Evidence, Finding, Severity
from msmq_wire.detection.finding_view import evidence_view
from msmq_wire.detection.rule import Rule
from msmq_wire.records.join_keys import JoinKeys
from msmq_wire.records.joined_capture import located

Json = dict[str, Any]

LEVELS: Mapping[Severity, str] = {"info": "note", "low": "note", "medium": "warning", "high": "error"}
"""What SARIF calls each severity."""

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT = "msmqWireFinding/v1"
_MOST_RELATED = 100
_LITERAL = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})
_Seen: TypeAlias = tuple[str, str, int | None, str, str | None]


def sarif_log(
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    *,
    version: str,
    folder: str = "",
    complete: bool = True,
    notes: Sequence[str] = (),
) -> Json:
    """The log of one run.

    ``rules`` are those that were asked, ``folder`` the one that captures are named from, ``complete`` whether
    every capture could be read to its end, ``notes`` what else the run has to say.
    """
    places = {id_: index for index, id_ in enumerate(rules)}
    invocation: Json = {"executionSuccessful": complete}
    if notes:
        invocation["toolExecutionNotifications"] = [
            {"level": "note", "message": _message(one)} for one in notes
        ]
    driver = {"name": "msmq-wire", "version": version, "rules": [_rule(rule) for rule in rules.values()]}
    related = _related(findings)
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": [
            _result(one, places[one.id], folder, related.get(_seen_at(one.id, one.evidence[0]), ()))
            for one in findings
        ],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> Json:
    # helpUri has to be absolute, and the pages have no address but that in the documentation.
    page = f"docs/findings/{rule.stem}.md"
    parts = [rule.action, f"Harmless explanations: {rule.harmless}" if rule.harmless else ""]
    parts.append(f"See {page}.")
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": " ".join(part for part in parts if part)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "severity": rule.severity,
            "confidence": rule.confidence,
            "sections": [str(one) for one in rule.spec],
            "page": page,
            "tags": ["msmq", *rule.cves],
        },
    }


def _related(findings: Sequence[Finding]) -> dict[_Seen, list[Finding]]:
    """What each finding explains, by its rule and its first place."""
    found: dict[_Seen, list[Finding]] = {}
    for one in findings:
        if one.explained_by is not None and one.cause is not None:
            found.setdefault(_seen_at(one.explained_by, one.cause), []).append(one)
    return found


def _seen_at(id_: str, place: Evidence) -> _Seen:
    return id_, place.capture, place.record, place.path, place.src


def _result(finding: Finding, index: int, folder: str, explained: Sequence[Finding]) -> Json:
    text = " ".join((f"{_sentence(finding.message)}", *(f"But: {_sentence(one)}" for one in finding.caveats)))
    result: Json = {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": _message(text),
        "locations": [_location(one, folder) for one in finding.evidence],
        "partialFingerprints": {_FINGERPRINT: _fingerprint(finding)},
        "properties": {
            "severity": finding.severity,
            "confidence": finding.confidence,
            "layer": finding.layer,
            "caveats": list(finding.caveats),
            "tags": ["msmq", *finding.cves],
            "event": finding.event,
            "group": finding.group,
            "explained_by": finding.explained_by,
        },
    }
    related: list[Json] = []
    for one in explained[:_MOST_RELATED]:
        said = {"message": _message(f"{one.id}: {_sentence(one.message)}")} | _location(
            one.evidence[0], folder
        )
        if said not in related:
            related.append(said)
    if related:
        result["relatedLocations"] = related
    return result


def _message(text: str) -> Json:
    """A message whose text may quote what was captured: no link and no placeholder (SARIF 3.11.5, 3.11.6)."""
    return {"text": text.translate(_LITERAL)}


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _location(place: Evidence, folder: str) -> Json:
    place = located(place)
    frame = f"frame {place.frames[0]}" if place.frames else ""
    name = " ".join(part for part in (frame, place.path) if part)
    location: Json = {}
    if place.capture:
        location["physicalLocation"] = {"artifactLocation": {"uri": artifact_uri(place.capture, folder)}}
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    shown = evidence_view(place)
    names = ("frames", "offset", "length", "time", "src", "dst", *JoinKeys._fields)
    location["properties"] = {key: shown[key] for key in names if shown[key] is not None}
    return location


def artifact_uri(capture: str, folder: str) -> str:
    """A capture as a URI: relative where it is in ``folder`` or was named without a root, else absolute."""
    path = PurePath(capture)
    if path.is_absolute():
        if not folder or not path.is_relative_to(folder):
            return f"file://{'' if path.as_posix().startswith('/') else '/'}{_escaped(path)}"
        path = path.relative_to(folder)
    return _escaped(path)


def _escaped(path: PurePath) -> str:
    return quote(os.fsencode(path.as_posix()), safe="/")


def _fingerprint(finding: Finding) -> str:
    """The same for the same observation, whatever else was read and whatever its capture is called."""
    digest = hashlib.sha256(finding.id.encode())
    for one in finding.evidence:
        when = one.frames if one.time is None else one.time
        digest.update(repr((when, one.path, one.offset, one.length)).encode())
    return digest.hexdigest()
