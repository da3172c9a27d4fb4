"""Security and properties of private queues by qmcomm, and security descriptors by their bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    GetObjectPropertiesRequest,
    GetObjectSecurityRequest,
    SetObjectPropertiesRequest,
    SetObjectSecurityRequest,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor, default_security
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.scene import (
    ORDERS,
    PATH,
    PUBLIC,
    Directory,
    Scene,
    cases,
    denied,
    object_format,
)
from tests.lab.model.scene import QUEUE_MANAGER, START, pass_time
from tests.rules import rule_table

BAD_STUB_DATA = 0x000006F7
INVALID = Status.MQ_ERROR_INVALID_PARAMETER
ILLEGAL_VALUE = Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE
PROPERTY = Status.MQ_ERROR_PROPERTY
SET_SECURITY = "r_qm_set_object_security_internal"
GET_SECURITY = "r_qm_get_object_security_internal"
GET = "r_qm_get_object_properties"
SET = "r_qm_set_object_properties"

SYSTEM = bytes.fromhex("010100000000000512000000")
USERS = bytes.fromhex("01020000000000052000000021020000")
EMPTY_ACL = bytes.fromhex("0200080000000000")
FULL = bytes.fromhex(
    "01001480"  # Revision 1, Sbz1 0, Control: self-relative, DACL and SACL present
    "24000000 30000000 14000000 1c000000"  # owner, group, SACL, DACL
    "0200080000000000"  # SACL without entries
    "0200080000000000"  # DACL without entries
    "010100000000000512000000"  # owner S-1-5-18
    "01020000000000052000000021020000"  # group S-1-5-32-545
)


def scene_with_public_queue() -> Scene:
    known = {PUBLIC: ("host\\shared", "host"), QUEUE_MANAGER: ("host\\gone", "host")}
    scene = Scene(directory=Directory(known))
    scene.add_public_queue()
    return scene


def test_a_descriptor_is_read_and_written_by_its_bytes() -> None:
    found = SecurityDescriptor.parse(FULL)
    assert (found.owner, found.group, found.sacl, found.dacl) == (SYSTEM, USERS, EMPTY_ACL, EMPTY_ACL)
    assert found.to_bytes() == FULL


def test_the_default_descriptor_lets_everybody_do_everything() -> None:
    assert default_security() == bytes.fromhex(
        "01000480 44000000 00000000 00000000 14000000"  # owner behind a DACL of 48 bytes
        "0200300002000000"
        "000014003f000f00010100000000000100000000"  # all rights for S-1-1-0
        "0000140004000000010100000000000507000000"  # sending for S-1-5-7
        "010100000000000507000000"  # the owner, S-1-5-7
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",
        bytes(20),
        FULL[:-1],
        b"\x02" + FULL[1:],
        FULL[:2] + b"\x14\x00" + FULL[4:],
        FULL[:4] + b"\x10\x00\x00\x00" + FULL[8:],
        FULL[:4] + b"\xff\xff\xff\xff" + FULL[8:],
        FULL[:12] + b"\x00\x00\x00\x80" + FULL[16:],
        FULL[:20] + b"\x01" + FULL[21:],
        FULL[:22] + b"\xff\xff" + FULL[24:],
        FULL[:24] + b"\x01" + FULL[25:],
        FULL[:22] + b"\x0c\x00\x01\x00" + FULL[26:28] + bytes(4) + FULL[32:],
        FULL[:36] + b"\x02" + FULL[37:],
        FULL[:37] + b"\x10" + FULL[38:],
    ],
)
def test_bytes_that_are_no_descriptor_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        SecurityDescriptor.parse(data)


@given(st.binary(max_size=120), st.integers(0, len(FULL)))
def test_any_bytes_are_a_descriptor_or_an_error(data: bytes, at: int) -> None:
    for one in (data, FULL[:at] + data, FULL[:20] + data):
        try:
            found = SecurityDescriptor.parse(one)
        except DecodeError:
            continue
        assert SecurityDescriptor.parse(found.to_bytes()) == found


_PARTS = st.fixed_dictionaries(
    {
        "owner": st.sampled_from([None, SYSTEM, USERS]),
        "group": st.sampled_from([None, SYSTEM, USERS]),
        "sacl": st.sampled_from([None, EMPTY_ACL]),
        "dacl": st.sampled_from([None, EMPTY_ACL]),
    }
)


@given(_PARTS, _PARTS, st.integers(0, 15))
def test_parts_are_exchanged_one_by_one(old: Any, new: Any, information: int) -> None:
    def descriptor(parts: Any) -> SecurityDescriptor:
        control = 0x8000 | (parts["sacl"] is not None) << 4 | (parts["dacl"] is not None) << 2
        return SecurityDescriptor(control=control, **parts)

    found = SecurityDescriptor.parse(descriptor(old).with_parts(descriptor(new), information).to_bytes())
    for bit, name in ((1, "owner"), (2, "group"), (4, "dacl"), (8, "sacl")):
        assert getattr(found, name) == (new if information & bit else old)[name]


NO_QUEUE = [
    (ObjectFormat(obj_type=2), Status.MQ_ERROR_INVALID_PARAMETER),
    (ObjectFormat(), Status.MQ_ERROR_INVALID_PARAMETER),
    (ObjectFormat(arm=QueueFormat()), Status.MQ_ERROR_ILLEGAL_FORMATNAME),
    (object_format("DIRECT=OS:host\\private$\\nothing"), Status.MQ_ERROR_QUEUE_NOT_FOUND),
    (object_format("DIRECT=OS:host\\shared"), Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION),
]


@pytest.mark.rule("MQMP-3.1.4.6-2", "MQMP-3.1.4.6-4", "MQMP-3.1.4.6-5", "MQMP-3.1.4.6-10", "MQMP-3.1.4.6-11")
@pytest.mark.rule("MQMP-3.1.4.7-2", "MQMP-3.1.4.7-4", "MQMP-3.1.4.7-5", "MQMP-3.1.4.7-13", "MQMP-3.1.4.7-14")
@pytest.mark.rule("MQMP-3.1.4.9-2", "MQMP-3.1.4.9-4", "MQMP-3.1.4.9-5", "MQMP-3.1.4.9-11", "MQMP-3.1.4.9-12")
@pytest.mark.rule("MQMP-3.1.4.10-2", "MQMP-3.1.4.10-4", "MQMP-3.1.4.10-5", "MQMP-3.1.4.10-14")
@pytest.mark.rule("MQMP-3.1.4.10-15")
@pytest.mark.parametrize(("named", "status"), NO_QUEUE)
def test_what_is_no_private_queue_has_neither_security_nor_properties(
    named: ObjectFormat, status: int
) -> None:
    scene = scene_with_public_queue()
    for stem, request in (
        (SET_SECURITY, securing(4, p_object_format=named)),
        (GET_SECURITY, GetObjectSecurityRequest(p_object_format=named, n_length=9)),
        (GET, getting((108,), p_object_format=named)),
        (SET, setting((108,), (text("new"),), p_object_format=named)),
    ):
        assert scene.refusal(stem, request) == status, stem


def securing(information: int, data: bytes | None = FULL, **more: Any) -> SetObjectSecurityRequest:
    more = {"p_object_format": object_format(), "sd_size": len(data or b""), **more}
    return SetObjectSecurityRequest(security_information=information, p_security_descriptor=data, **more)


@rule_table(
    "request_",
    *(("MQMP-3.1.4.6-6", securing(bits)) for bits in (0x10, 0x8000_0004)),
    ("MQMP-3.1.4.6-8", securing(4, None)),
    *(("MQMP-3.1.4.6-9", securing(4, data)) for data in (b"", b"\x01", bytes(20), FULL[:-1])),
)
def test_security_that_cannot_be_set(request_: SetObjectSecurityRequest) -> None:
    assert Scene().refusal(SET_SECURITY, request_) == Status.MQ_ERROR_INVALID_PARAMETER


@pytest.mark.rule("MQMP-3.1.4.6-7")
def test_too_large_a_descriptor_is_not_dispatched() -> None:
    request = SetObjectSecurityRequest(p_object_format=object_format(), sd_size=524289)
    assert Scene().fault(SET_SECURITY, request) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-3.1.4.6-16", "MQMP-3.1.4.6-18")
@rule_table(
    "information, parts",
    ("", 0, ()),
    ("MQMP-3.1.4.6-12", 1, ("owner",)),
    ("MQMP-3.1.4.6-13", 2, ("group",)),
    ("MQMP-3.1.4.6-14", 4, ("dacl",)),
    ("MQMP-3.1.4.6-15", 8, ("sacl",)),
    ("", 15, ("owner", "group", "dacl", "sacl")),
)
def test_the_parts_of_security_that_are_named_are_set(information: int, parts: tuple[str, ...]) -> None:
    scene = Scene()
    scene.queue.security = default_security()
    assert scene.status(SET_SECURITY, securing(information)) == Status.MQ_OK
    before, after = SecurityDescriptor.parse(default_security()), SecurityDescriptor.parse(FULL)
    found = SecurityDescriptor.parse(scene.queue.security)
    for name in ("owner", "group", "dacl", "sacl"):
        assert getattr(found, name) == getattr(after if name in parts else before, name)


@pytest.mark.rule("MQMP-3.1.4.6-17")
def test_who_may_not_set_security_does_not() -> None:
    assert denied(SET_SECURITY, securing(4)) == [("set security", PATH)]


def reading(information: int, room: int, name: str = ORDERS) -> GetObjectSecurityRequest:
    return GetObjectSecurityRequest(
        p_object_format=object_format(name), requested_information=information, n_length=room
    )


@pytest.mark.rule("MQMP-3.1.4.7-6")
@pytest.mark.parametrize("bits", [0x10, 0x8000_0000])
def test_parts_of_security_that_there_are_not_are_refused(bits: int) -> None:
    response = Scene().call(GET_SECURITY, reading(bits, 100))
    assert (response.status, response.lpn_length_needed) == (Status.MQ_ERROR_INVALID_PARAMETER, 0)


@pytest.mark.rule("MQMP-3.1.4.7-7")
def test_too_much_room_for_a_descriptor_is_not_dispatched() -> None:
    assert Scene().fault(GET_SECURITY, reading(1, 524289)) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-3.1.4.7-10", "MQMP-3.1.4.7-11", "MQMP-3.1.4.7-12", "MQMP-3.1.4.7-13")
@pytest.mark.rule("MQMP-3.1.4.7-14")
@pytest.mark.parametrize(
    ("name", "status"),
    [
        (f"PRIVATE={PUBLIC}\\00000001", Status.MQ_ERROR_ILLEGAL_FORMATNAME),
        (f"PUBLIC={GUID(bytes(16))}", Status.MQ_ERROR_ILLEGAL_FORMATNAME),
        (f"PRIVATE={QUEUE_MANAGER}\\00000099", Status.MQ_ERROR_QUEUE_NOT_FOUND),
        (f"MACHINE={QUEUE_MANAGER};journal", Status.MQ_ERROR_QUEUE_NOT_FOUND),
        (f"PUBLIC={QUEUE_MANAGER}", Status.MQ_ERROR_QUEUE_NOT_FOUND),
        ("DIRECT=OS:elsewhere\\private$\\orders", Status.MQ_ERROR_QUEUE_NOT_FOUND),
        ("DIRECT=HTTP://host/msmq/private$/orders", Status.MQ_ERROR_QUEUE_NOT_FOUND),
        (f"PRIVATE={QUEUE_MANAGER}\\00000001;journal", Status.MQ_ERROR_QUEUE_NOT_FOUND),
        (f"PUBLIC={PUBLIC}", Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION),
        (f"PRIVATE={QUEUE_MANAGER}\\00000001", Status.MQ_OK),
        (ORDERS, Status.MQ_OK),
    ],
)
def test_security_is_found_by_the_path_of_the_queue(name: str, status: int) -> None:
    scene = scene_with_public_queue()
    assert scene.status(GET_SECURITY, reading(0, 100, name)) == status


@pytest.mark.rule("MQMP-3.1.4.7-15", "MQMP-3.1.4.7-21", "MQMP-3.1.4.7-24", "MQMP-3.1.4.7-26")
@rule_table(
    "information, parts",
    ("MQMP-3.1.4.7-20", 0, ()),
    ("MQMP-3.1.4.7-16", 1, ("owner",)),
    ("MQMP-3.1.4.7-17", 2, ("group",)),
    ("MQMP-3.1.4.7-18", 4, ("dacl",)),
    ("MQMP-3.1.4.7-19", 8, ("sacl",)),
    ("MQMP-3.1.4.7-17", 7, ("owner", "group", "dacl")),
    ("", 15, ("owner", "group", "dacl", "sacl")),
)
def test_the_parts_of_security_that_are_named_are_given(information: int, parts: tuple[str, ...]) -> None:
    scene = Scene()
    scene.queue.security = FULL
    with scene.unchanged():
        response = scene.call(GET_SECURITY, reading(information, 100))
    assert response.status == Status.MQ_OK
    assert len(response.p_security_descriptor) == 100
    data = response.p_security_descriptor[: response.lpn_length_needed]
    assert not any(response.p_security_descriptor[response.lpn_length_needed :])
    found, whole = SecurityDescriptor.parse(data), SecurityDescriptor.parse(FULL)
    for name in ("owner", "group", "dacl", "sacl"):
        assert getattr(found, name) == (getattr(whole, name) if name in parts else None)
    if not information:
        assert data == bytes.fromhex("0100008000000000000000000000000000000000")


@pytest.mark.rule("MQMP-3.1.4.7-21", "MQMP-3.1.4.7-22")
@rule_table(
    "room",
    ("MQMP-3.1.4.7-23", 0),
    ("", 1),
    ("", len(FULL) - 1),
)
def test_a_descriptor_that_does_not_fit_is_measured(scene: Scene, room: int) -> None:
    scene.queue.security = FULL
    response = scene.call(GET_SECURITY, reading(15, room))
    assert response.status == Status.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL
    assert (response.lpn_length_needed, response.p_security_descriptor) == (len(FULL), bytes(room))


@pytest.mark.rule("MQMP-3.1.4.7-24")
def test_a_descriptor_fills_its_room_exactly(scene: Scene) -> None:
    scene.queue.security = FULL
    response = scene.call(GET_SECURITY, reading(15, len(FULL)))
    assert (response.status, response.p_security_descriptor) == (Status.MQ_OK, FULL)


@pytest.mark.rule("MQMP-3.1.4.7-25")
def test_who_may_not_read_security_does_not() -> None:
    scene = Scene(permits=lambda *_: False)
    response = scene.call(GET_SECURITY, reading(15, 100))
    assert (response.status, response.p_security_descriptor) == (Status.MQ_ERROR_ACCESS_DENIED, bytes(100))
    assert denied(GET_SECURITY, reading(15, 100)) == [("get security", PATH)]


NOTHING = PropVariant(vt=1)


def text(words: str) -> PropVariant:
    return PropVariant(vt=31, arm=WcharText.of(words))


def getting(propids: tuple[int, ...], **more: Any) -> GetObjectPropertiesRequest:
    nothing = (NOTHING,) * len(propids)
    more = {"p_object_format": object_format(), "cp": len(propids), "ap_var": nothing, **more}
    return GetObjectPropertiesRequest(a_prop=propids, **more)


def setting(
    propids: tuple[int, ...] | None, values: tuple[PropVariant, ...] | None, **more: Any
) -> SetObjectPropertiesRequest:
    more = {"p_object_format": object_format(), "cp": len(propids or values or (0,)), **more}
    return SetObjectPropertiesRequest(a_prop=propids, ap_var=values, **more)


@rule_table(
    "stem, request_",
    ("MQMP-3.1.4.9-6", GET, getting(())),
    ("MQMP-3.1.4.9-6", GET, getting((108,) * 129)),
    ("MQMP-3.1.4.9-7", GET, getting((108,), cp=2)),
    ("MQMP-3.1.4.9-7", GET, getting((108,), ap_var=())),
    ("MQMP-3.1.4.9-7", GET, getting((108, 105), cp=1)),
    ("MQMP-3.1.4.10-6", SET, setting(None, None, cp=0)),
    ("MQMP-3.1.4.10-6", SET, setting((108,) * 129, (text("x"),) * 129)),
    ("MQMP-3.1.4.10-8", SET, setting((108,), (text("x"),), cp=2)),
    ("MQMP-3.1.4.10-8", SET, setting((108,), ())),
    ("MQMP-3.1.4.10-8", SET, setting((108, 108), (text("x"),))),
)
def test_properties_out_of_their_bounds_are_not_dispatched(stem: str, request_: Any) -> None:
    assert Scene().fault(stem, request_) == BAD_STUB_DATA


@rule_table(
    "request_",
    *(("MQMP-3.1.4.9-8", getting((108, propid))) for propid in (1, 114, 201, 1101)),
    *(
        ("MQMP-3.1.4.9-9", getting((108,), ap_var=(value,)))
        for value in (PropVariant(), PropVariant(vt=19, arm=1), PropVariant(vt=17, arm=1))
    ),
)
def test_properties_that_are_not_given(scene: Scene, request_: GetObjectPropertiesRequest) -> None:
    with scene.unchanged():
        response = scene.call(GET, request_)
    assert (response.status, response.ap_var) == (Status.MQ_ERROR_PROPERTY, request_.ap_var)


@pytest.mark.rule("MQMP-3.1.4.9-10", "MQMP-3.1.4.9-13", "MQMP-3.1.4.9-15", "MQMP-3.1.1.12-36")
def test_properties_are_given_in_the_order_in_which_they_are_named(scene: Scene) -> None:
    scene.queue.label, scene.queue.quota = "a label", 7
    request = getting((105, 108, 105), ap_var=(NOTHING, text("room"), PropVariant(vt=19, arm=0)))
    with scene.unchanged():
        response = scene.call(GET, request)
    seven = PropVariant(vt=19, arm=7)
    assert (response.status, response.ap_var) == (Status.MQ_OK, (seven, text("a label"), seven))


def test_every_property_of_a_queue_is_given_with_its_type(scene: Scene) -> None:
    propids = (*range(101, 114), 124, 125, 126)
    response = scene.call(GET, getting(propids))
    kinds = [one.vt for one in response.ap_var]
    assert kinds == [72, 72, 31, 17, 19, 2, 19, 31, 3, 3, 17, 19, 17, 31, 31, 31]
    values = dict(zip(propids, response.ap_var, strict=True))
    assert (values[103].arm.text, values[109].arm) == ("host\\private$\\orders", START)


@pytest.mark.rule("MQMP-3.1.4.9-14", "MQMP-3.1.4.10-18")
def test_who_may_do_nothing_neither_gets_nor_sets_properties() -> None:
    assert denied(GET, getting((108,))) == [("get properties", PATH)]
    assert denied(SET, setting((108,), (text("new"),))) == [("set properties", PATH)]


def label_and(propid: int, value: PropVariant = NOTHING) -> SetObjectPropertiesRequest:
    """A request for a label, which could be set, and one more property."""
    return setting((108, propid), (text("new"), value))


READ_ONLY = (101, 103, 109, 110, 113, 124, 126)


@pytest.mark.rule("MQMP-3.1.1.12-37")
@rule_table(
    "request_, status",
    ("MQMP-3.1.4.10-7", setting(None, None), BAD_STUB_DATA),
    ("MQMP-3.1.4.10-7", setting((108,), None), BAD_STUB_DATA),
    ("MQMP-3.1.4.10-7", setting(None, (text("new"),)), BAD_STUB_DATA),
    *cases("MQMP-3.1.4.10-9", PROPERTY, *map(label_and, (1, 114, 201, 1101))),
    *cases("MQMP-3.1.4.10-10", PROPERTY, *map(label_and, READ_ONLY)),
    ("MQMP-3.1.4.10-11", label_and(105, PropVariant(vt=17, arm=1)), PROPERTY),
    ("MQMP-3.1.4.10-12", label_and(105), PROPERTY),
    ("MQMP-3.1.4.10-13", label_and(104, PropVariant(vt=17, arm=2)), ILLEGAL_VALUE),
)
def test_properties_that_are_not_set(request_: SetObjectPropertiesRequest, status: int) -> None:
    assert Scene().refusal(SET, request_) == status


@pytest.mark.rule("MQMP-3.1.4.10-16", "MQMP-3.1.4.10-17", "MQMP-3.1.4.10-19")
def test_properties_are_set_and_the_time_with_them(scene: Scene) -> None:
    pass_time(scene.manager, 9_000)
    values = (text("new"), PropVariant(vt=19, arm=5), PropVariant(vt=17, arm=1))
    assert scene.status(SET, setting((108, 105, 104), values)) == Status.MQ_OK
    queue = scene.queue
    assert (queue.label, queue.quota, queue.journaling) == ("new", 5, True)
    assert (queue.create_time, queue.modify_time) == (START, START + 9)
