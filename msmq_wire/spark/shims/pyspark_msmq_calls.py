"""Lets pyspark find the data source ``msmq-calls`` without registration."""

from __future__ import annotations

from msmq_wire.spark.sources import MsmqCalls as DefaultSource

__all__ = ["DefaultSource"]
