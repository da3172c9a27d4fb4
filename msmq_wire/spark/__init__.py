"""Captures as tables of Spark: data sources, the job that fills Parquet tables, and queries over them.

``register(spark)`` makes ``msmq-packets``, ``msmq-messages``, ``msmq-calls``, ``msmq-carved`` and
``msmq-tables`` known to a session. Needs the extra ``spark`` and Java 17; importing this package loads
neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make the data sources known to a session."""
    from msmq_wire.spark.sources import MsmqCalls, MsmqCarved, MsmqMessages, MsmqPackets
    from msmq_wire.spark.table_source import MsmqTables

    for source in (MsmqPackets, MsmqMessages, MsmqCalls, MsmqCarved, MsmqTables):
        spark.dataSource.register(source)
