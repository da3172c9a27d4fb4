"""`BinarySettings`: the timers and bounds of the binary protocol. [MS-MQQB] 3.1.2, appendix A"""

from __future__ import annotations

import msgspec

from msmq_wire.reassembly.packet_framer import MAX_PENDING


class BinarySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the text leaves to configuration; the defaults are those of its notes.

    Milliseconds, but ``resend_intervals`` (ResendTimerTable, note 24) in seconds. ``window_size`` is
    WindowSize (note 50), ``ack_wait_timeout`` AckWaitTimeout (51), ``direct_ack_wait_multiple`` what it is
    multiplied with for direct names (46), ``history_size`` the entries of MessageIDHistoryTable (25) and
    ``history_lifetime`` the duration of its timer (47), ``send_insecure_nacks`` SendInsecureNacks (28).
    ``most_packet_bytes`` bounds a packet.
    """

    window_size: int = 64
    ack_wait_timeout: int = 20_000
    direct_ack_wait_multiple: int = 2
    initialization_timeout: int = 60_000
    cleanup_interval: int = 300_000
    retry_interval: int = 5_000
    order_ack_timeout: int = 500
    maximum_order_ack_delay: int = 10_000
    resend_intervals: tuple[int, ...] = (30, 30, 30, 300, 300, 300, 1800, 1800, 1800, 21_600)
    history_size: int = 10_000
    history_lifetime: int = 1_800_000
    send_insecure_nacks: bool = False
    most_packet_bytes: int = MAX_PENDING
