"""Every number of a signature for Suricata that was ever given, by its rule; the sid is it and the base.

The rule kept here: nothing is taken out or moved. A number whose signature is gone stays, and is not used
again.
"""

from __future__ import annotations

__all__ = ["GONE", "NUMBERS"]

NUMBERS: dict[str, tuple[int, ...]] = {
    "": (1, 2, 3, 900, 901, 902, 903, 904, 905, 906, 907, 910, 911),
    "FRM-SIG": (100, 101),
    "FRM-SIZE-MIN": (110, 111, 112, 113),
    "FRM-SIZE-MAX": (115,),
    "FLG-BASE-RSV": (200,),
    "FLG-USER-X3": (205,),
    "FLG-USER-RSV": (210,),
    "FLG-AH-WIRE": (215,),
    "FLG-QTYPE": (220,),
    "FLG-MP": (225,),
    "FLG-DM": (230, 231, 232),
    "FLG-RC": (235,),
    "FLG-IN-DH": (240, 241),
    "LEN-ENV": (300,),
    "SES-NAKED": (400,),
    "SES-ORDER": (405, 406),
    "SES-REFUSED": (410, 411),
    "SES-OS": (415,),
    "SES-PAD": (416,),
    "SES-PARM": (420, 421, 422, 423, 424),
    "TIM-MAGIC": (500,),
    "CNT-QMADDR": (520,),
    "RPC-OLD": (600, 601),
    "RPC-LEVEL": (605,),
    "RPC-ANON": (610, 611, 612),
    "RPC-OPNUM": (620, 621, 622, 623, 624, 625, 626),
    "RPC-FMTLEN": (640, 641),
    "RPC-PURGE": (630, 631, 632),
    "SRM-ID": (700,),
    "SRM-XML": (706,),
    "SRM-HTTP": (705,),
    "BOD-BINFMT": (720, 721),
    "PNG-SIG": (800, 801),
    "PNG-SCAN": (810,),
    "PNG-RF": (805,),
    "DSD-FORM": (820,),
    "FPR-SAMPLE": (850, 851, 852, 853),
    "FPR-ZGRAB": (855,),
    "FPR-METASPLOIT": (860, 861),
    "FPR-SCRIPT": (865,),
    "FPR-SENSOR": (870,),
}
"""Under no rule those that set bits, and the sightings."""

GONE: frozenset[int] = frozenset()
"""Numbers whose signature is no more."""
