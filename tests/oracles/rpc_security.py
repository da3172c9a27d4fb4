# SPDX-License-Identifier: GPL-2.0-or-later
"""The accepting side of NTLM and Kerberos for `rpc_server`, by scapy's security providers.

[MS-RPCE] 3.3.1.5.2: the PDU header, its body and the sec_trailer go to the provider in this order; the body
with its padding is sealed at privacy, and the header and trailer are signed when header signing is in use.
"""

from __future__ import annotations

import importlib
from typing import Any

from tests.oracles.rpc_conversation import KERBEROS, NTLM, PRIVACY, SPNEGO

_gssapi: Any = importlib.import_module("scapy.layers.gssapi")
_ntlm: Any = importlib.import_module("scapy.layers.ntlm")
_kerberos: Any = importlib.import_module("scapy.layers.kerberos")
_spnego: Any = importlib.import_module("scapy.layers.spnego")
_keys: Any = importlib.import_module("scapy.libs.rfc3961")


def _ntlm_provider(user: str, password: str) -> Any:
    return _ntlm.NTLMSSP(
        IDENTITIES={user: _ntlm.MD4le(password)},
        DOMAIN_FQDN="corp.example",
        DOMAIN_NB_NAME="CORP",
        COMPUTER_NB_NAME="SRV01",
        COMPUTER_FQDN="srv01.corp.example",
    )


class _NumberedKerberos(_kerberos.KerberosSSP):  # type: ignore[misc]  # scapy has no type information
    """KerberosSSP whose AP-REP carries a sequence number: impacket insists on one."""

    def GSS_Accept_sec_context(self, Context: Any, input_token: Any = None, **options: Any) -> Any:
        context, token, status = super().GSS_Accept_sec_context(Context, input_token, **options)
        if isinstance(token, _kerberos.KRB_AP_REP):
            part = token.encPart.decrypt(context.STSessionKey)
            part.seqNumber = 0
            token = _kerberos.KRB_AP_REP(encPart=_kerberos.EncryptedData())
            token.encPart.encrypt(context.STSessionKey, part)
        return context, token, status


def _kerberos_provider(principal: str, encryption_type: int, key: bytes) -> Any:
    kind = _keys.EncryptionType(encryption_type)
    return _NumberedKerberos(SPN=principal, KEY=_keys.Key(kind, key=key), SKEY_TYPE=kind)


class Acceptor:
    """One security context of an association."""

    def __init__(self, authentication_type: int, level: int, secrets: dict[str, Any]) -> None:
        if "password" in secrets:
            provider = _ntlm_provider(secrets["user"], secrets["password"])
        else:
            key = bytes.fromhex(secrets["key"])
            provider = _kerberos_provider(secrets["principal"], secrets["encryption_type"], key)
        self._provider = _spnego.SPNEGOSSP([provider]) if authentication_type == SPNEGO else provider
        self._authentication_type = authentication_type
        self.level = level
        self.header_sign = False
        self._context: Any = None
        self.complete = False

    def accept(self, token: bytes) -> bytes:
        """The next token for the client, empty where none is due. Raises ValueError when it is refused."""
        kinds = {NTLM: _ntlm.NTLM_Header, KERBEROS: _kerberos.Kerberos, SPNEGO: _gssapi.GSSAPI_BLOB}
        parsed = kinds[self._authentication_type](token)
        self._context, answer, status = self._provider.GSS_Accept_sec_context(self._context, parsed)
        if status not in (_gssapi.GSS_S_COMPLETE, _gssapi.GSS_S_CONTINUE_NEEDED):
            raise ValueError(f"authentication refused: {status}")
        self.complete = status == _gssapi.GSS_S_COMPLETE
        return b"" if answer is None else bytes(answer)

    def _parts(self, header: bytes, body: bytes, trailer: bytes) -> list[Any]:
        sealed = self.level == PRIVACY
        kind = _gssapi.SSP.WRAP_MSG if sealed else _gssapi.SSP.MIC_MSG
        confidential = ({"conf_req_flag": flag} if sealed else {} for flag in (False, True, False))
        signed = (self.header_sign, True, self.header_sign)
        return [
            kind(sign=sign, data=data, **flag)
            for sign, data, flag in zip(signed, (header, body, trailer), confidential, strict=True)
        ]

    def open(self, header: bytes, body: bytes, trailer: bytes, token: bytes) -> bytes:
        """The plain body. Raises ValueError when the signature is wrong."""
        signature = self._signature(token)
        if self.level == PRIVACY:
            parts = self._provider.GSS_UnwrapEx(self._context, self._parts(header, body, trailer), signature)
            plain: bytes = parts[1].data
            return plain
        self._provider.GSS_VerifyMICEx(self._context, self._parts(header, body, trailer), signature)
        return body

    def _signature(self, token: bytes) -> Any:
        kinds = {
            NTLM: _ntlm.NTLMSSP_MESSAGE_SIGNATURE,
            KERBEROS: _kerberos.KRB_InnerToken,
            SPNEGO: _gssapi.GSSAPI_BLOB_SIGNATURE,
        }
        return kinds[self._authentication_type](token)

    def token_size(self) -> int:
        """Octets of the token of a PDU."""
        size: int = self._provider.MaximumSignatureLength(self._context)
        return size

    def close(self, header: bytes, body: bytes, trailer: bytes) -> tuple[bytes, bytes]:
        """The body as sent, and its token."""
        parts = self._parts(header, body, trailer)
        if self.level == PRIVACY:
            parts, token = self._provider.GSS_WrapEx(self._context, parts)
            return parts[1].data, bytes(token)
        return body, bytes(self._provider.GSS_GetMICEx(self._context, parts))
