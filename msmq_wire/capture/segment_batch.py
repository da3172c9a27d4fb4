"""`SegmentBatch`: TCP segments of a chunk; regular connections are taken run by run, others one by one.

The rule kept here: every state left behind is what `FrameDecoder` leaves when it takes the frames one by one.
Events happen in the order of the frames, but a run is taken whole when its first segment is due: nothing else
can tell, because connections depend on each other through common limits only, and a piece in which one of
these could be reached is not taken here at all.
"""

from __future__ import annotations

import heapq
import itertools
from functools import cached_property

import numpy as np

from msmq_wire.capture.batch_builder import BatchBuilder
from msmq_wire.capture.index import Array, Chunk, rows_at
from msmq_wire.capture.regular_frames import RegularFrames, hop_limit_at, ident_at
from msmq_wire.reassembly.bulk import Connections, PacketChain, Payloads, Runs, credible, gather, group
from msmq_wire.reassembly.packet_framer import MAX_PENDING
from msmq_wire.reassembly.tail import SEGMENT_COST, TAIL_BYTES, TAIL_RUNS
from msmq_wire.reassembly.tcp_events import SYN, Endpoints, TcpSegment
from msmq_wire.reassembly.tcp_flow import MASK, TAIL_TOTAL, WINDOW, Connection, Flow
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.other_ports import NOT_MSMQ
from msmq_wire.records.proxy_header import HEADER_BEGINS
from msmq_wire.records.recognition import FIRST_BYTES, HTTPS_PORTS, LOOKED_AT, may_begin, recognise

_CONTENT = np.dtype(
    {
        "names": ["tls", "hello", "method"],
        "formats": [">u2", "u1", ">u4"],
        "offsets": [0, 5, 0],
        "itemsize": 6,
    }
)
_TLS = 0x1603
_POST = int.from_bytes(b"POST", "big")
_FIRST_BYTES = np.frombuffer(bytes(FIRST_BYTES), np.uint8)
_SHOWN = 256  # of a payload that is noted
_FEW_SEGMENTS = 4  # a run that is not worth more than taking its segments one by one


class _Cursor:
    """Where a connection is: the next place, its run, its next payload in each direction."""

    __slots__ = ("end", "endpoints", "high", "low", "place", "run")

    def __init__(self, endpoints: Endpoints, place: int, end: int, run: int, low: int, high: int) -> None:
        self.endpoints = endpoints
        self.place = place
        self.end = end
        self.run = run
        self.low = low
        self.high = high


_Sides = tuple[tuple[Flow, int, int], tuple[Flow, int, int]]
"""Both directions of a connection, each with its first payload, and the one behind the last."""
_Passing = tuple[Connection | None, tuple[int, int]]
"""A connection that has a segment, or the framer that is fed, at a frame inside a run."""


class SegmentBatch:
    """Some plain segments of a chunk, at least one, none of them a fragment.

    ``regular`` holds their columns, ``odd`` the segments among them that were not plain, by frame.
    """

    def __init__(
        self, chunk: Chunk, regular: RegularFrames, odd: dict[int, TcpSegment], finder: PacketFinder
    ) -> None:
        self._chunk = chunk
        self._regular = regular
        self._odd = odd
        self._finder = finder
        self._heap: list[tuple[int, int, _Cursor | _Passing]] = []
        self._pushed = itertools.count()

    def take(self, builder: BatchBuilder) -> bool:
        """Take all segments; False, and nothing done, when a limit is too near for that."""
        regular = self._regular
        wide = regular.wide
        if wide is not None:
            sport, dport = regular.sport[:, None].view(np.uint64), regular.dport[:, None].view(np.uint64)
            wide = np.hstack((wide[:, :2], sport, wide[:, 2:], dport))
        connections = group(regular.source, regular.target, wide)
        if connections is None:
            return False
        self._builder = builder
        self._connections = connections
        self._sort(connections)
        wanted = self._choose(connections)
        if wanted is None:
            return False
        several = self._know(connections, wanted)
        if not self._has_room(connections, wanted, several):
            return False
        self._skip(np.flatnonzero(~connections.spread(self._watched)))
        self._prepare(connections, wanted)
        self._put_cursors(connections)
        self._walk()
        self._skip(np.flatnonzero(self._leapt))
        self._finder.skipped[NOT_MSMQ] += self._skipped
        if not self._finder.skipped[NOT_MSMQ]:
            del self._finder.skipped[NOT_MSMQ]
        builder.close(self._payloads, self._index[self._payloads.place])
        return True

    # What the piece holds.

    def _sort(self, connections: Connections) -> None:
        """The columns by place."""
        regular, order = self._regular, connections.order
        self._index = regular.index[order]
        self._seq, self._ack, self._size = regular.seq[order], regular.ack[order], regular.size[order]
        self._flags, self._at = regular.flags[order], regular.at[order]
        self._network, self._time = regular.network[order], self._chunk.time[self._index]
        alone = (regular.cut > 0) | (regular.source == regular.target) | (regular.window == 0)
        self._alone = alone[order] | (self._at < 0)

    def _choose(self, connections: Connections) -> Array | None:
        """Return which connections are followed, or may be from here on; None when that is uncertain.

        ``marks`` tells the places that may decide about a connection on other ports, ``watched`` the
        connections that are not settled before the piece begins.
        """
        finder, regular, rows = self._finder, self._regular, connections.rows()
        ports = list(finder.ports)
        wanted: Array = np.isin(regular.sport[rows], ports) | np.isin(regular.dport[rows], ports)
        self._marks = np.zeros(len(self._index), np.bool_)
        self._leapt = np.zeros(len(self._index), np.bool_)
        self._watched = wanted.copy()
        self._skipped = 0
        endpoints: dict[int, Endpoints] = {}
        for number in np.flatnonzero(~wanted).tolist() if finder.others else ():
            endpoints[number] = self._endpoints(int(rows[number]))
            wanted[number] = self._watched[number] = finder.follows(endpoints[number])
        if wanted.all():
            return wanted
        foreign = np.flatnonzero(~connections.spread(wanted))
        syn = self._flags & SYN != 0
        believed, begun = np.zeros(len(syn), np.bool_), np.zeros(len(syn), np.bool_)
        full = foreign[(self._size[foreign] > 0)]
        plain_full = full[self._at[full] >= 0]
        believed[plain_full] = credible(self._chunk.data, self._at[plain_full], self._size[plain_full])
        first = np.frombuffer(self._chunk.data, np.uint8)[self._at[plain_full]]
        dport = self._regular.dport[connections.order]
        for place in plain_full[np.isin(first, _FIRST_BYTES)].tolist():
            at, size = int(self._at[place]), int(self._size[place])
            payload = bytes(self._chunk.data[at : at + min(size, LOOKED_AT)])
            believed[place] |= recognise(payload, int(dport[place])) is not None
            begun[place] = not believed[place] and may_begin(payload)
        # What is not plain is for the finder to judge.
        believed[full] |= self._at[full] < 0
        syns, credibles = connections.any(syn), connections.any(believed)
        beginnings = connections.any(begun)
        undecided = ~wanted
        if not finder.others:
            undecided &= syns | credibles | beginnings
        new = 0
        for number in np.flatnonzero(undecided).tolist():
            ends = endpoints.get(number) or self._endpoints(int(rows[number]))
            if beginnings[number] or finder.others.holds_beginning(ends):
                # It takes more segments than one to tell.
                return None
            elif credibles[number]:
                new += 1
                wanted[number] = self._watched[number] = True
            elif syns[number] or finder.others.hesitates(ends):
                self._watched[number] = True
        if finder.others.may_forget(new):
            return None
        self._marks[foreign] = (syn | believed)[foreign]
        return wanted

    def _endpoints(self, row: int) -> Endpoints:
        """Return the endpoints of a segment."""
        regular = self._regular
        sport, dport = int(regular.sport[row]), int(regular.dport[row])
        source, target = int(regular.source[row]), int(regular.target[row])
        if regular.wide is not None and source >> 63:
            packed = regular.wide[row].astype(">u8").tobytes()
            return packed[:16], sport, packed[16:], dport
        return (source >> 16).to_bytes(4, "big"), sport, (target >> 16).to_bytes(4, "big"), dport

    def _skip(self, places: Array) -> None:
        """Count segments of connections that are not followed, and note what may be MSMQ all the same."""
        self._skipped += len(places)
        places = places[self._size[places] > 5]
        if not len(places):
            return
        start = rows_at(self._chunk.data, _CONTENT, self._at[places])
        dport = self._regular.dport[self._connections.order[places]]
        noted = (start["tls"] == _TLS) & (start["hello"] == 1) | (start["method"] == _POST)
        noted &= np.isin(dport, list(HTTPS_PORTS))
        for number in np.flatnonzero(noted).tolist():
            at, size = int(self._at[places[number]]), int(self._size[places[number]])
            payload = bytes(self._chunk.data[at : at + min(size, _SHOWN)])
            self._finder.others.note(payload, int(dport[number]))

    def _know(self, connections: Connections, wanted: Array) -> Array | None:
        """Look up what is followed; return which of it comes in several paths, None for nothing.

        The finder decides about each segment of that.
        """
        finder, regular, rows = self._finder, self._regular, connections.rows()
        self._known: dict[int, Endpoints] = {}
        self._flows: dict[int, Flow] = {}
        for number in np.flatnonzero(wanted).tolist():
            endpoints = self._known[number] = self._endpoints(int(rows[number]))
            flow = finder.tcp.flow(endpoints)
            if flow is not None:
                self._flows[number] = flow
        if regular.path is None and not finder.networks.used:
            return None
        several = np.zeros(len(rows), np.bool_)
        if regular.path is not None:
            path = regular.path[connections.order]
            several = connections.any(path != connections.spread(regular.path[rows]))
        for number, endpoints in self._known.items():
            flow = self._flows.get(number)
            other = flow is not None and flow.connection.path != regular.path_at(int(rows[number]))
            several[number] |= other or finder.networks.has_several(endpoints)
        several &= wanted
        if not several.any():
            return None
        self._alone |= connections.spread(several)
        return several

    def _has_room(self, connections: Connections, wanted: Array, several: Array | None) -> bool:
        """Whether no limit that connections share can be reached in this piece."""
        finder, tcp, rows = self._finder, self._finder.tcp, connections.rows()
        places = np.flatnonzero(connections.spread(wanted) & (self._size > 0))
        sizes = self._size[places]
        if not finder.has_room(int(sizes.sum()), len(places)):
            return False
        flows = self._flows
        syns = np.count_nonzero(self._flags[np.flatnonzero(connections.spread(wanted))] & SYN)
        opened = len(self._known) - len(flows) + int(syns)
        if several is not None:
            # Each segment may open a connection in another network.
            opened += int(np.diff(connections.starts)[several].sum())
        evicted = tcp.evicted_by(opened)
        present = {flow.connection.stream for flow in flows.values()}
        if evicted is None or any(connection.stream in present for connection in evicted):
            return False
        if several is not None and evicted:
            return False
        left = TAIL_TOTAL - tcp.tail_bytes - tcp.pending_bytes - finder.networks.held
        costs = sizes + SEGMENT_COST
        if int(costs.sum()) <= left:
            return True
        if several is not None:
            return False
        side = connections.spread(np.arange(len(rows)))[places] * 2 + connections.reverse[places]
        cost = np.bincount(side, costs, 2 * len(rows)).astype(np.int64).reshape(-1, 2)
        most = TAIL_BYTES + SEGMENT_COST * TAIL_RUNS
        for number, flow in flows.items():
            row = int(rows[number])
            turned = int(self._regular.source[row] > self._regular.target[row])
            for direction, one in ((turned, flow), (1 - turned, flow.peer)):
                cost[number, direction] = min(cost[number, direction], max(0, most - one.tail.cost))
        return int(np.minimum(cost, most).sum()) <= left

    def _prepare(self, connections: Connections, wanted: Array) -> None:
        """Bring the payload of what is followed together, and find the runs and the packets in it."""
        carries = connections.spread(wanted) & (self._size > 0) & ~self._alone
        places = (
            np.flatnonzero(carries & ~connections.reverse),
            np.flatnonzero(carries & connections.reverse),
        )
        place = np.concatenate(places)
        size = self._size[place]
        until = np.zeros(len(place) + 1, np.int64)
        np.cumsum(size, out=until[1:])
        data = gather(self._chunk.data, self._at[place], size)
        self._payloads = Payloads(place=place, split=len(places[0]), until=until, data=data)
        self._chain = PacketChain(self._payloads, MAX_PENDING)
        self._runs = Runs.find(
            connections, places, seq=self._seq, size=self._size, flags=self._flags, alone=self._alone
        )
        self._marked = np.flatnonzero(self._marks)

    def _put_cursors(self, connections: Connections) -> None:
        runs, rows = self._runs, connections.rows()
        for number in np.flatnonzero(self._watched).tolist():
            endpoints = self._known.get(number) or self._endpoints(int(rows[number]))
            start, end = int(connections.starts[number]), int(connections.starts[number + 1])
            if connections.reverse[start]:
                src, sport, dst, dport = endpoints
                endpoints = (dst, dport, src, sport)
            run = int(runs.of[number])
            self._push(start, _Cursor(endpoints, start, end, run, int(runs.low[run]), int(runs.high[run])))

    def _push(self, place: int, item: _Cursor | _Passing) -> None:
        heapq.heappush(self._heap, (int(self._index[place]), next(self._pushed), item))

    # The walk, in the order of the frames.

    def _walk(self) -> None:
        finder, heap = self._finder, self._heap
        while heap:
            index, _, item = heapq.heappop(heap)
            if isinstance(item, tuple):
                connection, framer = item
                if connection is not None:
                    finder.tcp.pass_by(connection)
                else:
                    finder.packets.pass_by(framer)
                continue
            # As long as nothing else is due, this connection goes on.
            due = heap[0][0] if heap else len(self._chunk)
            while index < due:
                if finder.wants_each(item.endpoints):
                    self._take_one(item, index)
                elif finder.follows(item.endpoints):
                    taken = self._take_run(item)
                    if taken and heap:
                        due = heap[0][0]
                    if not taken:
                        self._take_one(item, index)
                elif self._marks[item.place] or finder.others.hesitates(item.endpoints):
                    self._take_one(item, index)
                else:
                    self._leap(item)
                if item.place == item.end:
                    break
                index = int(self._index[item.place])
            else:
                self._push(item.place, item)

    def _take_one(self, cursor: _Cursor, index: int) -> None:
        """Give one segment to the finder."""
        segment = self._odd.get(index) or self._segment(cursor)
        self._builder.add(self._finder.segment(segment), index)
        place, until = cursor.place, self._payloads.place
        if cursor.low < self._payloads.split and until[cursor.low] == place:
            cursor.low += 1
        elif cursor.high < len(until) and until[cursor.high] == place:
            cursor.high += 1
        cursor.place = place + 1
        if cursor.place == self._runs.start[cursor.run + 1]:
            cursor.run += 1

    def _segment(self, cursor: _Cursor) -> TcpSegment:
        """The segment at the place of a cursor, from its columns."""
        row, reverse, seq, ack, flags, at, size, cut, frame, time, window, network = self._rows[
            cursor.place
        ].tolist()
        src, sport, dst, dport = cursor.endpoints
        if reverse:
            src, sport, dst, dport = dst, dport, src, sport
        data, path = self._chunk.data, self._regular.path_at(row)
        payload, hop_limit, ident = (
            bytes(data[at : at + size]),
            hop_limit_at(data, network),
            ident_at(data, network),
        )
        return TcpSegment(
            src, sport, dst, dport, seq, ack, flags, payload, frame, time, cut, path, window, hop_limit, ident
        )

    @cached_property
    def _rows(self) -> Array:
        """The columns by place as rows, for segments that are taken one by one."""
        chunk, order, reverse = self._chunk, self._connections.order, self._connections.reverse
        tcp = (self._seq, self._ack, self._flags, self._at, self._size, self._regular.cut[order])
        frame = (chunk.numbers[self._index], self._time, self._regular.window[order], self._network)
        columns = (order, reverse, *tcp, *frame)
        return np.stack(columns, axis=1, dtype=np.int64)

    def _leap(self, cursor: _Cursor) -> None:
        """Skip the segments of a connection that is not followed, up to one that may change that."""
        place, split = self._payloads.place, self._payloads.split
        marked = int(np.searchsorted(self._marked, cursor.place))
        to = int(self._marked[marked]) if marked < len(self._marked) else cursor.end
        to = min(to, cursor.end)
        self._leapt[cursor.place : to] = True
        cursor.place = to
        cursor.low = int(np.searchsorted(place[:split], to))
        cursor.high = split + int(np.searchsorted(place[split:], to))
        cursor.run = int(np.searchsorted(self._runs.start, to, side="right")) - 1

    def _take_run(self, cursor: _Cursor) -> bool:
        """Take the rest of a run at once; False when its segments do not follow what came before."""
        runs, payloads, finder, data = self._runs, self._payloads, self._finder, self._chunk.data
        place, stop = cursor.place, int(runs.start[cursor.run + 1])
        if stop - place < _FEW_SEGMENTS or runs.control[place]:
            return False
        src, sport, dst, dport = cursor.endpoints
        there, back = finder.tcp.flow(cursor.endpoints), finder.tcp.flow((dst, dport, src, sport))
        if there is None or back is None or there.expected < 0 or back.expected < 0:
            return False
        low, high = int(runs.low[cursor.run + 1]), int(runs.high[cursor.run + 1])
        sides = ((there, cursor.low, low), (back, cursor.high, high))
        for flow, first, last in sides:
            if first < last:
                if self._seq[payloads.place[first]] != flow.expected:
                    return False
                # The finder reads a PROXY header.
                opens = not flow.next and not flow.direction
                if opens and int(payloads.data[payloads.until[first]]) in HEADER_BEGINS:
                    return False
                # Which frames carried a fragmented packet is asked when it is complete.
                if finder.carries_fragments and finder.packets.framer(_key(flow)).wanted != 0:
                    return False
        ahead = stop if there.connection.unseen else self._runs_ahead(place, stop, sides)
        if ahead < stop:
            # That segment tells something, so it is taken by itself.
            if ahead - place < _FEW_SEGMENTS:
                return False
            stop = ahead
            low, high = (first + self._before(first, last, stop) for _, first, last in sides)
            sides = ((there, cursor.low, low), (back, cursor.high, high))
        for acks, (flow, first, last) in zip(runs.acks, sides, strict=True):
            ack = int(np.searchsorted(acks, stop)) - 1
            if ack >= 0 and acks[ack] >= place:
                at = int(acks[ack])
                flow.acked, flow.heard_at = int(self._ack[at]), int(self._time[at])
                flow.hop_limit = hop_limit_at(data, int(self._network[at]))
            if first < last:
                at = int(payloads.place[last - 1])
                flow.sent_at, flow.ident = int(self._time[at]), ident_at(data, int(self._network[at]))
                self._deliver(flow, first, last)
        connection = there.connection
        index = int(self._index[stop - 1])
        connection.frame, connection.time = int(self._chunk.numbers[index]), int(self._time[stop - 1])
        self._push(stop - 1, (connection, (0, 0)))
        finder.count(cursor.endpoints, stop - place)
        cursor.place, cursor.low, cursor.high = stop, low, high
        cursor.run += stop == int(runs.start[cursor.run + 1])
        return True

    def _runs_ahead(self, place: int, stop: int, sides: _Sides) -> int:
        """The place of the first segment that acknowledges what was not captured; ``stop`` for none."""
        payloads, found = self._payloads, stop
        for acks, (peer, first, last) in zip(self._runs.acks, reversed(sides), strict=True):
            low, high = np.searchsorted(acks, (place, stop)).tolist()
            at = acks[low:high]
            captured = payloads.until[first + np.searchsorted(payloads.place[first:last], at)]
            ahead = (self._ack[at].astype(np.int64) - peer.expected - captured + payloads.until[first]) & MASK
            # One byte more is that of a FIN.
            early = (ahead > 1) & (ahead <= WINDOW)
            if early.any():
                found = min(found, int(at[early.argmax()]))
        return found

    def _before(self, first: int, last: int, place: int) -> int:
        """How many of some payloads lie before a place."""
        return int(np.searchsorted(self._payloads.place[first:last], place))

    def _deliver(self, flow: Flow, first: int, last: int) -> None:
        """Take payloads of one direction that follow what it delivered so far."""
        payloads, chain, finder, builder = self._payloads, self._chain, self._finder, self._builder
        key, offset = _key(flow), flow.next
        at, stop = int(payloads.until[first]), int(payloads.until[last])
        shift = offset - at
        frame = int(self._chunk.numbers[self._index[payloads.place[last - 1]]])
        flow.delivered(stop - at, payloads.data[max(at, stop - TAIL_BYTES) : stop].data, frame)
        framer = finder.packets.framer(key)
        part = first
        while at < stop:
            if framer.wanted == 0:
                starts, stops = chain.follow(at, stop)
                if len(starts):
                    builder.burst(starts, stops, key[0], shift, finder.names(*key), finder.path(key[0]))
                    end = int(stops[-1])
                    framer.advance(end - at)
                    at = end
                    continue
            part += int(np.searchsorted(payloads.until[part : last + 1], at, side="right")) - 1
            end = int(payloads.until[part + 1])
            wanted = framer.wanted
            if wanted:
                end = min(end, at + wanted)
            index = int(self._index[payloads.place[part]])
            data, time = bytes(payloads.data[at:end]), int(self._time[payloads.place[part]])
            found = finder.packets.feed(*key, data, int(self._chunk.numbers[index]), time)
            builder.add(found, index)
            at = end
        self._push(int(payloads.place[last - 1]), (None, key))


def _key(flow: Flow) -> tuple[int, int]:
    return flow.connection.stream, flow.direction
