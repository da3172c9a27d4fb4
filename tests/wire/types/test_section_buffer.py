"""SectionBuffer, [MS-MQRR] 2.2.6."""

from __future__ import annotations

from msmq_wire.wire.types.section_buffer import SectionBuffer
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "01 00 00 00 "  # SectionBufferType
        "06 00 00 00 "  # SectionSizeAlloc
        "03 00 00 00 "  # SectionSize
        "aa bb cc "  # what pSectionBuffer points at
    ),
    value=SectionBuffer(section_buffer_type=1, section_size_alloc=6, section_size=3, data=b"\xaa\xbb\xcc"),
    broken=[
        ({0: "05", 4: "03"}, [("section-buffer-type", "section_buffer_type", 0, 4)]),
        ({0: "02"}, [("section-size-alloc-whole", "section_size_alloc", 4, 4)]),
        ({4: "02"}, [("section-size-alloc", "section_size_alloc", 4, 4)]),
    ],
    borders=[
        {0: "00", 4: "03"},
        {0: "02", 4: "03"},
        {0: "04", 4: "03"},
        {0: "03"},
        {4: "03"},
        {4: "ffffffff"},
    ],
    refused=[
        ({}, 3, ("missing-bytes", "section_buffer_type", 0)),
        ({}, 14, ("missing-bytes", "data", 12)),
        ({8: "ffffffff"}, None, ("missing-bytes", "data", 12)),
    ],
    contradictions=[
        ({"section_size": 2}, "data"),
        ({"section_size_alloc": 1 << 32}, "section_size_alloc"),
    ],
)
