"""Names of queues as people say them: `short_queue`.

The rule kept here: a short name is for a screen. Data, findings and evidence have the whole name.
"""

from __future__ import annotations

import re

from msmq_wire.records.registered_queues import queue_suffix

_DIRECT = re.compile(r"DIRECT=(?:OS|TCP|IPX):(?P<host>[^\\/;]+)\\(?:PRIVATE\$\\)?(?P<queue>[^\\]+)", re.I)
_HTTP = re.compile(r"DIRECT=(?P<scheme>https?)://(?P<host>[^/]+)/msmq/(?:PRIVATE\$/)?(?P<queue>[^/]+)", re.I)
_GUID = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)


def short_queue(name: str) -> str:
    r"""A direct name by its host, without its domain, and its queue; others with the first digits of GUIDs.

    ``DIRECT=OS:msg01\private$\orders`` is ``msg01 orders``, ``PRIVATE=6d4be2a0-...\0000000a`` is
    ``PRIVATE=6d4be2a0…\0000000a``. A public queue, ``DIRECT=OS:msg01\orders``, is ``msg01 \orders``. A name
    that is in force (`registered_queues`) stands behind it.
    [MS-MQMQ] 2.1
    """
    if direct := _DIRECT.fullmatch(name):
        public = "" if "\\private$\\" in name.lower() else "\\"
        return f"{_short_host(direct['host'])} {public}{direct['queue']}"
    if over_http := _HTTP.fullmatch(name):
        return f"{_short_host(over_http['host'])} {over_http['queue']} ({over_http['scheme'].lower()})"
    return _GUID.sub(r"\1…", name) + queue_suffix(name)


def _short_host(name: str) -> str:
    """A host without its domain and port; an address whole."""
    first = name.partition(".")[0]
    return name if first.isdecimal() or name.startswith("[") else first.partition(":")[0]
