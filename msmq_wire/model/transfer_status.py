"""The codes with which only applications that send and receive are answered. [MS-MQMQ] 2.4"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["TransferFault", "TransferStatus"]


class TransferStatus(IntEnum):
    """HRESULT, by their symbols."""

    MQ_ERROR_SENDER_CERT_BUFFER_TOO_SMALL = 0xC00E002B
    MQ_ERROR_CORRUPTED_SECURITY_DATA = 0xC00E0030
    MQ_ERROR_STALE_HANDLE = 0xC00E0056
    MQ_ERROR_LABEL_BUFFER_TOO_SMALL = 0xC00E005E
    MQ_ERROR_SYMM_KEY_BUFFER_TOO_SMALL = 0xC00E0061
    MQ_ERROR_SIGNATURE_BUFFER_TOO_SMALL = 0xC00E0062
    MQ_ERROR_PROV_NAME_BUFFER_TOO_SMALL = 0xC00E0063
    MQ_ERROR_ILLEGAL_OPERATION = 0xC00E0064
    MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE = 0xC00E0069
    MQ_ERROR_CERTIFICATE_NOT_PROVIDED = 0xC00E006D
    STATUS_RETRY = 0xC000022D


class TransferFault(IntEnum):
    """Faults of the RPC runtime, which sees to the bounds of the interface."""

    RPC_X_BAD_STUB_DATA = 0x000006F7
