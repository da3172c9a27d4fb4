"""What the engines generate, shown on a small structure."""

from __future__ import annotations

from msmq_wire.engines import must_checks
from msmq_wire.engines.rows import engine as rows
from msmq_wire.engines.text import json
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName

__all__ = ["blocks"]


def blocks() -> dict[str, str]:
    """The blocks of the page on engines."""
    cls = DirectQueueFormatName
    return {
        "rows": f"```python\n{rows.source(cls).strip()}\n```",
        "judging": f"```python\n{must_checks.source(cls).strip()}\n```",
        "json": f"```python\n{json.source(cls).strip()}\n```",
    }
