"""The columnar engine: a batch of packets in, columns out."""

from __future__ import annotations

from msmq_wire.engines.columns.engine import Proven, decode, proven
from msmq_wire.engines.columns.tables import UNRECOGNISED, ColumnBatch, Table

__all__ = ["UNRECOGNISED", "ColumnBatch", "Proven", "Table", "decode", "proven"]
