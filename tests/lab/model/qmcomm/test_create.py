"""R_QMCreateObjectInternal, R_QMDeleteObject and R_QMObjectPathToObjectFormat, and Get Queue Path."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.qmcomm.queue_path import QueuePath, get_queue_path
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    CreateObjectInternalRequest,
    ObjectPathToObjectFormatRequest,
    ObjectRequest,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, ObjectId, QueueFormat
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor, default_security
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.scene import (
    ORDERS,
    OTHER_MANAGER,
    PATH,
    PUBLIC,
    Directory,
    Scene,
    cases,
    creating,
    denied,
    object_format,
)
from tests.lab.model.scene import QUEUE_MANAGER, START, make_manager, make_queue, pass_time, put
from tests.rules import rule_table

BAD_STUB_DATA = 0x000006F7
ILLEGAL_SECURITY = 0xC00E0021
INVALID = Status.MQ_ERROR_INVALID_PARAMETER
ILLEGAL_NAME = Status.MQ_ERROR_ILLEGAL_FORMATNAME
ILLEGAL_PATH = Status.MQ_ERROR_ILLEGAL_QUEUE_PATHNAME
ILLEGAL_TYPE = Status.MQ_ERROR_ILLEGAL_PROPERTY_VT
ILLEGAL_VALUE = Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE
NOT_FOUND = Status.MQ_ERROR_QUEUE_NOT_FOUND
PROPERTY = Status.MQ_ERROR_PROPERTY
UNSUPPORTED = Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION
CREATE = "r_qm_create_object_internal"
DELETE = "r_qm_delete_object"
TO_FORMAT = "r_qm_object_path_to_object_format"
HERE = ".\\private$\\orders"
LABEL = PropVariant(vt=31, arm=WcharText.of("a label"))
MACHINE = ObjectFormat(obj_type=2)


def secured(data: bytes, name: str = ".\\private$\\new") -> CreateObjectInternalRequest:
    return creating(name, sd_size=len(data), p_security_descriptor=data)


def with_property(propid: int, vt: int = 1, arm: Any = None) -> CreateObjectInternalRequest:
    return creating(a_prop=(propid,), ap_var=(PropVariant(vt=vt, arm=arm),))


NO_PATHS = ("", "new", ".\\", *(f".\\private$\\{name}" for name in ("", "a;b;c", "a\nb")))
NOT_PRIVATE = (".\\new", ".\\private$\\new;journal", ".\\private$\\new;sub", ".\\system$;journal")
NO_DESCRIPTORS = (b"", bytes(20), b"\x01", default_security()[:-1])


@pytest.mark.rule("MQMP-3.1.4.5-2")
@rule_table(
    "request_, status",
    ("MQMP-3.1.4.5-3", creating(dw_object_type=0), INVALID),
    ("MQMP-3.1.4.5-3", creating(HERE, dw_object_type=2), INVALID),
    *cases("MQMP-3.1.4.5-4", ILLEGAL_PATH, *map(creating, NO_PATHS)),
    ("MQMP-3.1.4.5-4", creating("\ud800\\private$\\new"), ILLEGAL_PATH),
    *cases("MQMP-3.1.4.5-5", ILLEGAL_PATH, *map(creating, NOT_PRIVATE)),
    ("MQMP-3.1.4.5-6", creating("elsewhere\\private$\\new"), ILLEGAL_PATH),
    ("MQMP-3.1.4.5-9", creating(sd_size=5), BAD_STUB_DATA),
    *cases("MQMP-3.1.4.5-10", ILLEGAL_SECURITY, *map(secured, NO_DESCRIPTORS)),
    *cases("MQMP-3.1.4.5-13", PROPERTY, *map(with_property, (1, 114, 201, 1101))),
    *cases("MQMP-3.1.4.5-14", PROPERTY, *map(with_property, (101, 109, 110, 124, 126))),
    ("MQMP-3.1.4.5-15", with_property(108), ILLEGAL_TYPE),
    ("MQMP-3.1.4.5-15", with_property(104, 19, 1), ILLEGAL_TYPE),
    ("MQMP-3.1.4.5-16", with_property(104, 17, 2), ILLEGAL_VALUE),
)
def test_a_queue_that_cannot_be_made(request_: CreateObjectInternalRequest, status: int) -> None:
    assert Scene().refusal(CREATE, request_) == status


@rule_table(
    "request_",
    ("MQMP-3.1.4.5-8", creating(sd_size=524289)),
    ("MQMP-3.1.4.5-11", creating(cp=0, a_prop=(), ap_var=())),
    ("MQMP-3.1.4.5-11", creating(cp=129, a_prop=(108,) * 129, ap_var=(LABEL,) * 129)),
    ("MQMP-3.1.4.5-12", creating(cp=2)),
    ("MQMP-3.1.4.5-12", creating(a_prop=(108, 108))),
    ("MQMP-3.1.4.5-12", creating(ap_var=())),
    ("MQMP-3.1.4.5-10", creating(sd_size=4, p_security_descriptor=b"12345")),
)
def test_a_request_out_of_its_bounds_is_not_dispatched(request_: CreateObjectInternalRequest) -> None:
    assert Scene().fault(CREATE, request_) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-3.1.4.5-17", "MQMP-3.1.4.5-18", "MQMP-3.1.4.5-7")
@pytest.mark.parametrize(
    "name", [HERE, "host\\private$\\orders", "HOST\\PRIVATE$\\Orders", "localhost\\private$\\orders"]
)
def test_a_queue_that_is_there_is_not_altered(name: str) -> None:
    request = secured(SecurityDescriptor().to_bytes(), name)
    assert Scene().refusal(CREATE, request) == Status.MQ_ERROR_QUEUE_EXISTS


@pytest.mark.rule("MQMP-3.1.4.5-19", "MQMP-3.1.4.5-20", "MQMP-3.1.4.5-22", "MQMP-3.1.4.5-23")
@pytest.mark.rule("MQMP-3.1.4.5-24", "MQMP-3.1.4.5-26", "MQMP-3.1.4.5-7")
def test_a_queue_is_made_with_defaults_where_nothing_is_said(scene: Scene) -> None:
    pass_time(scene.manager, 5000)
    assert scene.status(CREATE, creating()) == Status.MQ_OK
    queue = scene.manager.queue_collection["private$\\new"]
    assert (queue.pathname, queue.label) == ("host\\private$\\new", "a label")
    assert (queue.queue_type, queue.private_queue_number) == (ModelQueueType.PRIVATE, 2)
    assert (queue.create_time, queue.modify_time) == (START + 5, START + 5)
    assert queue.security == default_security()
    assert (queue.quota, queue.privacy_level, queue.journaling) == (0xFFFF_FFFF, 1, False)
    assert queue.journal_queue_reference is not None
    assert scene.open("DIRECT=OS:host\\private$\\new").status == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.4.5-21", "MQMP-3.1.4.5-23", "MQMP-3.1.1.12-24")
def test_a_queue_is_made_with_what_is_said(scene: Scene) -> None:
    data = SecurityDescriptor(owner=bytes.fromhex("010100000000000512000000")).to_bytes()
    request = creating(
        "HOST\\private$\\New",
        sd_size=len(data),
        p_security_descriptor=data,
        cp=5,
        a_prop=(103, 105, 107, 113, 125),
        ap_var=(
            PropVariant(vt=31, arm=WcharText.of("host\\private$\\another")),
            PropVariant(vt=19, arm=10),
            PropVariant(vt=19, arm=20),
            PropVariant(vt=17, arm=1),
            PropVariant(vt=31, arm=WcharText.of("224.0.0.9:1")),
        ),
    )
    assert scene.status(CREATE, request) == Status.MQ_OK
    assert sorted(scene.manager.queue_collection) == ["private$\\new", "private$\\orders"]
    queue = scene.manager.queue_collection["private$\\new"]
    assert (queue.pathname, queue.security) == ("HOST\\private$\\New", data)
    assert (queue.quota, queue.journal_quota, queue.transactional) == (10, 20, True)
    assert queue.multicast_address == "224.0.0.9:1"


@pytest.mark.rule("MQMP-3.1.4.5-25")
def test_who_may_not_make_queues_does_not() -> None:
    assert denied(CREATE, creating()) == [("create", None)]


NO_FORMAT_NAMES = (
    QueueFormat(),
    QueueFormat(m_qft=3, arm=WcharText.of("OS:host\\private$\\" + "q" * 125)),
    QueueFormat(m_qft=3, arm=WcharText.of("SMOKE:host\\q")),
    QueueFormat(m_qft=2, m_suffix_and_flags=5, arm=ObjectId()),
)
NO_OBJECTS = [ObjectFormat(arm=name) for name in NO_FORMAT_NAMES]
NOT_THERE = (
    "DIRECT=OS:host\\private$\\nothing",
    "DIRECT=OS:host\\private$\\nothing;sub",
    "DIRECT=OS:elsewhere\\private$\\orders",
    f"PRIVATE={QUEUE_MANAGER}\\00000099",
    f"PRIVATE={OTHER_MANAGER}\\00000001",
)
NO_PRIVATE_QUEUES = (f"PUBLIC={PUBLIC}", "DIRECT=OS:host\\shared", ORDERS + ";journal", ORDERS + ";sub")


@rule_table(
    "named, status",
    ("MQMP-3.1.4.8-2 MQMP-3.1.4.8-4", MACHINE, INVALID),
    ("MQMP-3.1.4.8-5", ObjectFormat(), INVALID),
    *cases("MQMP-3.1.4.8-6", ILLEGAL_NAME, *NO_OBJECTS),
    *cases("MQMP-3.1.4.8-7", NOT_FOUND, *map(object_format, NOT_THERE)),
    *cases("MQMP-3.1.4.8-8", UNSUPPORTED, *map(object_format, NO_PRIVATE_QUEUES)),
)
def test_what_is_no_private_queue_is_not_deleted(scene: Scene, named: ObjectFormat, status: int) -> None:
    scene.add_public_queue()
    assert scene.refusal(DELETE, ObjectRequest(p_object_format=named)) == status
    assert scene.queue.subqueue_collection == []


@pytest.mark.rule("MQMP-3.1.4.8-9", "MQMP-3.1.4.8-10", "MQMP-3.1.4.8-12")
@pytest.mark.parametrize(
    "name", [ORDERS, f"PRIVATE={QUEUE_MANAGER}\\00000001", "DIRECT=OS:.\\private$\\ORDERS"]
)
def test_a_private_queue_is_deleted_also_while_it_is_open(scene: Scene, name: str) -> None:
    put(scene.queue, b"one")
    handle = scene.open().ph_queue
    assert scene.status(DELETE, ObjectRequest(p_object_format=object_format(name))) == Status.MQ_OK
    assert scene.manager.queue_collection == {}
    assert scene.descriptor(handle).queue_reference is None
    again = ObjectRequest(p_object_format=object_format(name))
    assert scene.status(DELETE, again) == Status.MQ_ERROR_QUEUE_NOT_FOUND


@pytest.mark.rule("MQMP-3.1.4.8-11")
def test_who_may_not_delete_a_queue_does_not() -> None:
    request = ObjectRequest(p_object_format=object_format())
    assert denied(DELETE, request) == [("delete", PATH)]


def resolving(name: str = HERE, room: ObjectFormat | None = None) -> ObjectPathToObjectFormatRequest:
    room = room or ObjectFormat(arm=QueueFormat())
    return ObjectPathToObjectFormatRequest(lpwcs_path_name=WcharText.of(name), p_object_format=room)


NO_PATHS_TO_QUEUES = ("", "orders", ".\\private$\\")
NO_PRIVATE_PATHS = (".\\shared", HERE + ";journal", HERE + ";sub")


@rule_table(
    "request_, status",
    *cases("MQMP-3.1.4.11-3", ILLEGAL_PATH, *map(resolving, NO_PATHS_TO_QUEUES)),
    *cases("MQMP-3.1.4.11-4", ILLEGAL_PATH, *map(resolving, NO_PRIVATE_PATHS)),
    ("MQMP-3.1.4.11-2 MQMP-3.1.4.11-6", resolving(room=MACHINE), INVALID),
    ("MQMP-3.1.4.11-7", resolving(room=ObjectFormat()), INVALID),
    ("MQMP-3.1.4.11-8", resolving(room=object_format()), INVALID),
    ("MQMP-3.1.4.11-9", resolving(".\\private$\\nothing"), NOT_FOUND),
    ("MQMP-3.1.4.11-9", resolving("elsewhere\\private$\\orders"), NOT_FOUND),
)
def test_a_path_without_a_format_name(request_: ObjectPathToObjectFormatRequest, status: int) -> None:
    scene = Scene()
    scene.add_public_queue()
    assert scene.refusal(TO_FORMAT, request_) == status


@pytest.mark.rule("MQMP-3.1.4.11-10", "MQMP-3.1.4.11-11", "MQMP-3.1.4.11-13")
@pytest.mark.parametrize("computer", [".", "host", "HOST"])
def test_a_path_gives_the_private_format_name_of_its_queue(scene: Scene, computer: str) -> None:
    with scene.unchanged():
        response = scene.call(TO_FORMAT, resolving(f"{computer}\\private$\\Orders"))
    assert response.status == Status.MQ_OK
    assert response.p_object_format == ObjectFormat(
        arm=QueueFormat(m_qft=2, arm=ObjectId(lineage=QUEUE_MANAGER, uniquifier=1))
    )
    assert scene.open(str(response.p_object_format.arm.format_name)).status == Status.MQ_OK


ILLEGAL = QueuePath(status=Status.MQ_ERROR_ILLEGAL_FORMATNAME)


@pytest.mark.rule("MQDMPR-3.1.7.1.26-1", "MQDMPR-3.1.7.1.26-14")
@rule_table(
    "name, path, asked",
    (
        "MQDMPR-3.1.7.1.26-2 MQDMPR-3.1.7.1.26-4",
        "DIRECT=OS:far\\private$\\q",
        QueuePath(path_name="far\\private$\\q", machine_name="far"),
        None,
    ),
    (
        "MQDMPR-3.1.7.1.26-2 MQDMPR-3.1.7.1.26-4",
        "DIRECT=TCP:192.0.2.1\\q;sub",
        QueuePath(path_name="192.0.2.1\\q;sub", machine_name="192.0.2.1"),
        None,
    ),
    (
        "MQDMPR-3.1.7.1.26-3 MQDMPR-3.1.7.1.26-4",
        "DIRECT=HTTP://far:81/msmq/private$/q",
        QueuePath(path_name="far/private$/q", machine_name="far"),
        None,
    ),
    (
        "MQDMPR-3.1.7.1.26-3",
        "DIRECT=HTTPS://far/msmq\\q",
        QueuePath(path_name="far\\q", machine_name="far"),
        None,
    ),
    (
        "MQDMPR-3.1.7.1.26-5 MQDMPR-3.1.7.1.26-7",
        f"PUBLIC={PUBLIC}",
        QueuePath(path_name="far\\queue", machine_name="far"),
        ("Queue", PUBLIC),
    ),
    ("MQDMPR-3.1.7.1.26-6", f"PUBLIC={OTHER_MANAGER}", ILLEGAL, ("Queue", OTHER_MANAGER)),
    (
        "MQDMPR-3.1.7.1.26-8 MQDMPR-3.1.7.1.26-10 MQDMPR-3.1.7.1.26-12",
        f"PRIVATE={OTHER_MANAGER}\\00000001",
        QueuePath(machine_name="far"),
        ("QueueManager", OTHER_MANAGER),
    ),
    ("MQDMPR-3.1.7.1.26-9", f"PRIVATE={PUBLIC}\\00000001", ILLEGAL, ("QueueManager", PUBLIC)),
    (
        "MQDMPR-3.1.7.1.26-8 MQDMPR-3.1.7.1.26-11",
        f"PRIVATE={QUEUE_MANAGER}\\00000001",
        QueuePath(path_name="host\\private$\\orders", machine_name="host"),
        None,
    ),
    (
        "MQDMPR-3.1.7.1.26-10 MQDMPR-3.1.7.1.26-12",
        f"PRIVATE={QUEUE_MANAGER}\\00000002",
        QueuePath(machine_name="host"),
        None,
    ),
    *(
        ("MQDMPR-3.1.7.1.26-13", name, QueuePath(), None)
        for name in (
            f"MACHINE={QUEUE_MANAGER};journal",
            f"CONNECTOR={QUEUE_MANAGER}",
            f"DL={QUEUE_MANAGER}",
            "MULTICAST=224.0.0.1:1",
        )
    ),
)
def test_the_path_of_a_format_name(name: str, path: QueuePath, asked: tuple[str, GUID] | None) -> None:
    manager = make_manager()
    directory = Directory({PUBLIC: ("far\\queue", "far")}, {OTHER_MANAGER: "far"})
    make_queue(manager)
    assert get_queue_path(manager, directory, FormatName.parse(name)) == path
    assert directory.asked == ([] if asked is None else [asked])


@pytest.mark.rule("MQDMPR-3.1.7.1.26-6", "MQDMPR-3.1.7.1.26-9")
@pytest.mark.parametrize("name", [f"PUBLIC={PUBLIC}", f"PRIVATE={OTHER_MANAGER}\\00000001"])
def test_without_a_directory_only_the_own_names_have_a_path(name: str) -> None:
    assert get_queue_path(make_manager(), None, FormatName.parse(name)) == ILLEGAL
