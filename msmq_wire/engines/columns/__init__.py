"""The columnar engine: a batch of packets in, columns out."""

from __future__ import annotations

from msmq_wire.engines.columns.engine import UNRECOGNISED, ColumnBatch, Proven, Table, decode, proven

__all__ = ["UNRECOGNISED", "ColumnBatch", "Proven", "Table", "decode", "proven"]
