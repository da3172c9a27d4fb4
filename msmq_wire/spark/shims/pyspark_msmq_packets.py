"""Lets pyspark find the data source ``msmq-packets`` without registration."""

from __future__ import annotations

from msmq_wire.spark.sources import MsmqPackets as DefaultSource

__all__ = ["DefaultSource"]
