"""SRM-TO: a message posted to one host and addressed to another."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_WEB = ("http://", "https://")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if record.parent is not None:
        # A stored message keeps the URL that it was sent to.
        return
    message = record.packet
    header = getattr(message.envelope, "header", None)
    to = getattr(getattr(header, "path", None), "to", None)
    if not isinstance(to, str) or not to.lower().startswith(_WEB):
        return
    addressed = _host_of_url(to)
    requested = _request_host(message.target, message.headers)
    if (
        not addressed
        or not requested
        or _may_be_same_host(addressed, requested)
        or addressed == host_of(record.dst).lower()
    ):
        return
    if _is_address(requested) != _is_address(addressed):
        # A name and an address can be the same host.
        return
    yield Detection(
        message=f"the request goes to {requested}, but the envelope is for {addressed}",
        evidence=(evidence_of(record, "envelope.header.path.to", 0, len(to), to.encode("utf-8", "replace")),),
    )


def _host_of_url(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _request_host(target: str, headers: tuple[object, ...]) -> str:
    """The host in the request target; otherwise the one in the Host header."""
    if target.lower().startswith(_WEB):
        return _host_of_url(target)
    for field in headers:
        if getattr(field, "name", "").lower() == "host":
            return _host_of_url(f"http://{getattr(field, 'value', '').strip()}")
    return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _may_be_same_host(one: str, other: str) -> bool:
    """Whether two names can be one host: ``msg01`` and ``msg01.corp.example`` can."""
    if _is_address(one) or _is_address(other):
        return one == other
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


RULE = Rule(
    id="SRM-TO",
    title="A message over HTTP for another host",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MC-MQSRM", "2.2.4.2"),),
    meaning="The URL in the envelope names another host than the request. A queue manager that gets it "
    "either translates the URL or refuses the message.",
    action="Check whether the server redirects this URL; if it does not, find out who sends it.",
    harmless="Host aliases, load balancers, proxies, and the URL redirection of MSMQ.",
    types=("srmp_message", "srmp_receipt"),
    check=_check,
)
