"""The records of SRMP: what a captured request with its response, or a hole between them, looks like.

The rule kept here: nothing is decided about a connection and nothing is remembered; messages go in, their
record comes out.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from msmq_wire.engines.reference import MAX_ANOMALIES
from msmq_wire.records.record import NewRecord, Record
from msmq_wire.records.srmp_content import error_of, http_fields, judge_request, packet_of, take_apart, under
from msmq_wire.records.srmp_packets import SrmpMessage, SrmpResponse
from msmq_wire.srmp.http.message import HttpExchange, HttpHole, HttpMessage


def record_type(packet: SrmpMessage) -> str:
    """The type of the record of a message."""
    return "srmp_message" if packet.kind == "message" else "srmp_receipt"


class SrmpPlace:
    """A connection as its records name it; ``frames`` gives the frames that carried what came as others."""

    __slots__ = ("_frames", "_names", "_record", "stream")

    def __init__(
        self,
        record: NewRecord,
        frames: Callable[[tuple[int, ...]], tuple[int, ...]],
        names: Callable[[int, int], tuple[str, str]],
        stream: int,
    ) -> None:
        self._record = record
        self._frames = frames
        self._names = names
        self.stream = stream

    def message(self, exchange: HttpExchange) -> Record:
        """The record of a request with its response."""
        http, answer = exchange.request, exchange.response
        assert http is not None
        request = take_apart(http)
        src, dst = self._names(self.stream, 0 if http.from_client else 1)
        latency = None
        if answer is not None and http.time and answer.time >= http.time:
            latency = answer.time - http.time
        packet = msgspec.structs.replace(
            packet_of(request),
            response=None if answer is None else _response(answer, self._frames(answer.frames)),
            interim=tuple(one.status for one in exchange.interim),
            certain=exchange.certain,
            latency=latency,
        )
        reported = () if answer is None else tuple(under("response", answer.problems, 0))[:MAX_ANOMALIES]
        answers = exchange.interim if answer is None else (*exchange.interim, answer)
        frames = [frame for one in (http, *answers) for frame in one.frames]
        length = request.captured + sum(map(_captured, answers))
        remainder = request.remainder
        return self._record(
            type=record_type(packet),
            frames=self._frames(tuple(dict.fromkeys(frames))),
            time=max(one.time for one in (http, *answers)),
            src=src,
            dst=dst,
            stream=self.stream,
            offset=http.offset,
            length=length,
            packet=packet,
            anomalies=(*judge_request(request), *reported),
            consumed=length - len(remainder),
            remainder=remainder,
            error=error_of(request),
        )

    def gap(self, hole: HttpHole) -> Record:
        """The record of bytes that are in no message."""
        src, dst = self._names(self.stream, 0 if hole.from_client else 1)
        return self._record(
            type="gap",
            frames=self._frames(hole.frames),
            time=hole.time,
            src=src,
            dst=dst,
            stream=self.stream,
            offset=hole.offset,
            length=0 if hole.missing else hole.length or 0,
            remainder=hole.data,
            missing=hole.length if hole.missing else 0,
            reason=hole.reason,
        )


def _captured(http: HttpMessage) -> int:
    return http.length - sum(length for _, length in http.missing)


def _response(http: HttpMessage, frames: tuple[int, ...]) -> SrmpResponse:
    return SrmpResponse(
        status=http.status,
        reason=http.reason,
        headers=http_fields(http.headers),
        body=http.body,
        frames=frames,
        complete=http.complete,
    )
