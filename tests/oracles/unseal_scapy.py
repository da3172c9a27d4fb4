"""scapy's security providers talk to each other and print what they exchange as JSON; run in a process of its own.

Argument: the provider (``ntlm``, ``aes128``, ``aes256``, ``rc4``). Printed: ``secrets``, and by name
(``bare`` or ``spnego``, authentication level, ``header`` or ``body`` for what is signed) the conversations:
``tokens`` (``from_client``, ``bytes``) and ``pdus``, cut, with the ``plain`` stub. Both sides send, in turns.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from typing import Any

from scapy.asn1.asn1 import (
    ASN1_BIT_STRING,
    ASN1_GENERAL_STRING,
    ASN1_GENERALIZED_TIME,
    ASN1_INTEGER,
    ASN1_STRING,
)
from scapy.layers.gssapi import GSS_C_FLAGS, SSP
from scapy.layers.kerberos import (
    EncryptedData,
    EncryptionKey,
    EncTicketPart,
    KerberosSSP,
    KRB_Ticket,
    PrincipalName,
    TransitedEncoding,
)
from scapy.layers.ntlm import MD4le, NTLMSSP
from scapy.layers.spnego import SPNEGOSSP
from scapy.libs.rfc3961 import EncryptionType, Key

REALM, SERVICE, USER, PASSWORD = "CORP.EXAMPLE", "HOST/queue.corp.example", "alice", "Pa55w0rd"
STUBS = [b"", b"\x00\x01\x02\x03" * 4, b"", bytes(range(256)) * 16, b"sixteen bytes ok", bytes(32)]
ETYPES = {"aes128": 17, "aes256": 18, "rc4": 23}
FLAGS = (
    GSS_C_FLAGS.GSS_C_MUTUAL_FLAG
    | GSS_C_FLAGS.GSS_C_REPLAY_FLAG
    | GSS_C_FLAGS.GSS_C_SEQUENCE_FLAG
    | GSS_C_FLAGS.GSS_C_INTEG_FLAG
    | GSS_C_FLAGS.GSS_C_CONF_FLAG
    | GSS_C_FLAGS.GSS_C_DCE_STYLE
)


def kerberos(etype: int) -> tuple[Any, Any, list[Any]]:
    """Client, server and the keytab entry of a forged ticket."""
    size = 32 if etype == 18 else 16
    service_key = Key(EncryptionType(etype), bytes(range(1, 1 + size)))
    session_key = Key(EncryptionType(etype), bytes(range(64, 64 + size)))
    now = ASN1_GENERALIZED_TIME(datetime.now(timezone.utc).replace(microsecond=0))
    ticket = KRB_Ticket(
        realm=ASN1_GENERAL_STRING(REALM.encode()),
        sname=PrincipalName.fromSPN(SERVICE),
        encPart=EncryptedData(kvno=ASN1_INTEGER(3)),
    )
    part = EncTicketPart(
        flags=ASN1_BIT_STRING("0" * 32),
        key=EncryptionKey.fromKey(session_key),
        crealm=ASN1_GENERAL_STRING(REALM.encode()),
        cname=PrincipalName.fromUPN(f"{USER}@{REALM}"),
        transited=TransitedEncoding(trType=ASN1_INTEGER(0), contents=ASN1_STRING(b"")),
        authtime=now,
        starttime=now,
        endtime=now,
    )
    ticket.encPart.encrypt(service_key, part)
    # What was built holds texts as str, what was parsed as bytes; the providers want the latter.
    ticket = KRB_Ticket(bytes(ticket))
    spn = f"{SERVICE}@{REALM}"
    client = KerberosSSP(
        ST=ticket, KEY=session_key, UPN=f"{USER}@{REALM}", SPN=spn, SKEY_TYPE=EncryptionType(etype)
    )
    server = KerberosSSP(KEY=service_key, SPN=spn, SKEY_TYPE=EncryptionType(etype))
    return client, server, [spn, 3, etype, service_key.key.hex()]


def providers(provider: str) -> tuple[Any, Any, list[Any]]:
    """Client, server and keytab entries."""
    if provider == "ntlm":
        client: Any = NTLMSSP(UPN=f"{USER}@{REALM}", PASSWORD=PASSWORD)
        return client, NTLMSSP(IDENTITIES={USER: MD4le(PASSWORD)}), []
    client, server, entry = kerberos(ETYPES[provider])
    return client, server, [entry]


def conversation(provider: str, frame: str, level: int, signed: str) -> dict[str, Any]:
    """Run one conversation."""
    client, server, _keys = providers(provider)
    if frame == "spnego":
        client, server = SPNEGOSSP([client]), SPNEGOSSP([server])
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
                SSP.WRAP_MSG(conf_req_flag=False, sign=whole, data=header),
                SSP.WRAP_MSG(conf_req_flag=True, sign=True, data=stub),
                SSP.WRAP_MSG(conf_req_flag=False, sign=whole, data=trailer),
            ]
            messages, signature = sender.GSS_WrapEx(context, messages)
        else:
            messages = [SSP.MIC_MSG(sign=whole, data=header), SSP.MIC_MSG(sign=True, data=stub)]
            messages.append(SSP.MIC_MSG(sign=whole, data=trailer))
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
    told: dict[str, Any] = {"secrets": {"password": PASSWORD, "keys": providers(provider)[2]}}
    # scapy has no MIC tokens of RC4.
    levels = (6,) if provider == "rc4" else (5, 6)
    for frame in ("bare", "spnego"):
        for level in levels:
            for signed in ("header", "body"):
                told[f"{frame}-{level}-{signed}"] = conversation(provider, frame, level, signed)
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
