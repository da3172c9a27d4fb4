"""MQFFormatNameElement, [MS-MQMQ] 2.2.18.1.4."""

from typing import Annotated, Any, ClassVar

from construct import Int16ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire import names
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Choice, Fill, Node, Tell, WireStruct
from msmq_wire.wire.shown import ShownName
from msmq_wire.wire.types.enumerations import MQFFormatType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_distribution_queue_format_name import MQFDistributionQueueFormatName
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

MQFQueueName = (
    PublicQueueFormatName | PrivateQueueFormatName | MQFDirectQueueFormatName | MQFDistributionQueueFormatName
)


def _format_name(name: Any) -> str | None:
    match name:
        case MQFDirectQueueFormatName(direct_format_name=WcharText() as direct):
            return names.direct(direct.text)
        case PublicQueueFormatName(public_queue_identifier=GUID() as guid):
            return names.public(str(guid))
        case PrivateQueueFormatName(
            source_queue_manager=GUID() as guid, private_queue_identifier=int(number)
        ):
            return names.private(str(guid), number)
        case MQFDistributionQueueFormatName(distribution_list_identifier=GUID() as guid):
            return names.distribution_list(str(guid))
    return None


def _named(text: str) -> MQFQueueName:
    kind, name, number = names.wire_parts(text)
    if kind == names.QueueFormatType.DIRECT:
        return MQFDirectQueueFormatName(direct_format_name=WcharText.of(name))
    guid = GUID.parse(name)
    if kind == names.QueueFormatType.PRIVATE:
        return PrivateQueueFormatName(source_queue_manager=guid, private_queue_identifier=number)
    if kind == names.QueueFormatType.PUBLIC:
        return PublicQueueFormatName(public_queue_identifier=guid)
    return MQFDistributionQueueFormatName(distribution_list_identifier=guid)


def _is_whole(name: Any) -> bool:
    # Lone surrogates are not in the text of a direct name; what was not reached has no text.
    direct = getattr(name, "direct_format_name", None)
    return not isinstance(direct, WcharText) or direct.exact


class MQFFormatNameElement(WireStruct, frozen=True, kw_only=True, gc=False):
    """One queue of a multiple-queue list: the type of its name, then the name."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.4")
    format_type: Annotated[int, Int16ul, MQFFormatType, "Type of the name."] = MQFFormatType.DIRECT
    _name: ClassVar[Annotated[int, Tell()]]
    # The text gives public names no rule; their siblings start on a 4-byte boundary, and so do they here.
    padding: Annotated[
        bytes,
        Fill((-this._name & 3) * (this.format_type != MQFFormatType.DIRECT)),
        "Before names that start on a 4-byte boundary; any bytes.",
    ] = b""
    format_name: Annotated[
        MQFQueueName,
        Choice(
            this.format_type,
            {
                MQFFormatType.PUBLIC: Node(PublicQueueFormatName),
                MQFFormatType.PRIVATE: Node(PrivateQueueFormatName),
                MQFFormatType.DIRECT: Node(MQFDirectQueueFormatName),
                MQFFormatType.DISTRIBUTION_LIST: Node(MQFDistributionQueueFormatName),
            },
        ),
        ShownName(_format_name, _named, _is_whole),
        "The name.",
    ] = MQFDirectQueueFormatName()


def element_format_name(element: MQFFormatNameElement) -> str | None:
    """The format name of an element of a multiple-queue list, None when it was not reached."""
    return _format_name(element.format_name)
