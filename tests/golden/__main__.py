"""What commands print, kept: a change of the package shows as the outputs that it changes.

``make golden`` renders every command, format and capture, and compares digests with those in lists/. Screens
that people look at are kept whole in screens/. ``make golden-accept GROUP=messages REASON="..."`` keeps what
is printed now, with the reason in the list. ``make golden-diff REV=main`` renders another revision, too, and
prints what differs as text. All of it says that something changed, never that it is right: tests say that.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

_TREE = "MSMQ_WIRE_GOLDEN_TREE"
if _TREE in os.environ:
    # Another revision of the package, with the cases and captures of this one.
    sys.path.insert(0, os.environ[_TREE])

# ruff: noqa: E402  (which tree is rendered is decided above)
from tests.golden.cases import PAGES, ROOT, all_cases
from tests.golden.comparing import Key, differences
from tests.golden.lists import Found, groups, kept, screen_name, write
from tests.golden.rendering import Output, digest, pages, render, rendered

_NAMED = 4
_SHOWN = 3


class Rendering:
    """All outputs of some lists, as they are now; ``torn`` are those that a large capture would change."""

    def __init__(self, chosen: Iterable[str] | None = None) -> None:
        wanted = None if chosen is None else set(chosen)
        self.lists: dict[str, Found] = defaultdict(lambda: Found({}, {}))
        self.torn: list[str] = []
        for one in render([case for case in all_cases() if wanted is None or case.group in wanted]):
            case = one.case
            self._keep((case.group, case.subject, case.form), one.digest, one.screen)
            if not one.agrees:
                self.torn.append(" ".join(case.arguments))
        if wanted is None or PAGES in wanted:
            for name, text in pages().items():
                self._keep((PAGES, name, "text"), digest(Output(0, text.encode(), b"")), None)

    def _keep(self, key: Key, reported: str, screen: str | None) -> None:
        group, subject, form = key
        found = self.lists[group]
        found.digests[subject, form] = reported
        if screen is not None:
            found.screens[screen_name(subject, form)] = screen

    @property
    def digests(self) -> dict[Key, str]:
        """The digests of all lists together."""
        return {
            (group, subject, form): reported
            for group, found in self.lists.items()
            for (subject, form), reported in found.digests.items()
        }


def check() -> int:
    """Compare with what is kept, and say which outputs changed."""
    now, status = Rendering(), 0
    for group in sorted({*now.lists, *groups()}):
        before, after = kept(group), now.lists[group]
        changed = [
            key
            for key in (*before.digests, *(set(after.digests) - set(before.digests)))
            if before.digests.get(key) != after.digests.get(key)
        ]
        if changed or before.screens != after.screens:
            status = 1
            _tell(group, changed, before, after)
    for one in now.torn:
        print(f"on the path of large captures it differs: msmq-wire {one}")
    if now.torn:
        return 1
    if status:
        print(
            'Read it all: make golden-diff REV=HEAD. Is it right? make golden-accept GROUP=... REASON="..."'
        )
    else:
        print(f"{len(now.digests)} outputs are those of the lists")
    return status


def _tell(group: str, changed: list[tuple[str, str]], before: Found, after: Found) -> None:
    forms = Counter(form for _, form in changed)
    counts = ", ".join(f"{form} {count}" for form, count in forms.most_common())
    subjects = list(dict.fromkeys(subject for subject, _ in changed))
    more = f" and {len(subjects) - _NAMED} more" if len(subjects) > _NAMED else ""
    print(f"{group}: {len(changed)} of {len(after.digests)} outputs changed ({counts})")
    print(f"  {', '.join(subjects[:_NAMED])}{more}")
    screens = [
        {(group, name, "screen"): text for name, text in one.screens.items()} for one in (before, after)
    ]
    names = [key for key in screens[1] if screens[0].get(key) != screens[1][key]][:_SHOWN]
    for line in differences(*({key: one[key] for key in names if key in one} for one in screens)):
        print(f"  {line}".rstrip())


def accept(group: str, reason: str) -> int:
    """Keep what is printed now of a list, or of all, with the reason."""
    known = {case.group for case in all_cases()} | {PAGES}
    if group != "all" and group not in known:
        print(f"no list is called {group}: all, {', '.join(sorted(known))}", file=sys.stderr)
        return 2
    if not reason.strip():
        print("say why: REASON=...", file=sys.stderr)
        return 2
    now = Rendering(None if group == "all" else (group,))
    if now.torn:
        print(f"on the path of large captures it differs: msmq-wire {now.torn[0]}", file=sys.stderr)
        return 1
    day = time.strftime("%Y-%m-%d", time.gmtime())
    for name, found in now.lists.items():
        if found != kept(name):
            write(name, found, f"{day} {' '.join(reason.split())}")
            print(f"{name}: {len(found.digests)} outputs kept")
    return 0


def diff(revision: str, group: str | None) -> int:
    """Render another revision, too, and print what differs, in one list or in all.

    The captures are those of this tree.
    """
    with tempfile.TemporaryDirectory(prefix="msmq-wire-golden-") as folder:
        command = ["git", "archive", revision, "msmq_wire", "docs", "dissectors", "mkdocs.yml"]
        made = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if made.returncode:
            print(made.stderr.decode(errors="replace").strip(), file=sys.stderr)
            return 2
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
            # The archive is git's own of this project; the filter is in Python from 3.11.4 on.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        # What the program brings along, and what pages are made from, stands there, too.
        for name in ("fixtures", "tests"):
            Path(folder, name).symlink_to(ROOT / name)
        trees = (folder, str(ROOT))
        digests = [_in_tree(tree, group, None) for tree in trees]
        keys = [key for key in {**digests[0], **digests[1]} if digests[0].get(key) != digests[1].get(key)]
        texts = [
            _in_tree(tree, group, [key for key in keys if key in had])
            for tree, had in zip(trees, digests, strict=True)
        ]
    for line in differences(*texts):
        print(line)
    print(f"{len(keys)} of {len(digests[1])} outputs differ from {revision}")
    return 1 if keys else 0


def _in_tree(tree: str, group: str | None, keys: list[Key] | None) -> dict[Key, str]:
    """The digests of the outputs of a tree, of one list or of all; or the text of some."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.golden", "tree"],
        input=json.dumps((group, keys)),
        cwd=ROOT,
        env={**os.environ, _TREE: tree},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {(group, subject, form): reported for (group, subject, form), reported in json.loads(ran.stdout)}


def tree() -> int:
    """Print as JSON what `_in_tree` asks standard input for."""
    group, keys = json.load(sys.stdin)
    if keys is None:
        found = Rendering((group,) if group else None).digests
    else:
        wanted = set(map(tuple, keys))
        made = pages() if any(key[0] == PAGES for key in wanted) else {}
        found = {
            (PAGES, name, "text"): text for name, text in made.items() if (PAGES, name, "text") in wanted
        }
        for case in all_cases():
            key = (case.group, case.subject, case.form)
            if key in wanted:
                found[key] = rendered(case).text()
    json.dump(list(found.items()), sys.stdout)
    return 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="tests.golden", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("check")
    actions.add_parser("tree")
    accepting = actions.add_parser("accept")
    accepting.add_argument("group")
    accepting.add_argument("reason")
    comparing = actions.add_parser("diff")
    comparing.add_argument("revision")
    comparing.add_argument("group", nargs="?")
    given = parser.parse_args()
    os.chdir(ROOT)
    match given.action:
        case "accept":
            return accept(given.group, given.reason)
        case "diff":
            return diff(given.revision, given.group)
        case "tree":
            return tree()
    return check()


if __name__ == "__main__":
    sys.exit(main())
