"""ActiveX objects in bodies: a class id and what the object wrote, or a compound file.

The rule kept here: the class is named, never looked up and never made.
"""

from __future__ import annotations

from msmq_wire.records.bodies.body import Body, BodyKinds
from msmq_wire.wire.types.guid import GUID

KINDS = (
    BodyKinds(
        ("activex_object",),
        "VT_STREAMED_OBJECT with a class id; VT_STORED_OBJECT with a compound file",
        "the class id, its name if it is known, what the state is",
    ),
)

_CLASSES = {
    "00000535-0000-0010-8000-00aa006d2ea4": "ADODB.Recordset",
    "2933bf90-7b36-11d2-b20e-00c04f983e60": "Microsoft.XMLDOM",
    "f5078f32-c551-11d3-89b9-0000f81fe221": "Msxml2.DOMDocument.3.0",
}
_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")


def streamed_object(data: bytes) -> Body | None:
    """A body of type VT_STREAMED_OBJECT: 16 bytes of class id, then the state of the object."""
    if len(data) < 16:
        return None
    return _object(str(GUID(data[:16])), "streamed", "bin")


def state_of(data: bytes) -> bytes:
    """What a streamed object wrote after its class id."""
    return data[16:]


def stored_object(data: bytes) -> Body | None:
    """A body of type VT_STORED_OBJECT: a compound file whose root entry has the class id ([MS-CFB] 2.6.1)."""
    if data[:8] != _COMPOUND_FILE or len(data) < 512:
        return None
    shift = int.from_bytes(data[30:32], "little")
    if shift not in (9, 12):
        return None
    # The header takes the place of sector -1; the class id is 80 bytes into the root entry.
    at = (int.from_bytes(data[48:52], "little") + 1 << shift) + 80
    class_id = data[at : at + 16]
    return _object(str(GUID(class_id)) if len(class_id) == 16 else "", "stored", "ole")


def _object(class_id: str, form: str, extension: str) -> Body:
    name = _CLASSES.get(class_id, "")
    rows = [("form", form)]
    if class_id:
        rows.append(("class_id", class_id))
    if name:
        rows.append(("class", name))
    return Body(
        kind="activex_object",
        confidence="declared",
        title=f"ActiveX object {name or class_id}".rstrip(),
        details=tuple(rows),
        extension=extension,
    )
