"""Named queries: the questions that an investigation begins with, over the tables of the job.

The rule kept here: a query is one statement over the views of `msmq_wire.spark.table_views`, and can be
copied and changed; its order is complete, so the same tables give the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from msmq_wire.detection.fingerprints import SAMPLE_CLIENT, SAMPLE_SERVER
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces import METHODS
from msmq_wire.rpc.interfaces.role import READS
from msmq_wire.sessions import class_words
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_READING = ("select", "with", "show", "describe", "desc", "explain")
# What has no end is taken to the end of the text, or every beginning in it would be followed to there.
_LITERALS = re.compile(
    r"""--[^\n]*|/\*.*?\*/|r'[^']*+'|r"[^"]*+"|'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+"|`[^`]*+`"""
    r"""|(?P<endless>(?:/\*|['"`]).*)""",
    re.DOTALL | re.IGNORECASE,
)
_WRITING = re.compile(r"\b(?:insert\s+(?:into|overwrite)|merge\s+into|delete\s+from|update\s+\S+\s+set)\b")


class Query(msgspec.Struct, frozen=True):
    """A question with a name: what it asks, in one line, and its text for Spark SQL."""

    name: str
    meaning: str
    sql: str


def _host(column: str) -> str:
    """The address in ``192.0.2.1:1801`` or ``[2001:db8::1]:1801``."""
    return f"regexp_extract({column}, r'^\\[?(.*?)\\]?(?::[0-9]+)?$', 1)"


def _list(values: Iterable[object]) -> str:
    return ", ".join(f"'{value}'" if not isinstance(value, int) else str(int(value)) for value in values)


_MESSAGES = _list(("user_message", "message_packet", "srmp_message", "transfer_buffer"))
"""The types that are messages; others only acknowledge them."""
_NEGATIVE = 0x8000
_CLASSES = ",\n    ".join(
    f"({int(one)}, '{one.name}', '{class_words(int(one))}')" for one in MessageClass if one & _NEGATIVE
)
_COMPOUND = "compound_message_header"
_BODY = f"""if({_COMPOUND} IS NULL, body, substring({_COMPOUND}.data,
         CAST(least({_COMPOUND}.msg_body_offset, 2147483646) AS int) + 1,
         CAST(least({_COMPOUND}.msg_body_size, 2147483647) AS int)))"""
"""The body of a message: that of an SRMP message in a packet is a part of what the packet has for it."""
_READS = _list(name for name, method in METHODS.items() if method.role in READS)
_RECEIVES = _list(int(action) for action in ReceiveAction if action.removes)
_PEEKS = _list(int(action) for action in ReceiveAction if not action.removes)
_NO_HOST = _list(map(GUID, (NULL_GUID, SAMPLE_CLIENT, SAMPLE_SERVER)))
"""GUIDs that say nothing about a host: scanners announce them from everywhere."""

_TEXTS = (
    Query(
        "top_queues",
        "Queues by the number of messages to them, with captured bytes of bodies, first and last time.",
        f"""
SELECT queue,
       count(*) AS messages,
       count(DISTINCT message_id) AS distinct_messages,
       coalesce(sum(octet_length({_BODY})), 0) AS bytes,
       min(time) AS first_time,
       max(time) AS last_time
FROM messages
WHERE type IN ({_MESSAGES})
GROUP BY queue
ORDER BY messages DESC, queue
""",
    ),
    Query(
        "unacknowledged_messages",
        "Messages that nothing acknowledged, although it was asked for or they are recoverable.",
        """
SELECT time, capture, message_id, src, dst, queue, label, delivery, wanted, outcome, reason, certain
FROM lives
WHERE via <> 'rpc'
  AND (wanted & 3 <> 0 OR delivery IN ('recoverable', 'transactional'))
  AND acknowledged IS NULL AND stored IS NULL AND order_ack IS NULL AND accepted IS NULL
  AND cardinality(acknowledgments) = 0
ORDER BY time, capture, message_id, first.record
""",
    ),
    Query(
        "nacks_by_class",
        "Negative acknowledgments by class: how many, for how many messages of which queues.",
        f"""
WITH classes(message_class, symbol, meaning) AS (
  VALUES
    {_CLASSES}
),
seen AS (
  SELECT message_class, count(*) AS acknowledgments
  FROM messages
  WHERE message_class >= {_NEGATIVE}
  GROUP BY message_class
),
refused AS (
  SELECT one.message_class, count(*) AS messages, array_sort(collect_set(queue)) AS queues
  FROM lives LATERAL VIEW explode(acknowledgments) AS one
  WHERE one.message_class >= {_NEGATIVE}
  GROUP BY one.message_class
)
SELECT message_class,
       concat('0x', lower(hex(message_class))) AS class,
       symbol,
       meaning,
       coalesce(acknowledgments, 0) AS acknowledgments,
       coalesce(messages, 0) AS messages,
       coalesce(queues, array()) AS queues
FROM seen FULL JOIN refused USING (message_class) LEFT JOIN classes USING (message_class)
ORDER BY acknowledgments DESC, message_class
""",
    ),
    Query(
        "readers_by_queue",
        "Who peeked into and received from which queue of another host, and how many messages came.",
        f"""
WITH reads AS (
  SELECT account,
         {_host("src")} AS client,
         {_host("dst")} AS server,
         queue,
         try_cast(coalesce(
           get_json_object(request, '$.ul_action'),
           get_json_object(request, '$.lp_remote_read_desc.ul_action'),
           get_json_object(request, '$.lp_remote_read_desc2.p_remote_read_desc.ul_action'),
           get_json_object(request, '$.ptb.old.receive.action')
         ) AS bigint) AS action,
         cardinality(messages) > 0 AS came,
         time
  FROM calls
  WHERE type = 'rpc_call' AND method IN ({_READS})
)
SELECT account,
       client,
       server,
       queue,
       count_if(action IN ({_PEEKS})) AS peeks,
       count_if(action IN ({_RECEIVES})) AS receives,
       count_if(action IS NULL) AS unknown,
       count_if(came) AS messages_read,
       min(time) AS first_time,
       max(time) AS last_time
FROM reads
GROUP BY account, client, server, queue
ORDER BY messages_read DESC, account, client, server, queue
""",
    ),
    Query(
        "cloned_queue_managers",
        "Queue managers that several addresses claim to be: by sessions, pings and messages, with times.",
        f"""
WITH announced AS (
  SELECT client_queue_manager AS queue_manager, {_host("client")} AS address, 'session' AS kind,
         time AS first_time, timestamp_micros(last.time DIV 1000) AS last_time
  FROM sessions
  WHERE establish_request IS NOT NULL
  UNION ALL
  SELECT server_queue_manager, {_host("server")}, 'session', time, timestamp_micros(last.time DIV 1000)
  FROM sessions
  WHERE establish_response IS NOT NULL
  UNION ALL
  SELECT ping.qm_guid, {_host("src")}, 'ping', time, time
  FROM messages
  WHERE type = 'ping'
  UNION ALL
  -- After the first hop the address is that of a router.
  SELECT queue_manager, {_host("src")}, 'message', time, time
  FROM lives
  WHERE via = 'tcp' AND hops = 0
),
cloned AS (
  SELECT queue_manager
  FROM announced
  WHERE queue_manager NOT IN ({_NO_HOST})
  GROUP BY queue_manager
  HAVING count(DISTINCT address) > 1
)
SELECT queue_manager,
       address,
       count_if(kind = 'session') AS sessions,
       count_if(kind = 'ping') AS pings,
       count_if(kind = 'message') AS messages,
       min(first_time) AS first_time,
       max(last_time) AS last_time
FROM announced JOIN cloned USING (queue_manager)
GROUP BY queue_manager, address
ORDER BY queue_manager, first_time, address
""",
    ),
    Query(
        "bodies_by_sha256",
        "Bodies by SHA-256: how often each was sent, its size, its queues, first and last time.",
        f"""
WITH bodies AS (
  SELECT {_BODY} AS body, queue, time
  FROM messages
  WHERE type IN ({_MESSAGES}) AND error IS NULL
)
SELECT sha2(body, 256) AS sha256,
       count(*) AS messages,
       octet_length(body) AS size,
       array_sort(collect_set(queue)) AS queues,
       min(time) AS first_time,
       max(time) AS last_time
FROM bodies
WHERE octet_length(body) > 0
GROUP BY ALL
ORDER BY messages DESC, size DESC, sha256
""",
    ),
    Query(
        "findings_by_host",
        "Findings by the host that they are about and by rule, the severest first.",
        f"""
SELECT {_host("src")} AS host,
       severity,
       rule,
       title,
       count(*) AS findings,
       count(DISTINCT capture) AS captures,
       min(time) AS first_time,
       max(time) AS last_time
FROM findings
GROUP BY ALL
ORDER BY array_position(array('high', 'medium', 'low', 'info'), severity), findings DESC, host, rule
""",
    ),
    Query(
        "busiest_hosts",
        "Which host sent how many messages to which: bytes on the wire, number of queues, times.",
        f"""
SELECT {_host("src")} AS sender,
       {_host("dst")} AS receiver,
       count(*) AS messages,
       sum(length) AS bytes,
       count(DISTINCT queue) AS queues,
       min(time) AS first_time,
       max(time) AS last_time
FROM messages
WHERE type IN ({_MESSAGES})
GROUP BY ALL
ORDER BY messages DESC, bytes DESC, sender, receiver
""",
    ),
    Query(
        "failed_sessions",
        "Sessions that were refused, or were started and never opened.",
        """
SELECT time, capture, client, server, client_queue_manager, requested_queue_manager, state, reached,
       refused_by, closed_by, reason, certain
FROM sessions
WHERE state IN ('refused', 'refused_tcp') OR refused_by IS NOT NULL OR (started AND reached <> 'open')
ORDER BY time, capture, number
""",
    ),
    Query(
        "slow_acknowledgments",
        "The 100 messages that waited longest for their session acknowledgment, in milliseconds.",
        """
SELECT (acknowledged.time - first.time) / 1e6 AS milliseconds,
       time, capture, message_id, src, dst, queue, delivery, resends
FROM lives
WHERE acknowledged.time IS NOT NULL AND first.time IS NOT NULL
ORDER BY milliseconds DESC, time, capture, message_id, first.record
LIMIT 100
""",
    ),
    Query(
        "anomalies_by_code",
        "Broken rules of the wire format: how often, in how many captures, by how many hosts, times.",
        f"""
SELECT code,
       count(*) AS anomalies,
       count(DISTINCT capture) AS captures,
       count(DISTINCT {_host("src")}) AS hosts,
       min(spec) AS spec,
       min(time) AS first_time,
       max(time) AS last_time
FROM anomalies
GROUP BY code
ORDER BY anomalies DESC, code
""",
    ),
    Query(
        "damaged_captures",
        "Captures that could not be read to their end, and why.",
        """
SELECT capture, one AS damage, frames, understood, run
FROM captures LATERAL VIEW explode(damage) AS one
ORDER BY capture, damage
""",
    ),
)

QUERIES: Mapping[str, Query] = {
    query.name: Query(query.name, query.meaning, query.sql.strip()) for query in _TEXTS
}
"""The queries by name."""


def query_problem(sql: str) -> str | None:
    """Say why a statement is not run, or None.

    It must only read, so that nobody loses a table by accident; this is no guard against intent.
    """
    words = _LITERALS.sub(lambda found: found["endless"] or " ", sql).lower()
    first = re.search(r"[^\s(;]+", words)
    if first is None:
        return "there is no statement"
    keyword = re.match(r"\w*", first[0])
    if keyword is None or keyword[0] not in _READING or (keyword[0] != "explain" and _WRITING.search(words)):
        return "only SELECT, WITH, SHOW, DESCRIBE and EXPLAIN are run: nothing here changes a table"
    return None
