# SPDX-License-Identifier: GPL-2.0-or-later
"""scapy's security providers talk to each other; what they exchange is printed as JSON, in an own process.

Argument: the provider (``ntlm``, ``aes128``, ``aes256``, ``rc4``). Printed: ``secrets``, and by name
(``bare`` or ``spnego``, authentication level, ``header`` or ``body`` for what is signed) the conversations:
``tokens`` (``from_client``, ``bytes``) and ``pdus``, cut, with the ``plain`` stub. Both sides send, in turns.
"""

from __future__ import annotations

import importlib
import json
import sys
from datetime import UTC, datetime
from typing import Any

_asn1: Any = importlib.import_module("scapy.asn1.asn1")
_gssapi: Any = importlib.import_module("scapy.layers.gssapi")
_kerberos: Any = importlib.import_module("scapy.layers.kerberos")
_ntlm: Any = importlib.import_module("scapy.layers.ntlm")
_spnego: Any = importlib.import_module("scapy.layers.spnego")
_rfc3961: Any = importlib.import_module("scapy.libs.rfc3961")

REALM, SERVICE, USER, PASSWORD = "CORP.EXAMPLE", "HOST/queue.corp.example", "alice", "Pa55w0rd"
STUBS = [b"", b"\x00\x01\x02\x03" * 4, b"", bytes(range(256)) * 16, b"sixteen bytes ok", bytes(32)]
ETYPES = {"aes128": 17, "aes256": 18, "rc4": 23}
FLAGS = (
    _gssapi.GSS_C_FLAGS.GSS_C_MUTUAL_FLAG
    | _gssapi.GSS_C_FLAGS.GSS_C_REPLAY_FLAG
    | _gssapi.GSS_C_FLAGS.GSS_C_SEQUENCE_FLAG
    | _gssapi.GSS_C_FLAGS.GSS_C_INTEG_FLAG
    | _gssapi.GSS_C_FLAGS.GSS_C_CONF_FLAG
    | _gssapi.GSS_C_FLAGS.GSS_C_DCE_STYLE
)


def kerberos(etype: int) -> tuple[Any, Any, list[Any]]:
    """Client, server and the keytab entry of a forged ticket."""
    size = 32 if etype == 18 else 16
    service_key = _rfc3961.Key(_rfc3961.EncryptionType(etype), bytes(range(1, 1 + size)))
    session_key = _rfc3961.Key(_rfc3961.EncryptionType(etype), bytes(range(64, 64 + size)))
    now = _asn1.ASN1_GENERALIZED_TIME(datetime.now(UTC).replace(microsecond=0))
    ticket = _kerberos.KRB_Ticket(
        realm=_asn1.ASN1_GENERAL_STRING(REALM.encode()),
        sname=_kerberos.PrincipalName.fromSPN(SERVICE),
        encPart=_kerberos.EncryptedData(kvno=_asn1.ASN1_INTEGER(3)),
    )
    part = _kerberos.EncTicketPart(
        flags=_asn1.ASN1_BIT_STRING("0" * 32),
        key=_kerberos.EncryptionKey.fromKey(session_key),
        crealm=_asn1.ASN1_GENERAL_STRING(REALM.encode()),
        cname=_kerberos.PrincipalName.fromUPN(f"{USER}@{REALM}"),
        transited=_kerberos.TransitedEncoding(trType=_asn1.ASN1_INTEGER(0), contents=_asn1.ASN1_STRING(b"")),
        authtime=now,
        starttime=now,
        endtime=now,
    )
    ticket.encPart.encrypt(service_key, part)
    # What was built holds texts as str, what was parsed as bytes; the providers want the latter.
    ticket = _kerberos.KRB_Ticket(bytes(ticket))
    spn = f"{SERVICE}@{REALM}"
    client = _kerberos.KerberosSSP(
        ST=ticket, KEY=session_key, UPN=f"{USER}@{REALM}", SPN=spn, SKEY_TYPE=_rfc3961.EncryptionType(etype)
    )
    server = _kerberos.KerberosSSP(KEY=service_key, SPN=spn, SKEY_TYPE=_rfc3961.EncryptionType(etype))
    return client, server, [spn, 3, etype, service_key.key.hex()]


def providers(provider: str) -> tuple[Any, Any, list[Any]]:
    """Client, server and keytab entries."""
    if provider == "ntlm":
        client: Any = _ntlm.NTLMSSP(UPN=f"{USER}@{REALM}", PASSWORD=PASSWORD)
        return client, _ntlm.NTLMSSP(IDENTITIES={USER: _ntlm.MD4le(PASSWORD)}), []
    client, server, entry = kerberos(ETYPES[provider])
    return client, server, [entry]


def conversation(provider: str, frame: str, level: int, signed: str) -> dict[str, Any]:
    """Run one conversation."""
    client, server, _keys = providers(provider)
    if frame == "spnego":
        client, server = _spnego.SPNEGOSSP([client]), _spnego.SPNEGOSSP([server])
    tokens = []
    client_context = server_context = answer = None
    for _ in range(4):
        client_context, token, _status = client.GSS_Init_sec_context(
            client_context, answer, target_name=SERVICE, req_flags=FLAGS
        )
        if token is None:
            break
        tokens.append({"from_client": True, "bytes": bytes(token).hex()})
        server_context, answer, _status = server.GSS_Accept_sec_context(server_context, token)
        if answer is None:
            break
        tokens.append({"from_client": False, "bytes": bytes(answer).hex()})
    pdus = []
    for index, stub in enumerate(STUBS * 2):
        from_client = index % 3 != 1
        sender, context = (client, client_context) if from_client else (server, server_context)
        header = b"\x05\x00\x00\x03\x10\x00\x00\x00" + bytes([index]) * 16
        trailer = bytes([sender.auth_type, level, 0, 0, 1, 0, 0, 0])
        whole = signed == "header"
        if level == 6:
            messages = [
                _gssapi.SSP.WRAP_MSG(conf_req_flag=False, sign=whole, data=header),
                _gssapi.SSP.WRAP_MSG(conf_req_flag=True, sign=True, data=stub),
                _gssapi.SSP.WRAP_MSG(conf_req_flag=False, sign=whole, data=trailer),
            ]
            messages, signature = sender.GSS_WrapEx(context, messages)
        else:
            messages = [
                _gssapi.SSP.MIC_MSG(sign=whole, data=header),
                _gssapi.SSP.MIC_MSG(sign=True, data=stub),
            ]
            messages.append(_gssapi.SSP.MIC_MSG(sign=whole, data=trailer))
            signature = sender.GSS_GetMICEx(context, messages)
        pdus.append(
            {
                "from_client": from_client,
                "header": header.hex(),
                "stub": messages[1].data.hex(),
                "trailer": trailer.hex(),
                "auth_value": bytes(signature).hex(),
                "plain": stub.hex(),
            }
        )
    return {"tokens": tokens, "pdus": pdus}


def main(provider: str) -> None:
    """Run every conversation that scapy can have with a provider, and print them."""
    reported: dict[str, Any] = {"secrets": {"password": PASSWORD, "keys": providers(provider)[2]}}
    # scapy has no MIC tokens of RC4.
    levels = (6,) if provider == "rc4" else (5, 6)
    for frame in ("bare", "spnego"):
        for level in levels:
            for signed in ("header", "body"):
                reported[f"{frame}-{level}-{signed}"] = conversation(provider, frame, level, signed)
    json.dump(reported, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
