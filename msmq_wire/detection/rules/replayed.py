"""RPL: deviations that a replay finds in replies and session packets, one rule for each kind."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msmq_wire.detection.finding import Evidence, Severity
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.spec import sections


def _check(kind: ReplayKind, one: ReplayDeviation, context: Context) -> Iterator[Detection]:
    """Yield a deviation of one kind, with the call as evidence."""
    if one.kind is not kind:
        return
    caveats = []
    if one.contradiction:
        caveats.append(
            f"the documents contradict each other about it (docs/deviations.md, {one.contradiction})"
        )
    elif not one.certain:
        caveats.append("traffic that was not captured or cannot be read may explain it")
    yield Detection(
        message=f"{one.message}; expected: {one.expected} (rule {one.rule})",
        evidence=(
            Evidence(
                capture=one.capture,
                record=one.record,
                frames=one.frames,
                time=one.time,
                src=one.src,
                dst=one.dst,
                path=one.path,
            ),
        ),
        confidence="certain" if one.certain else "likely",
        caveats=tuple(caveats),
        needs=("before", "in_time"),
    )


def _rule(
    kind: ReplayKind,
    severity: Severity,
    title: str,
    spec: str,
    *,
    meaning: str,
    action: str,
    harmless: str = "",
) -> Rule:
    return Rule(
        id=f"RPL-{kind.upper()}",
        title=title,
        severity=severity,
        spec=sections(spec),
        meaning=meaning,
        action=action,
        harmless=harmless,
        over="reply",
        check=partial(_check, kind),
    )


RULES = (
    _rule(
        ReplayKind.HANDLE,
        "medium",
        "A server accepts a handle that it must refuse",
        "MS-MQRR 2.2.4, MS-MQQP 3.1.4.4, MS-MQMP 3.1.4.18, MS-RPCE 3.3.1.4.1",
        meaning="The handle is NULL, was closed before, or was given to another client. The server "
        "keeps state that it should have discarded, or does not tell its clients apart: one client may "
        "use what another has opened.",
        action="Find out what the client did with the handle afterwards, and which product the server "
        "is. If it is not a Windows queue manager, report this to its maker.",
        harmless="The capture has the same connection twice, or several servers share an address.",
    ),
    _rule(
        ReplayKind.REQUEST,
        "medium",
        "A server accepts a request identifier that is in use",
        "MS-MQRR 3.1.4.7, MS-MQQP 3.1.4.1",
        meaning="Two receives of one handle have the same identifier. The client cannot end or cancel "
        "one of them alone, and may acknowledge a message that was never processed.",
        action="Look at the messages of both receives: was one of them lost or read twice? Then ask why "
        "the client used the number again.",
        harmless="Windows 2000 and XP do not check it in qm2qm.",
    ),
    _rule(
        ReplayKind.END,
        "medium",
        "A server confirms the end of a receive that was not seen",
        "MS-MQRR 3.1.4.9, MS-MQRR 3.1.4.15, MS-MQQP 3.1.4.2",
        meaning="The server told the client that its message left the queue, or went back. The capture "
        "shows no such receive, so the message may not be where the client expects it.",
        action="Find the receive that the client meant, by its request identifier, and find out where "
        "its message is now.",
        harmless="A receive on a connection that was not captured.",
    ),
    _rule(
        ReplayKind.ACCESS,
        "high",
        "A server lets a client read through a handle not opened for it",
        "MS-MQRR 3.1.4.7, MS-MQQP 3.1.4.1, MS-MQMP 3.1.5.3",
        meaning="The handle was opened to peek, to send or to move, and a message was received through "
        "it. Rights are checked only when a queue is opened, so a client that may only look can take "
        "messages away.",
        action="Treat it as a breach of the queue's permissions: find out which messages were received, "
        "by which account. Do not offer this server to clients that are not trusted.",
    ),
    _rule(
        ReplayKind.ACTION,
        "low",
        "A server grants an invalid request",
        "MS-MQRR 3.1.4.7, MS-MQRR 3.1.4.13, MS-MQQP 3.1.4.1, MS-MQQP 3.1.4.11, MS-MQMP 3.1.4.17, "
        "MS-MQMP 3.1.5.2, MS-MQMP 3.1.5.3",
        meaning="The server does not check the request. No document says what it then does, and other "
        "servers refuse the same call.",
        action="Correct the client that asks for it. If it is a tool that tries out what servers "
        "accept, ask who runs it.",
    ),
    _rule(
        ReplayKind.SECTIONS,
        "medium",
        "The sections of a message contradict the request",
        "MS-MQRR 3.1.4.7, MS-MQRR 2.2.6, MS-MQQP 3.1.4.1",
        meaning="The server sent more or less of the body than the client asked for, or sections of the "
        "wrong type, or no message where it had to send one. A client that relies on its own limit "
        "writes past its buffer or loses the rest of the body.",
        action="Check whether the client handles this answer. Compare the server's version with that of "
        "others.",
    ),
    _rule(
        ReplayKind.CONTENT,
        "medium",
        "A message differs from its copy, or contradicts itself",
        "MS-MQRR 2.2.5.1, MS-MQRR 3.1.4.7, MS-MQQP 2.2.2.1, MS-MQMQ 2.2.19.2",
        meaning="The capture shows one message twice, with the same identifier: once when it was sent "
        "or read earlier, and once now. SentTime, the label or the body differ between the two, or the "
        "deadline to reach the queue is not SentTime plus TimeToReachQueue. No queue manager changes "
        "these values.",
        action="Compare the values that the finding names. Somebody changed the message in the queue or "
        "on its way, two messages got one identifier, or the sender or the reader builds its packets "
        "itself.",
        harmless="Two queue managers with one GUID, see ID-CLONE. Values that a queue manager may "
        "change are not compared: addresses, the headers after a message, its class, a body that came "
        "encrypted.",
    ),
    _rule(
        ReplayKind.TWICE,
        "high",
        "A message is handed out twice",
        "MS-MQRR 3.1.4.7, MS-MQRR 3.1.4.9, MS-MQQP 3.1.4.2",
        meaning="A message that is being received is locked until its receive ends. It was handed to a "
        "second reader although the first did not put it back, so it is processed twice.",
        action="Find both readers by their frames, and find out whether it does harm that the message "
        "is processed twice.",
        harmless="The first receive was undone in a way that was not captured, for example by an "
        "administrator at the server.",
    ),
    _rule(
        ReplayKind.PURGE,
        "high",
        "A queue is purged through a handle for peeking only",
        "MS-MQRR 3.1.4.6, MS-MQQP 3.1.4.7, MS-MQMP 3.1.4.22",
        meaning="Only a handle that was opened to receive may purge. The server does not check this: a "
        "client that may only peek into a queue can destroy all of its messages.",
        action="See RPC-PURGE for what was lost. Do not offer this server to clients that are not trusted.",
    ),
    _rule(
        ReplayKind.STATUS,
        "low",
        "An answer with a status that does not fit the call",
        "MS-MQRR 3.1.4, MS-MQQP 3.1.4",
        meaning="The method cannot return this status, or the status says that something does not exist "
        "although the capture shows that it does. Clients decide by the status what happens to a message.",
        action="Compare the status with what the client did next. A handle that a server forgot points "
        "to a restart of the server, or a fault in it.",
        harmless="The server's service was restarted, or somebody closed the handle at the server.",
    ),
    _rule(
        ReplayKind.CURSOR,
        "medium",
        "A server accepts a cursor that it must refuse",
        "MS-MQRR 3.1.4.4, MS-MQRR 3.1.4.5, MS-MQRR 3.1.4.7, MS-MQQP 3.1.4.1, MS-MQMP 3.1.5.3",
        meaning="The cursor is closed, was never made, or belongs to another handle. One client then "
        "steps through the queue from the position of another, and messages are skipped.",
        action="Compare the messages that both readers got.",
        harmless="The cursor was made on a connection that was not captured.",
    ),
    _rule(
        ReplayKind.REMOVED,
        "high",
        "A message is read after it was removed",
        "MS-MQRR 3.1.4.9, MS-MQRR 3.1.4.6, MS-MQQP 3.1.4.2",
        meaning="The client acknowledged the message, or the queue was purged, and the server confirmed "
        "it. Then the same message was read again. Either a message is processed twice, or a message "
        "that was purged still exists.",
        action="Find out who read it the second time. Ask whether the server was restored from a "
        "backup, or lost its log.",
        harmless="After a purge: a message that was moved to a subqueue before the purge, and back later.",
    ),
    _rule(
        ReplayKind.LOOKUP,
        "medium",
        "A server returns another message than the one asked for",
        "MS-MQRR 3.1.4.7, MS-MQRR 3.1.4.13, MS-MQQP 3.1.4.11",
        meaning="The client asked for a message by its lookup identifier and got another. It may "
        "mistake this message for the one that it looked at before, and remove it.",
        action="Find out what the client did with the message, above all whether it acknowledged it.",
    ),
    _rule(
        ReplayKind.CANCEL,
        "medium",
        "A read that was cancelled returns a message",
        "MS-MQRR 3.1.4.8, MS-MQQP 3.1.4.6",
        meaning="The server said that the read is over, and then answered it with a message. A client "
        "that has given up ends no receive: the message stays locked until the server puts it back.",
        action="Check whether the client ends the receive; if not, the message comes a second time "
        "after five minutes.",
    ),
    _rule(
        ReplayKind.ORDER,
        "low",
        "A server skips a message that should come first",
        "MS-MQRR 3.1.4.7, MS-MQQP 3.1.4.1, MS-MQMQ 2.2.19.1",
        meaning="Messages are read by priority, and then in the order of their arrival. Another message "
        "was in the queue before and after this read and should have come first, but did not.",
        action="Check whether the order matters to the application, and whether the server has two "
        "copies of the queue.",
        harmless="Another reader held the message in between and put it back.",
    ),
    _rule(
        ReplayKind.TIME,
        "low",
        "A read times out at the wrong time",
        "MS-MQRR 3.1.2.1, MS-MQQP 3.1.2",
        meaning="The wait ended more than 1 s before the time-out that the client asked for, or 10 s or "
        "more after it. Clients then poll too often, or wait too long.",
        action="Compare the clocks and the load of the server; check whether a middlebox answers in its "
        "place.",
        harmless="A server that is overloaded, when it is late.",
    ),
    _rule(
        ReplayKind.ECHO,
        "medium",
        "The answer that opens a session differs from the request",
        "MS-MQQB 3.1.5.3.1, MS-MQQB 3.1.5.4.1",
        meaning="The answer must repeat ClientGuid, TimeStamp and SE of EstablishConnection, and both "
        "time-outs of ConnectionParameters. This one did not: the two sides have different views of the "
        "session, or the answer was made for another request.",
        action="Find out what program answers: one that replays recorded packets, or a faulty one.",
        harmless="Frames of different captures were put together.",
    ),
    _rule(
        ReplayKind.GOES_ON,
        "medium",
        "A refused session goes on",
        "MS-MQQB 3.1.5.3.2",
        meaning="The answer to EstablishConnection has CS set, or names another queue manager than the "
        "request. The initiator must then close the session, but it went on: it does not check the "
        "answer.",
        action="Find out what the initiator is, and what it sent to which queue manager afterwards.",
        harmless="Frames of different captures were put together.",
    ),
    _rule(
        ReplayKind.ACKED_AGAIN,
        "low",
        "A session acknowledgment says nothing new",
        "MS-MQQB 3.1.6.4",
        meaning="A SessionAck is sent if and only if something was received since the last "
        "acknowledgment. This one repeats the number of the last one and acknowledges no recoverable "
        "message. It keeps an idle session busy.",
        action="Look at the sender of the SessionAck: how often does it come, and is it a queue manager?",
        harmless="An implementation that uses SessionAck packets to keep the connection alive.",
    ),
    _rule(
        ReplayKind.WINDOW,
        "low",
        "More was sent than the window allows",
        "MS-MQQB 3.1.7.1",
        meaning="The window is the number of packets that a sender may have without an acknowledgment. "
        "At that number the sender must stop. This sender had more unacknowledged packets than the "
        "largest window that either side announced.",
        action="Check whether the receiver keeps up, and which implementation the sender is.",
        harmless="The two directions were captured in another order than they were sent in.",
    ),
    _rule(
        ReplayKind.ORDER_ACK,
        "medium",
        "An OrderAck that cannot be right",
        "MS-MQQB 3.1.1.6.2, MS-MQQB 3.1.5.8.6",
        meaning="A receiver accepts transactional messages in order, without gaps, and acknowledges "
        "them in order. Here the number goes back, or it covers a message whose predecessor was never "
        "sent. The sender deletes messages that may not have arrived.",
        action="Compare the destination queue with what was sent; find out whether the server of that "
        "queue was restored from a backup.",
        harmless="The missing message took another path, or was sent before the capture began.",
    ),
    _rule(
        ReplayKind.STRANGER,
        "high",
        "An acknowledgment from another queue manager",
        "MS-MQQB 3.1.1.6.2, MS-MQQB 3.1.5.8.10, MS-MQQB 3.1.7.2.1, MS-MQQB 3.1.7.2.2",
        meaning="Only the queue manager that a message is sent to can say that it arrived, was received "
        "or is in order. This acknowledgment names another queue manager as its source. A sender that "
        "accepts it deletes a message that may not have arrived.",
        action="Find out what sends the acknowledgment, and whether the message is in its queue.",
        harmless="The queue manager was installed again and has a new identifier.",
    ),
    _rule(
        ReplayKind.UNASKED,
        "low",
        "An acknowledgment that was not asked for",
        "MS-MQQB 3.1.5.8.10, MS-MQQB 3.1.7.2.1, MS-MQQB 3.1.7.2.2, MS-MQQB 3.1.7.15",
        meaning="A message says which acknowledgments it wants, and where. The message was captured, "
        "and it wants none of this kind: the program that made the acknowledgment ignores the flags of "
        "messages.",
        action="Find out what sends the acknowledgment. Look at the administration queue that it goes to.",
        harmless="A message of the same number was sent before the capture began, with other flags.",
    ),
    _rule(
        ReplayKind.OUTCOME,
        "medium",
        "Two acknowledgments contradict each other",
        "MS-MQQB 3.1.7.2.1, MS-MQQB 3.1.5.8.2",
        meaning="A message leaves its queue once: it is received, purged, expired or rejected. A "
        "refused message never reached it. Here one queue manager reports two such outcomes of one "
        "message, so one report is false.",
        action="Look at the queue and its journal: what happened to the message?",
        harmless="The message was sent again on a connection that was not captured, and had another "
        "outcome then.",
    ),
)
