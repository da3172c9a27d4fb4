"""An impacket client talks to a scripted server and prints its PDUs as JSON; run in a process of its own.

Arguments: mechanism (``ntlm``, ``anonymous``, ``aes128``, ``aes256``, ``rc4``) and level (5 or 6).
The server answers only as far as the handshake needs it. Printed: ``secrets`` (password, keytab entries),
``account``, ``pdus`` (``from_client``, ``bytes``) and ``stubs`` (what the client put into its requests).
"""

from __future__ import annotations

import datetime
import importlib
import json
import struct
import sys
from typing import Any

_rpcrt: Any = importlib.import_module("impacket.dcerpc.v5.rpcrt")
_constants: Any = importlib.import_module("impacket.krb5.constants")
_asn1: Any = importlib.import_module("impacket.krb5.asn1")
_crypto: Any = importlib.import_module("impacket.krb5.crypto")
_types: Any = importlib.import_module("impacket.krb5.types")
_spnego: Any = importlib.import_module("impacket.spnego")
_encode: Any = importlib.import_module("pyasn1.codec.der.encoder").encode
_no_value: Any = importlib.import_module("pyasn1.type.univ").noValue

REALM, SERVICE, USER, PASSWORD = "CORP.EXAMPLE", "HOST/queue.corp.example", "alice", "Pa55w\u00f6rd"
STUBS = [b"", b"\x00\x01\x02\x03" * 4, bytes(range(256)) * 9 + b"abc", b"", b"last"]
ETYPES = {"aes128": 17, "aes256": 18, "rc4": 23}
INTERFACE = bytes.fromhex("dd34911a397bba45ad8844d01ca47f28") + struct.pack("<HH", 1, 0)
NDR = bytes.fromhex("045d888aeb1cc9119fe808002b104860") + struct.pack("<I", 2)
CHALLENGE_FLAGS = (
    0xE28A8235  # 128, 56, key exchange, target information, extended session security, sign, seal
)


class ScriptedServer:
    """What `DCERPC_v5` needs of a transport; every PDU of both sides is kept."""

    def __init__(self, tokens: list[bytes], auth_type: int, level: int) -> None:
        self._tokens = tokens
        self._trailer = (auth_type, level)
        self.pdus: list[dict[str, Any]] = []
        self._asked = b""

    def send(self, data: bytes, forceWriteAndx: int = 0, forceRecv: int = 0) -> None:
        self._asked = bytes(data)
        self.pdus.append({"from_client": True, "bytes": self._asked.hex()})

    def recv(self, forceRecv: int = 0, count: int = 0) -> bytes:
        kind = 12 if self._asked[2] == 11 else 15
        token = self._tokens.pop(0)
        # Sizes, association group, an empty secondary address, one accepted context.
        body = struct.pack("<HHIH", 4280, 4280, 1, 0) + b"\0\0" + struct.pack("<BBHHH", 1, 0, 0, 0, 0) + NDR
        body += struct.pack("<BBBBI", *self._trailer, 0, 0, 79231) + token
        header = struct.pack("<BBBBIHHI", 5, 0, kind, 3, 0x10, 16 + len(body), len(token), self._asked[12])
        self.pdus.append({"from_client": False, "bytes": (header + body).hex()})
        return header + body

    def get_credentials(self) -> tuple[Any, ...]:
        raise AssertionError("credentials are set on the client")

    def get_connect_timeout(self) -> int:
        return 1

    def doesSupportNTLMv2(self) -> bool:
        return True

    def getRemoteName(self) -> str:
        return "queue.corp.example"

    def get_kdcHost(self) -> None:
        return None


def ntlm_challenge() -> bytes:
    """A CHALLENGE_MESSAGE written by hand; the client wants a DNS host name among the target information."""
    pairs = b"".join(
        struct.pack("<HH", number, 2 * len(text)) + text.encode("utf-16-le")
        for number, text in ((2, "CORP"), (1, "QUEUE"), (3, "queue.corp.example"))
    )
    pairs += struct.pack("<HHQ", 7, 8, 133_000_000_000_000_000) + bytes(4)
    target = "CORP".encode("utf-16-le")
    fields = (
        struct.pack("<HHII", len(target), len(target), 56, CHALLENGE_FLAGS)
        + b"\x01\x23\x45\x67\x89\xab\xcd\xef"
    )
    fields += bytes(8) + struct.pack("<HHI", len(pairs), len(pairs), 56 + len(target)) + bytes(8)
    return b"NTLMSSP\0" + struct.pack("<I", 2) + fields + target + pairs


def forged_ticket(etype: int, service_key: bytes, session_key: bytes) -> bytes:
    """A TGS-REP with a service ticket sealed for the service."""
    now = datetime.datetime.now(datetime.UTC)
    part = _asn1.EncTicketPart()
    part["flags"] = _constants.encodeFlags([])
    part["key"] = _no_value
    part["key"]["keytype"], part["key"]["keyvalue"] = etype, session_key
    part["crealm"] = REALM
    _asn1.seq_set(part, "cname", _types.Principal(USER, type=1).components_to_asn1)
    part["transited"] = _no_value
    part["transited"]["tr-type"], part["transited"]["contents"] = 0, b""
    for name in ("authtime", "starttime", "endtime"):
        part[name] = _types.KerberosTime.to_asn1(now)
    cipher = _crypto._enctype_table[etype]
    sealed = cipher.encrypt(_crypto.Key(etype, service_key), 2, _encode(part), None)
    reply = _asn1.TGS_REP()
    reply["pvno"], reply["msg-type"], reply["crealm"] = 5, 13, REALM
    _asn1.seq_set(reply, "cname", _types.Principal(USER, type=1).components_to_asn1)
    for part_name, data in (("ticket", None), ("enc-part", b"unused")):
        reply[part_name] = _no_value
        if data is not None:
            reply[part_name]["etype"], reply[part_name]["cipher"] = etype, data
    reply["ticket"]["tkt-vno"], reply["ticket"]["realm"] = 5, REALM
    _asn1.seq_set(reply["ticket"], "sname", _types.Principal(SERVICE, type=2).components_to_asn1)
    reply["ticket"]["enc-part"] = _no_value
    reply["ticket"]["enc-part"]["etype"], reply["ticket"]["enc-part"]["kvno"] = etype, 3
    reply["ticket"]["enc-part"]["cipher"] = sealed
    return bytes(_encode(reply))


def ap_rep(etype: int, session_key: bytes, subkey: bytes) -> bytes:
    """The server's answer in DCE style, inside SPNEGO."""
    part = _asn1.EncAPRepPart()
    part["ctime"], part["cusec"] = _types.KerberosTime.to_asn1(datetime.datetime.now(datetime.UTC)), 0
    part["subkey"] = _no_value
    part["subkey"]["keytype"], part["subkey"]["keyvalue"] = etype, subkey
    part["seq-number"] = 77
    reply = _asn1.AP_REP()
    reply["pvno"], reply["msg-type"] = 5, 15
    reply["enc-part"] = _no_value
    reply["enc-part"]["etype"] = etype
    reply["enc-part"]["cipher"] = _crypto._enctype_table[etype].encrypt(
        _crypto.Key(etype, session_key), 12, _encode(part), None
    )
    answer = _spnego.SPNEGO_NegTokenResp()
    answer["ResponseToken"] = _encode(reply)
    return bytes(answer.getData())


def main(mechanism: str, level: int) -> None:
    """Run one conversation and print it."""
    secrets: dict[str, Any] = {"password": PASSWORD, "keys": []}
    if mechanism in ("ntlm", "anonymous"):
        server = ScriptedServer([ntlm_challenge()], _rpcrt.RPC_C_AUTHN_WINNT, level)
        client = _rpcrt.DCERPC_v5(server)
        named = mechanism == "ntlm"
        client.set_credentials(USER if named else "", PASSWORD if named else "", "CORP" if named else "")
        client.set_auth_type(_rpcrt.RPC_C_AUTHN_WINNT)
        account = "CORP\\alice" if named else "ANONYMOUS LOGON"
    else:
        etype = ETYPES[mechanism]
        size = 32 if etype == 18 else 16
        service_key, session_key, subkey = (bytes(range(start, start + size)) for start in (1, 64, 128))
        reply = forged_ticket(etype, service_key, session_key)
        secrets["keys"] = [[f"{SERVICE}@{REALM}", 3, etype, service_key.hex()]]
        tokens = [ap_rep(etype, session_key, subkey), bytes.fromhex("a1073005a0030a0100")]
        server = ScriptedServer(tokens, _rpcrt.RPC_C_AUTHN_GSS_NEGOTIATE, level)
        client = _rpcrt.DCERPC_v5(server)
        given = {
            "KDC_REP": reply,
            "cipher": _crypto._enctype_table[etype],
            "sessionKey": _crypto.Key(etype, session_key),
        }
        client.set_credentials(USER, "", REALM, TGS=given)
        client.set_auth_type(_rpcrt.RPC_C_AUTHN_GSS_NEGOTIATE)
        account = f"{USER}@{REALM}"
    client.set_auth_level(level)
    client.bind(INTERFACE)
    for stub in STUBS:
        client.call(7, stub)
    stubs = [stub.hex() for stub in STUBS]
    json.dump({"secrets": secrets, "account": account, "pdus": server.pdus, "stubs": stubs}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
