"""HTTP as SRMP messages travel in it: connections, the framer of one direction, messages."""

from __future__ import annotations

from msmq_wire.srmp.http.connection import HttpConnection, parse_message

__all__ = ["HttpConnection", "parse_message"]
