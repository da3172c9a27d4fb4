"""Lets pyspark find the data source ``msmq-carved`` without registration."""

from __future__ import annotations

from msmq_wire.spark.sources import MsmqCarved as DefaultSource

__all__ = ["DefaultSource"]
