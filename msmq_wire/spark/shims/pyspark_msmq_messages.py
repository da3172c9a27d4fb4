"""Lets pyspark find the data source ``msmq-messages`` without registration."""

from __future__ import annotations

from msmq_wire.spark.sources import MsmqMessages as DefaultSource

__all__ = ["DefaultSource"]
