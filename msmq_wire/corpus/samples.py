"""All samples, by group and stem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias

from msmq_wire.corpus import structures
from msmq_wire.corpus.captures import CAPTURES, capture_samples
from msmq_wire.corpus.messages import REQUESTS, pdu_samples, pdus, request_samples
from msmq_wire.corpus.sample import Sample
from msmq_wire.corpus.stubs import STUBS, stub_samples

_Maker: TypeAlias = Callable[[], Iterator[Sample]]

GROUPS: Final[Mapping[str, Mapping[str, _Maker]]] = {
    **{
        group: {stem: partial(structures.structure_samples, group, stem) for stem in stems}
        for group, stems in structures.GROUPS.items()
    },
    "stubs": {stem: partial(stub_samples, stem) for stem in STUBS},
    "pdus": {name: partial(pdu_samples, name) for name in pdus()},
    "srmp": {name: partial(request_samples, name) for name in REQUESTS},
    "captures": {name: partial(capture_samples, name) for name in CAPTURES},
}
"""What makes the samples of each stem, by group."""


def every_sample(only: str | None = None) -> Iterator[Sample]:
    """The samples of a group, of a stem, or all of them, in the order of `GROUPS`.

    Raises ValueError where ``only`` is no group and no stem.
    """
    makers = [
        maker
        for group, stems in GROUPS.items()
        for stem, maker in stems.items()
        # A group may have the name of a structure in another one.
        if only in ((None, group) if only in GROUPS else (None, stem, f"{group}/{stem}"))
    ]
    if not makers:
        raise ValueError(f"no group and no structure is called {only!r}")
    for maker in makers:
        yield from maker()
