"""Forged Kerberos tickets (RFC 4120 5.3) and keytabs (format 0x0502): with a chosen service key, no KDC."""

from __future__ import annotations

import datetime
import importlib
import os
import struct
from typing import Any

_asn1: Any = importlib.import_module("impacket.krb5.asn1")
_constants: Any = importlib.import_module("impacket.krb5.constants")
_crypto: Any = importlib.import_module("impacket.krb5.crypto")
_types: Any = importlib.import_module("impacket.krb5.types")
_encoder: Any = importlib.import_module("pyasn1.codec.der.encoder")
_univ: Any = importlib.import_module("pyasn1.type.univ")

AES128, AES256, RC4 = 17, 18, 23
_KEY_VERSION = 2


def _name(kind: int, text: str) -> Any:
    return _types.Principal(text, type=kind).components_to_asn1


def _encrypted(part: Any, kind: int, cipher: bytes) -> None:
    part["etype"] = kind
    part["kvno"] = _KEY_VERSION
    part["cipher"] = cipher


def service_ticket(secrets: dict[str, Any]) -> dict[str, Any]:
    """A ticket for ``secrets["principal"]`` as impacket takes it, and the ticket alone."""
    kind, realm = secrets["encryption_type"], secrets["realm"]
    cipher = _crypto._enctype_table[kind]
    service_key = _crypto.Key(kind, bytes.fromhex(secrets["key"]))
    session_key = _crypto.Key(kind, os.urandom(len(service_key.contents)))
    now = datetime.datetime.now(datetime.UTC)
    part = _asn1.EncTicketPart()
    # forwardable, renewable, pre-authent
    part["flags"] = _constants.encodeFlags([1, 8, 10])
    part["key"] = _univ.noValue
    part["key"]["keytype"] = kind
    part["key"]["keyvalue"] = session_key.contents
    part["crealm"] = realm
    _asn1.seq_set(part, "cname", _name(1, secrets["user"]))
    part["transited"] = _univ.noValue
    part["transited"]["tr-type"] = 0
    part["transited"]["contents"] = b""
    part["authtime"] = _types.KerberosTime.to_asn1(now)
    part["starttime"] = _types.KerberosTime.to_asn1(now)
    part["endtime"] = _types.KerberosTime.to_asn1(now + datetime.timedelta(hours=10))
    sealed = cipher.encrypt(service_key, 2, _encoder.encode(part), None)
    reply = _asn1.TGS_REP()
    reply["pvno"] = 5
    reply["msg-type"] = 13
    reply["crealm"] = realm
    _asn1.seq_set(reply, "cname", _name(1, secrets["user"]))
    reply["ticket"] = _univ.noValue
    reply["ticket"]["tkt-vno"] = 5
    reply["ticket"]["realm"] = realm
    _asn1.seq_set(reply["ticket"], "sname", _name(2, secrets["principal"]))
    _encrypted(reply["ticket"]["enc-part"], kind, sealed)
    # The part for the client is not read: its session key is handed over beside it.
    _encrypted(reply["enc-part"], kind, b"\0" * 16)
    tagged = _encoder.encode(reply["ticket"])
    # Without the context tag that a TGS-REP puts around it.
    ticket = tagged[2 + (tagged[1] & 0x7F if tagged[1] & 0x80 else 0) :]
    return {"KDC_REP": _encoder.encode(reply), "cipher": cipher, "sessionKey": session_key, "ticket": ticket}


def keytab(entries: list[dict[str, Any]]) -> bytes:
    """A keytab with the service keys of ``entries``."""
    found = b"\x05\x02"

    def counted(text: str) -> bytes:
        return struct.pack(">H", len(text)) + text.encode()

    for entry in entries:
        components = entry["principal"].split("/")
        key = bytes.fromhex(entry["key"])
        body = struct.pack(">H", len(components)) + counted(entry["realm"])
        body += b"".join(counted(each) for each in components)
        body += struct.pack(">IIB", 2, 0, _KEY_VERSION)
        body += struct.pack(">HH", entry["encryption_type"], len(key)) + key + struct.pack(">I", _KEY_VERSION)
        found += struct.pack(">i", len(body)) + body
    return found
