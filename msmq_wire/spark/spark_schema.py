"""Arrow schemas as Spark schemas."""

from __future__ import annotations

from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType


def spark_schema(schema: Any) -> StructType:
    """The Spark schema of an Arrow schema of ours; what a column means is its comment."""
    found = from_arrow_schema(schema)
    said = [one.metadata.get(b"doc") or one.metadata[b"comment"] for one in schema]
    return StructType(
        [
            StructField(one.name, one.dataType, one.nullable, {"comment": comment.decode()})
            for one, comment in zip(found.fields, said, strict=True)
        ]
    )
