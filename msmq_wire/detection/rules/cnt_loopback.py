"""CNT-LOOPBACK: a queue of another host is named by the loopback address."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.address_scope import is_loopback
from msmq_wire.detection.call_queues import path_names, split_path
from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.types.wchar_text import WcharText

_QUEUES = ("destination_queue", "admin_queue", "response_queue")
_LISTS = ("destination", "administration", "response")
_SHOWN = 80


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if not _is_elsewhere(record.src, record.dst):
        return
    if record.type != "rpc_call" and not context.on_wire(record):
        return
    names = path_names(record) if record.type == "rpc_call" else _direct_names(record)
    for path, text in names:
        if _is_named(text):
            shown = text.text[:_SHOWN]
            yield Detection(
                message=f"{path} is {shown!r}: the loopback address, in a packet to another host",
                evidence=(evidence_of(record, path, 0, len(text), text),),
            )


def _is_named(text: WcharText) -> bool:
    computer, _ = split_path(text.text)
    return bool(computer) and is_loopback(computer)


def _is_elsewhere(src: str | None, dst: str | None) -> bool:
    return not (is_loopback(host_of(src)) or is_loopback(host_of(dst)))


def _direct_names(record: Record) -> Iterator[tuple[str, WcharText]]:
    for queue in _QUEUES:
        path = f"user_header.{queue}.direct_format_name"
        text = reached(record.packet, path)
        if isinstance(text, WcharText):
            yield path, text
    for name in _LISTS:
        path = f"multi_queue_format_header.{name}.format_name_list"
        elements = reached(record.packet, path)
        for place, element in enumerate(elements if isinstance(elements, tuple) else ()):
            text = reached(element, "format_name.direct_format_name")
            if isinstance(text, WcharText):
                yield f"{path}[{place}].format_name.direct_format_name", text


RULE = Rule(
    id="CNT-LOOPBACK",
    title="A queue named by the loopback address",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.1.2"),),
    meaning="A direct name says on which host a queue is. This one says 127.0.0.0/8, ::1 or localhost. At "
    "the host that receives it, this means the receiving host itself. An application that names a queue on "
    "another host never needs it. Public checks use it to reach a queue without knowing the name of the "
    "host. A response or administration queue of this form makes the receiver send to itself.",
    action="Find out which program the client is, and what it did with the queue. The queue name is valid: "
    "alone it is not an error.",
    harmless="A configuration that was copied from a test on one computer, or a tunnel or proxy between the "
    "hosts.",
    types=("rpc_call", "user_message"),
    when=(
        *(
            (
                CodedCondition.of(_is_elsewhere, "_.src", "_.dst"),
                CodedCondition.of(_is_named, f"user_header.{queue}.direct_format_name"),
            )
            for queue in _QUEUES
        ),
        this.multi_queue_format_header.destination.header_size >= 0,
    ),
    check=_check,
)
