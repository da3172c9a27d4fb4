"""ORPCTHIS, VARIANTs and OBJREFs against what tshark names in them; it knows no interface of MSMQ.

So the same bytes are put into calls that it opens: IDispatch::Invoke for variants, IActivation for pointers.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fixtures.build_com_scenes import (
    CAUSALITY,
    MESSAGE,
    MESSAGE_IPIDS,
    MISSING,
    OTHER_IPID,
    QUEUE_IPID,
    Objects,
    boolean,
    guid,
    interface_pointer,
    number,
    objref,
    orpc_that,
    orpc_this,
)
from fixtures.build_frames import pcap
from fixtures.build_scene import SERVER, Scene
from msmq_wire.rpc.com.activation import pointers_given
from msmq_wire.rpc.com.objref import decode_objref
from msmq_wire.rpc.com.orpc import ORPC_THIS
from msmq_wire.rpc.com.variant import VARIANT, variant_type_name
from msmq_wire.rpc.ndr import decode_stub
from msmq_wire.wire.types.guid import GUID

pytestmark = pytest.mark.tshark

DISPATCH = "00020400-0000-0000-c000-000000000046"
ACTIVATION = "4d9f4ab8-7d1c-11cf-861e-0020af6e7c57"
REFERENCE = objref(MESSAGE, MESSAGE_IPIDS[0], 0x1001, "MSG01", SERVER)
ARGUMENTS = (number(2500), boolean(True), MISSING)


def activated() -> bytes:
    """An answer of RemoteActivation, [MS-DCOM] 3.1.2.5.2.3.1, with one interface."""
    bindings = REFERENCE[64:]
    stub = (
        orpc_that() + struct.pack("<QII", 0x8A11B33C55D077EE, 0x00020000, len(bindings) // 2 - 2) + bindings
    )
    stub += bytes(-len(stub) & 3) + guid(OTHER_IPID) + struct.pack("<IHHI", 1, 5, 7, 0)
    stub += struct.pack("<I", 1) + interface_pointer(REFERENCE, 0x00020004)
    return stub + bytes(-len(stub) & 3) + struct.pack("<III", 1, 0, 0)


def invoked() -> bytes:
    """A request of Invoke, [MS-OAUT] 3.1.4.4: dispIdMember, riid, lcid, flags, three arguments, no others."""
    stub = orpc_this() + struct.pack("<I", 7) + bytes(16) + struct.pack("<II", 0x409, 1)
    stub += struct.pack("<IIII", 0x00020000, 0, 3, 0) + struct.pack("<I", 3) + b"User" * 3
    for argument in ARGUMENTS:
        stub += bytes(-len(stub) & 7) + argument
    return stub + bytes(-len(stub) & 3) + struct.pack("<IIII", 0, 0, 0, 0)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What tshark shows of each field, in order."""
    scene = Scene()
    activation = Objects(scene)
    activation.offer(ACTIVATION)
    activation.request(0, QUEUE_IPID, orpc_this())
    activation.response(activated())
    dispatch = Objects(scene, cport=50199)
    dispatch.offer(DISPATCH)
    dispatch.request(6, QUEUE_IPID, invoked())
    path = tmp_path_factory.mktemp("tshark") / "objects.pcap"
    path.write_bytes(pcap(scene.frames, scene.link_type))
    return dict(_fields(path))


def _fields(path: Path) -> Iterator[tuple[str, list[str]]]:
    command = ["tshark", "-r", str(path), "-T", "pdml"]
    document = subprocess.run(command, check=True, capture_output=True, timeout=120).stdout
    found: dict[str, list[str]] = {}
    for element in ElementTree.fromstring(document).iter("field"):
        found.setdefault(element.get("name", ""), []).append(element.get("show", ""))
    yield from found.items()


@pytest.mark.slow
def test_tshark_names_the_causality_of_a_request(reported: dict[str, list[str]]) -> None:
    this = decode_stub(ORPC_THIS, orpc_this()).value
    assert set(reported["dcom.this.uuid"]) == {str(this.cid)} == {CAUSALITY}
    assert set(reported["dcom.this.flags"]) == {f"0x{this.flags:08x}"}
    assert str(this.version.minor_version) in reported["dcom.version_minor"]


@pytest.mark.slow
def test_tshark_reads_the_same_variants(reported: dict[str, list[str]]) -> None:
    ours = [decode_stub(VARIANT, b"User" + bytes(4) + one).value for one in ARGUMENTS]
    assert reported["dcom.variant_size"] == [str(one.cl_size) for one in ours]
    assert reported["dcom.variant_type"] == [f"0x{one.vt:04x}" for one in ours]
    assert [variant_type_name(one.vt) for one in ours] == ["VT_I4", "VT_BOOL", "VT_ERROR"]
    assert reported["dcom.vt.i4"] == [str(ours[0].arm)] == ["2500"]
    assert reported["dcom.vt.bool"] == [f"0x{ours[1].arm & 0xFFFF:04x}"]
    assert f"0x{ours[2].arm:08x}" in reported["dcom.hresult"]


def test_tshark_reads_the_same_interface_pointer(reported: dict[str, list[str]]) -> None:
    found = decode_objref(REFERENCE)
    std, resolver = found.std, found.resolver
    assert std is not None
    assert resolver is not None
    assert reported["dcom.objref.flags"] == [f"0x{found.kind:08x}"]
    assert str(found.iid) in reported["dcom.iid"]
    assert reported["dcom.oxid"][-1] == f"0x{std.oxid:016x}"
    assert reported["dcom.oid"] == [f"0x{std.oid:016x}"]
    assert str(std.ipid) in reported["dcom.ipid"]
    # tshark shows them twice: for the exporter and in the pointer.
    addresses = [one.network_address for one in resolver.string_bindings]
    assert reported["dcom.dualstringarray.network_addr"] == addresses * 2 == ["MSG01", SERVER] * 2
    principals = [one.principal_name for one in resolver.security_bindings]
    assert reported["dcom.dualstringarray.security_princ_name"] == principals * 2


def test_the_interface_that_tshark_sees_activated_is_the_one_that_is_learned(
    reported: dict[str, list[str]],
) -> None:
    ((ipid, iid, _),) = pointers_given(GUID.parse(ACTIVATION), 0, b"", activated())
    assert str(ipid) in reported["dcom.ipid"]
    assert str(iid) in reported["dcom.iid"]
