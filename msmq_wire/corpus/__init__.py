"""Bytes to try a parser with, and what they mean: the same at every run, made from the declarations.

`every_sample` makes all of it; ``msmq-wire corpus`` writes it to files.
"""

from __future__ import annotations

from msmq_wire.corpus.sample import Expected, Sample, SampleEdit
from msmq_wire.corpus.samples import GROUPS, every_sample

__all__ = ["GROUPS", "Expected", "Sample", "SampleEdit", "every_sample"]
