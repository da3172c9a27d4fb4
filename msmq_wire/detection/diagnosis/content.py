"""Questions 10 and 11: whether bodies are clear, who signed, what wrote the bodies.

The rule kept here: signatures are verified on request only; encrypted bodies are opened if the user gave a
key.
"""

from __future__ import annotations

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.facts import Facts
from msmq_wire.detection.diagnosis.phrases import Phrases, count, each_time, listed, part
from msmq_wire.detection.diagnosis.security_counts import Tally
from msmq_wire.sessions import Moment


def security(facts: Facts, resends: int, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 10, [MS-MQMQ] 2.2.20.6 and 2.2.19.3."""
    found = facts.security
    with_body = found.clear.count + found.encrypted.count
    if not found.messages:
        return
    if found.clear.count:
        of = part(found.clear.count, with_body, "message body", "message bodies")
        are, them = ("is", "it") if found.clear.count == 1 else ("are", "them")
        text = f"{of} {are} in clear text: whoever sees the network can read {them}; first in "
        builder.say(f"{text}{words.frame(found.clear.first)}.", found.clear.first, attention="info")
    if found.encrypted.count:
        of = part(found.encrypted.count, with_body, "message body", "message bodies")
        verb = "is" if found.encrypted.count == 1 else "are"
        text = f"{of} {verb} encrypted with {_names(found.encryption)}; "
        builder.say(f"{text}first in {words.frame(found.encrypted.first)}.", found.encrypted.first)
    if found.signed.count:
        sizes = listed([str(size) for size in sorted(found.signature_sizes)])
        verb = "is" if found.signed.count == 1 else "are"
        text = f"{part(found.signed.count, found.messages, 'message')} {verb} signed with "
        text += f"{_names(found.hashes)}, signatures of {sizes} bytes; first "
        text += f"{words.frame(found.signed.first)}. {_verified(found.verdicts, words)}"
        builder.say(text, found.signed.first)
    else:
        builder.say("No message is signed." if found.messages > 1 else "The message is not signed.")
    if found.subjects:
        builder.say(f"Certificates: {_names(found.subjects)}.", *_firsts(found.subjects))
    if found.senders:
        builder.say(f"Senders named: {_names(found.senders)}.", *_firsts(found.senders))
    builder.add_caveats(each_time(resends, facts.brought))
    builder.facts = {
        "messages": found.messages,
        "clear": found.clear.count,
        "encrypted": found.encrypted.count,
        "signed": found.signed.count,
        "encryption": _counts(found.encryption),
        "hashes": _counts(found.hashes),
        "senders": _counts(found.senders),
        "certificates": _counts(found.subjects),
        **({"verdicts": _counts(found.verdicts)} if found.verdicts else {}),
    }


def _verified(verdicts: dict[str, Tally], words: Phrases) -> str:
    if not verdicts:
        return "No signature was verified here."
    reported = [
        f"{tally.count:,} {verdict} (first {words.frame(tally.first)})" for verdict, tally in verdicts.items()
    ]
    return f"Checked here: {listed(reported)}."


def _names(tallies: dict[str, Tally]) -> str:
    ranked = sorted(tallies.items(), key=lambda one: -one[1].count)
    return listed([f"{name} ({tally.count:,})" if len(ranked) > 1 else name for name, tally in ranked])


def _firsts(tallies: dict[str, Tally]) -> list[Moment | None]:
    return [tally.first for tally in tallies.values()]


def _counts(tallies: dict[str, Tally]) -> dict[str, int]:
    return {name: tally.count for name, tally in list(tallies.items())[:64]}


def _cut(cut: int, total: int) -> str:
    """How many bodies are truncated."""
    if not cut:
        return ""
    if total == 1:
        return "; it is not whole"
    return f"; {cut:,} of them {'is' if cut == 1 else 'are'} not whole"


def bodies(facts: Facts, resends: int, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 11, [MS-MQMQ] 2.2.12."""
    found = facts.bodies
    kinds = sorted(found.kinds.values(), key=lambda kind: -kind.count)
    for kind in kinds[:MOST]:
        size = count(kind.bytes, "byte")
        where = f" for {kind.queue}" if kind.queue else ""
        text = f"{count(kind.count, 'message body', 'message bodies')}{where}: {kind.opened}"
        text += f", as {kind.convention} writes it" if kind.convention else ""
        text += f", {size}, " if kind.count == 1 else f", {size} in total, the first "
        text += f"in {words.frame(kind.first)}"
        text += _cut(kind.cut, kind.count)
        builder.say(f"{text}.", kind.first)
    if len(kinds) > MOST or found.unlooked:
        rest = sum(kind.count for kind in kinds[MOST:]) + found.unlooked
        builder.say(f"And {count(rest, 'more body', 'more bodies')}.")
    if found.total:
        builder.say("msmq-wire messages FILE --bodies DIR saves them.")
        builder.add_caveats(each_time(resends, facts.brought))
    builder.facts = {
        "bodies": found.total,
        "without_body": found.empty,
        "kinds": [
            {
                "queue": kind.queue,
                "kind": kind.kind,
                "opened": kind.opened,
                "convention": kind.convention,
                "body_type": kind.body_type,
                "count": kind.count,
                "bytes": kind.bytes,
                "cut": kind.cut,
            }
            for kind in kinds[:64]
        ],
    }
