"""The columnar engine: a batch of packets in, columns out."""

from __future__ import annotations

from msmq_wire.engines.columns.batch_tables import UNRECOGNISED, ColumnBatch, ColumnTable
from msmq_wire.engines.columns.engine import ProvenPackets, decode, proven

__all__ = ["UNRECOGNISED", "ColumnBatch", "ColumnTable", "ProvenPackets", "decode", "proven"]
