"""Hypothesis strategies, derived from the declarations (extra ``fuzz``).

``structure(stem)`` draws values that encode, decode to themselves and break no MUST; ``edge(stem)`` draws
values at the ends of their fields' ranges; ``mutated(stem)`` draws bytes that were such a structure once.
`packets` and `acknowledgments` draw packets. `stubs` and `pdus` draw calls, `srmp_requests` HTTP requests,
`sections` the parts of a packet that a remote read cuts, `captures` whole files with what is in them, and
`chunks` the pieces in which a stream arrives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msmq_wire.errors import MissingExtraError

try:
    import hypothesis  # noqa: F401  (only to know that it can be imported)
except ModuleNotFoundError:
    raise MissingExtraError.of(__name__, "hypothesis", "msmq-wire[fuzz]") from None

from msmq_wire.strategies.calls import DrawnStub, pdus, stubs
from msmq_wire.strategies.captures import DrawnCapture, captures
from msmq_wire.strategies.messages import chunks, sections, srmp_requests
from msmq_wire.strategies.structures import acknowledgments, mutated, packets

if TYPE_CHECKING:
    from msmq_wire.strategies import overloads

    edge, structure = overloads.edge, overloads.structure
else:
    from msmq_wire.strategies.structures import edge, structure

__all__ = [
    "DrawnCapture",
    "DrawnStub",
    "acknowledgments",
    "captures",
    "chunks",
    "edge",
    "mutated",
    "packets",
    "pdus",
    "sections",
    "srmp_requests",
    "structure",
    "stubs",
]
