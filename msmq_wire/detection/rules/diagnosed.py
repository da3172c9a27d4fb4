"""The rules that report causes of a diagnosis: what happened to messages, and why."""

from __future__ import annotations

from msmq_wire.detection.cause_detection import detect_cause
from msmq_wire.detection.finding import Confidence, Layer, Severity
from msmq_wire.detection.rule import Rule
from msmq_wire.spec import sections


def _rule(
    id_: str,
    severity: Severity,
    confidence: Confidence,
    title: str,
    spec: str,
    *,
    meaning: str,
    action: str,
    harmless: str,
    layer: Layer = "queue manager",
) -> Rule:
    return Rule(
        id=id_,
        title=title,
        severity=severity,
        confidence=confidence,
        layer=layer,
        spec=sections(spec),
        meaning=meaning,
        action=action,
        harmless=harmless,
        over="cause",
        check=detect_cause,
    )


RULES = (
    _rule(
        "MSG-REFUSED",
        "medium",
        "certain",
        "Messages that were refused or lost",
        "MS-MQMQ 2.2.18.1.6",
        meaning="A negative acknowledgment says that messages did not reach their queue, or that nobody "
        "can read them any more. Its class says why. Refusals by one server, for one queue and one "
        "reason, are one finding, which gives their number.",
        action="Do what the class asks for: create the queue, give the sender the right to write to it, "
        "raise its quota. Look for the messages in the dead-letter queue of the sender.",
        harmless="A test of an application, or a queue that was purged on purpose.",
    ),
    _rule(
        "MSG-EXPIRED",
        "medium",
        "likely",
        "Messages whose time limit had passed",
        "MS-MQMQ 2.2.19.1, MS-MQMQ 2.2.18.1.6",
        meaning="The messages did not reach their queue, or were not read, within their time limit. The "
        "severity is low if an acknowledgment told the sender, and medium if nothing did.",
        action="Find out what delayed them, or why nobody read the queue. Compare the clocks of both "
        "hosts. Give the messages more time.",
        harmless="A sender that lets old messages expire on purpose and asks for no report.",
        layer="application",
    ),
    _rule(
        "MSG-UNACKED",
        "medium",
        "likely",
        "Messages without an acknowledgment in the capture",
        "MS-MQQB 3.1.5.8.2, MS-MQQB 3.1.5.8.6",
        meaning="The next host has to acknowledge a message. The capture shows no acknowledgment of "
        "these messages before their connection ended, or within the time that both sides agreed on. For "
        "transactional messages it shows no OrderAck. A sender keeps recoverable messages and sends them "
        "again. It loses express messages.",
        action="Look into the outgoing queue of the sender. Check whether the messages arrived at the "
        "receiver.",
        harmless="The acknowledgment took another path, or came after the end of the capture.",
    ),
    _rule(
        "MSG-UNTOLD",
        "low",
        "likely",
        "Requested acknowledgments that did not come",
        "MS-MQMQ 2.2.20.4, MS-MQQB 3.1.7.15",
        meaning="PA in MessagePropertiesHeader asks the destination to acknowledge that a message "
        "reached its queue. The receiver acknowledged other messages of the same sender. The capture "
        "shows no such acknowledgment of these messages within a minute.",
        action="Look for the messages in their queue and in the dead-letter queues, and at the quota of "
        "the administration queue.",
        harmless="An administration queue at another host, whose traffic was not captured.",
    ),
    _rule(
        "MSG-WAITS",
        "low",
        "likely",
        "Messages that wait at their sender",
        "MS-MQQB 3.1.5.8.6",
        meaning="A sender that asks for dead-lettering keeps its copy of a message until a FinalAck "
        "says that the message was received. These messages reached their queue, but no FinalAck for "
        "them was captured.",
        action="Check whether the application that reads the queue runs, and whether it keeps up.",
        harmless="An application that reads the queue later, after the end of the capture.",
        layer="application",
    ),
    _rule(
        "NET-PATH",
        "medium",
        "certain",
        "Packets that one place saw and the next one never did",
        "MS-MQQB 3.1.5.8.6",
        meaning="Two places recorded the same traffic. One of them saw these packets, the other one, further "
        "on their way, did not. It was recording before and after them, and nobody acknowledged their bytes, "
        "so they were dropped between the two places. Packets that came when TCP sent them again are told, "
        "too, with severity low.",
        action="Look at what lies between the two places: firewalls, a VPN, the MTU, switches and cables. "
        "Record at a place between them to find where the packets end.",
        harmless="Packets that took another way, which passes only one of the two places.",
        layer="network",
    ),
    _rule(
        "TXN-AGAIN",
        "low",
        "likely",
        "A message that is sent again though it was confirmed",
        "MS-MQQB 3.1.2.6, MS-MQQB 3.1.5.8.6",
        meaning="A sender sends a transactional message again until an OrderAck covers it. An OrderAck "
        "covered this one, and it was sent again several times: the sender does not get the OrderAcks, "
        "or does not act on them.",
        action="Look at the queue manager of the sender: restart it, and compare its outgoing queue "
        "with the destination queue.",
        harmless="OrderAcks that are lost between the place of the capture and the sender. Session "
        "acknowledgments that do not come: a sender waits for both.",
    ),
    _rule(
        "QM-STATE",
        "medium",
        "certain",
        "A queue manager or queue that does not send",
        "MS-MQMR 3.1.4.1",
        meaning="A queue manager told an administrator that it is offline, that messages wait in an "
        "outgoing queue and why, or that its last attempt to connect failed. Until that changes, it "
        "sends nothing from there.",
        action="Set the queue manager online, resume the queue, or check whether the next host can be "
        "reached.",
        harmless="An administrator who took it offline on purpose.",
    ),
    _rule(
        "QM-OUTSIDE",
        "low",
        "guess",
        "Most bytes go to a public address",
        "MS-MQQB 2.1.1",
        meaning="Most of the body bytes in the capture went to one receiver outside private address "
        "space, and they look random, as encrypted or compressed data does. Stolen data can leave a "
        "network in this way.",
        action="Find out who runs the receiver, and what is sent there.",
        harmless="A partner or a cloud service whose messages the application encrypts or compresses.",
        layer="host",
    ),
    _rule(
        "NET-LOSS",
        "low",
        "likely",
        "Segments that TCP sent again",
        "MS-MQQB 2.1.1",
        meaning="A host sent segments again because no acknowledgment of TCP came in time. Either nothing "
        "acknowledged them at all until the connection ended, or very many were sent again. The network "
        "dropped the segments or their acknowledgments, or the receiving host is down. Message Queuing is "
        "not to blame: it did not get the bytes. The severity is medium if a session did not open, or "
        "messages got no acknowledgment, because of that.",
        action="Capture at the receiver, too: that shows where the segments get lost. Check the firewalls "
        "and links between both hosts.",
        harmless="A receiver that was shut down on purpose.",
        layer="network",
    ),
    _rule(
        "NET-WINDOW",
        "low",
        "certain",
        "A receiver that takes no more bytes",
        "MS-MQQB 2.1.1",
        meaning="A host said that its TCP receive window is 0 for a second or more. The program that reads "
        "the connection did not read, so the sender had to wait. On port 1801 this program is Message "
        "Queuing, which stops when it waits for the disk, for memory or for the processor.",
        action="Look at the load, the memory and the disk of the receiver.",
        harmless="A receiver that is paused in a debugger, or a virtual machine that is moved.",
        layer="host",
    ),
    _rule(
        "NET-RESET",
        "low",
        "likely",
        "A reset that neither side sent",
        "MS-MQQB 2.1.1",
        meaning="A reset ended the connection, and something speaks against the host whose address it "
        "bears: its hop limit (TTL) is another one than in all other packets of this host, or its sequence "
        "number does not fit the connection. Firewalls, load balancers and intrusion prevention send such "
        "resets.",
        action="Look for a device between both hosts that resets connections, and read its log.",
        harmless="Packets that take two paths of different length. A reset that is left from an earlier "
        "connection with the same ports.",
        layer="network",
    ),
    _rule(
        "NET-IDLE",
        "low",
        "likely",
        "A connection that was dropped while it was idle",
        "MS-MQQB 3.1.6.2",
        meaning="A connection had no traffic for a minute or more. What a host sent then was never "
        "acknowledged, or was reset by a device between both hosts. Firewalls and load balancers forget "
        "idle connections: often after 4 to 6 minutes in a cloud, after 30 to 60 minutes elsewhere. "
        "Message Queuing closes an idle session by itself after 2 or 5 minutes.",
        action="Raise the idle time-out of the device above that of Message Queuing, or let the hosts send "
        "TCP keep-alives more often.",
        harmless="A receiver that was restarted in the meantime.",
        layer="network",
    ),
    _rule(
        "NET-MTU",
        "low",
        "likely",
        "Packets that are too big for the path",
        "MS-MQQB 2.1.1",
        meaning="A router said by ICMP that packets are too big for its next link (fragmentation needed, or "
        "packet too big with IPv6), and the sender went on sending packets of that size. Small packets pass, "
        "so sessions open and large messages get stuck.",
        action="Let ICMP pass the firewalls up to the sender, or lower the MTU of the sender to the number "
        "that the router gives.",
        harmless="A sender that heeded the message: then it sends smaller packets at once.",
        layer="network",
    ),
    _rule(
        "RPC-RARE",
        "medium",
        "likely",
        "A client reads a queue that another one usually reads",
        "MS-MQRR 3.1.4.7",
        meaning="One client reads most of the messages of a queue. Another client looked at some of "
        "them, or took them. The usual reader never gets a message that was taken.",
        action="Find out who uses the client, and whether it may read the queue.",
        harmless="An administrator who looks for a message, or a second reader that just started.",
        layer="application",
    ),
    _rule(
        "RPC-FAILED",
        "medium",
        "certain",
        "A queue that could not be opened or read",
        "MS-MQRR 3.1.4.2, MS-MQRR 3.1.4.7",
        meaning="A client asked to open a queue or to read it, and the server refused. If access was "
        "denied, the account of the client has no right to the queue: a setting is wrong, or somebody "
        "tries to get in.",
        action="Look up the status code of the answer. If access was denied, give the account the right "
        "to the queue, or find out who tries to read it.",
        harmless="A program that checks whether a queue exists, or a client that stopped waiting when "
        "its time was up.",
    ),
)
