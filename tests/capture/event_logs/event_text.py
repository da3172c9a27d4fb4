"""Events of Windows as XML, written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

MSMQ = "Microsoft-Windows-MSMQ"
END2END = f"{MSMQ}/End2End"
SECOND = 10**9


def event_text(
    record_id: int | None,
    time: int,
    data: Sequence[str],
    *,
    computer: str = "MSG01.corp.example",
    event_id: int = 1,
    channel: str = END2END,
    provider: str = MSMQ,
) -> str:
    """One event; ``time`` is ns since 1970."""
    clock = f"{datetime.fromtimestamp(time // SECOND, UTC):%Y-%m-%dT%H:%M:%S}.{time % SECOND // 100:07d}Z"
    number = "" if record_id is None else f"<EventRecordID>{record_id}</EventRecordID>"
    texts = "".join(f"<Data>{text}</Data>" for text in data)
    return (
        '<Event xmlns="http://schemas.microsoft.com/win/2004/08/events/event"><System>'
        f'<Provider Name="{provider}"/><EventID>{event_id}</EventID><Version>0</Version>'
        f'<TimeCreated SystemTime="{clock}"/>{number}<Channel>{channel}</Channel>'
        f"<Computer>{computer}</Computer></System><EventData>{texts}</EventData></Event>"
    )
