"""What the report cannot say: what was not captured, not opened, not kept or not shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msmq_wire.report.fates import Fates
from msmq_wire.report.markup import Markup, joined, tag
from msmq_wire.report.tables import table, when
from msmq_wire.report.totals import Totals
from msmq_wire.report.wording import bytes_text, count_text
from msmq_wire.sessions import Story

_MOST_LINES = 50


def limit_section(
    totals: Totals, story: Story, fates: Fates, skipped: Counter[str], notices: Sequence[str]
) -> Markup:
    """A list of what is missing, and a table of the gaps."""
    lines = [*notices[:_MOST_LINES]]
    if len(notices) > _MOST_LINES:
        lines.append(f"{count_text(len(notices) - _MOST_LINES, 'other notice')}")
    lines += totals.of_files[:_MOST_LINES]
    gaps = totals.holes
    if gaps:
        known = f", {bytes_text(totals.missing)} as far as that is known" if totals.missing else ""
        lines.append(
            f"{count_text(gaps, 'gap')} in connections{known}: bytes that were sent and not captured."
        )
    if totals.cut:
        lines.append(f"{count_text(totals.cut, 'packet')} could not be decoded to the end.")
    if totals.sealed:
        lines.append(
            f"{count_text(totals.sealed, 'call')} sealed: without a key their content cannot be shown."
        )
    late = sum(not session.started for session in story.sessions)
    if late:
        lines.append(f"{count_text(late, 'session')} began before the capture.")
    uncertain = sum(not session.certain for session in story.sessions) - late
    if uncertain > 0:
        lines.append(
            f"{count_text(uncertain, 'session')} with parts missing: which messages were not acknowledged is "
            "not certain."
        )
    for name in story.left_out.__struct_fields__:
        count = getattr(story.left_out, name)
        if count:
            judged = ", and were judged before the end of the capture" if name in _JUDGED else ""
            lines.append(
                f"{count:,} {_NAMES.get(name, name)} are not listed one by one{judged}: too many were "
                "captured."
            )
    if fates.every > 1:
        lines.append(
            f"What became of a message is shown for one in {fates.every} of {fates.messages:,} messages."
        )
    if totals.messages > len(totals.rows):
        lines.append(f"The table of messages has {len(totals.rows):,} of {totals.messages:,} messages.")
    if skipped:
        most = ", ".join(f"{count:,} {reason}" for reason, count in skipped.most_common(6))
        lines.append(f"{count_text(skipped.total(), 'frame')} skipped: {most}.")
    lines.append("A message without a captured acknowledgment may still have arrived.")
    parts = [tag("ul", *(tag("li", line) for line in lines))]
    if totals.gaps:
        rows = [
            (
                when(gap.time),
                gap.src,
                gap.dst,
                "not known" if gap.missing is None else f"{gap.missing:,}",
                gap.reason.replace("_", " "),
                gap.frame or "-",
            )
            for gap in totals.gaps
        ]
        heads = ("Time (UTC)", "From", "To", "#Missing bytes", "Why", "#Frame")
        parts.append(table("Gaps", heads, rows, more=gaps - len(rows)))
    return joined(*parts)


_JUDGED = ("sessions", "streams", "lives")
_NAMES = {
    "streams": "transactional sequences",
    "reads": "remote reads",
    "lives": "messages",
    "waiting": "packets that waited for an acknowledgment",
    "strays": "acknowledgments of messages that were not seen",
}
