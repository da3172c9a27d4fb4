"""What becomes of each rule's claims when captures are degraded.

``python -m tests.imperfect`` judges every whole capture with every degradation, which takes minutes. It
prints how many claims of each rule were kept as they were, and how many were lowered or withheld for what the
capture could not see. The others are about what was not captured, or are another rule's.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from msmq_wire.detection import RULES
from tests.imperfect.degradations import DEGRADATIONS, degraded
from tests.imperfect.judging import claims_of, frames_of, judged
from tests.imperfect.test_degraded import CAPTURES, FEWEST, is_whole


def main() -> None:
    """Print a line for each rule that says something of a whole capture."""
    said: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    lowered: Counter[str] = Counter()
    withheld: Counter[str] = Counter()
    for path in CAPTURES:
        if not is_whole(path):
            continue
        frames = frames_of(path)
        if len(frames) < FEWEST:
            continue
        claims = claims_of(judged([path]))
        for name in DEGRADATIONS:
            with tempfile.TemporaryDirectory() as folder:
                files, how = degraded(name, path, frames, Path(folder))
                if not any(how.files):
                    continue
                less = judged(files, how.memory)
            left = claims_of(less)
            said.update(id_ for id_, _ in claims)
            kept.update(claim[0] for claim, severity in claims.items() if left.get(claim) == severity)
            lowered += less.lowered
            withheld += less.withheld
    print(f"{'rule':16} {'said':>8} {'kept':>8} {'lowered':>8} {'withheld':>8}")
    for id_ in RULES:
        if said[id_]:
            print(f"{id_:16} {said[id_]:8,} {kept[id_]:8,} {lowered[id_]:8,} {withheld[id_]:8,}")


if __name__ == "__main__":
    main()
