"""Names of link types, ethertypes, IP protocols and tunnels that are not read.

The rule kept here: names are those of libpcap, IEEE and IANA, so that whoever meets one can look it up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct

_LINKS = """
0:NULL 1:EN10MB 3:AX25 6:IEEE802 7:ARCNET 8:SLIP 9:PPP 10:FDDI 50:PPP_SERIAL 51:PPP_ETHER
99:SYMANTEC_FIREWALL 100:ATM_RFC1483 101:RAW 102:SLIP_BSDOS 103:PPP_BSDOS 104:C_HDLC 105:IEEE802_11
106:ATM_CLIP 107:FRELAY 108:LOOP 109:ENC 113:LINUX_SLL 114:LTALK 117:PFLOG 119:PRISM_HEADER
122:IP_OVER_FC 123:SUNATM 127:IEEE802_11_RADIO 129:ARCNET_LINUX 130:JUNIPER_MLPPP 131:JUNIPER_MLFR
132:JUNIPER_ES 133:JUNIPER_GGSN 134:JUNIPER_MFR 135:JUNIPER_ATM2 136:JUNIPER_SERVICES
137:JUNIPER_ATM1 138:APPLE_IP_OVER_IEEE1394 139:MTP2_WITH_PHDR 140:MTP2 141:MTP3 142:SCCP 143:DOCSIS
144:LINUX_IRDA 147:USER0 148:USER1 149:USER2 150:USER3 151:USER4 152:USER5 153:USER6 154:USER7
155:USER8 156:USER9 157:USER10 158:USER11 159:USER12 160:USER13 161:USER14 162:USER15
163:IEEE802_11_RADIO_AVS 164:JUNIPER_MONITOR 165:BACNET_MS_TP 166:PPP_PPPD 167:JUNIPER_PPPOE
168:JUNIPER_PPPOE_ATM 169:GPRS_LLC 170:GPF_T 171:GPF_F 174:JUNIPER_PIC_PEER 175:ERF_ETH 176:ERF_POS
177:LINUX_LAPD 178:JUNIPER_ETHER 179:JUNIPER_PPP 180:JUNIPER_FRELAY 181:JUNIPER_CHDLC 182:MFR
183:JUNIPER_VP 184:A429 185:A653_ICM 186:USB_FREEBSD 187:BLUETOOTH_HCI_H4 188:IEEE802_16_MAC_CPS
189:USB_LINUX 190:CAN20B 191:IEEE802_15_4_LINUX 192:PPI 193:IEEE802_16_MAC_CPS_RADIO 194:JUNIPER_ISM
195:IEEE802_15_4 196:SITA 197:ERF 198:RAIF1 199:IPMB_KONTRON 200:JUNIPER_ST
201:BLUETOOTH_HCI_H4_WITH_PHDR 202:AX25_KISS 209:IPMB_LINUX 215:IEEE802_15_4_NONASK_PHY
216:LINUX_EVDEV 219:MPLS 220:USB_LINUX_MMAPPED 221:DECT 222:AOS 223:WIHART 224:FC_2
225:FC_2_WITH_FRAME_DELIMS 226:IPNET 227:CAN_SOCKETCAN 228:IPV4 229:IPV6 230:IEEE802_15_4_NOFCS
231:DBUS 232:JUNIPER_VS 233:JUNIPER_SRX_E2E 234:JUNIPER_FIBRECHANNEL 235:DVB_CI 236:MUX27010
237:STANAG_5066_D_PDU 238:JUNIPER_ATM_CEMIC 239:NFLOG 240:NETANALYZER 241:NETANALYZER_TRANSPARENT
242:IPOIB 243:MPEG_2_TS 244:NG40 245:NFC_LLCP 246:PFSYNC 247:INFINIBAND 248:SCTP 249:USBPCAP
250:RTAC_SERIAL 251:BLUETOOTH_LE_LL 253:NETLINK 254:BLUETOOTH_LINUX_MONITOR 255:BLUETOOTH_BREDR_BB
256:BLUETOOTH_LE_LL_WITH_PHDR 257:PROFIBUS_DL 258:PKTAP 259:EPON 260:IPMI_HPM_2 261:ZWAVE_R1_R2
262:ZWAVE_R3 263:WATTSTOPPER_DLM 264:ISO_14443 265:RDS 266:USB_DARWIN 267:OPENFLOW 268:SDLC
269:TI_LLN_SNIFFER 271:VSOCK 272:NORDIC_BLE 273:DOCSIS31_XRA31 274:ETHERNET_MPACKET
275:DISPLAYPORT_AUX 276:LINUX_SLL2 278:OPENVIZSLA 279:EBHSCR 280:VPP_DISPATCH 281:DSA_TAG_BRCM
282:DSA_TAG_BRCM_PREPEND 283:IEEE802_15_4_TAP 284:DSA_TAG_DSA 285:DSA_TAG_EDSA 286:ELEE
287:Z_WAVE_SERIAL 288:USB_2_0 289:ATSC_ALP
"""
LINK_NAMES: Mapping[int, str] = {
    int(number): name for number, _, name in (one.partition(":") for one in _LINKS.split())
}
"""The names of libpcap, without LINKTYPE_, by number."""

ETHERTYPES: Mapping[int, str] = {
    0x0806: "ARP",
    0x0842: "Wake-on-LAN",
    0x22F0: "AVTP",
    0x22F3: "TRILL: not read",
    0x22EA: "SRP",
    0x6002: "DEC MOP",
    0x6003: "DECnet",
    0x8035: "RARP",
    0x809B: "AppleTalk",
    0x80F3: "AARP",
    0x8137: "IPX",
    0x8200: "Aruba: not read",
    0x8204: "QNX Qnet",
    0x8240: "Aruba: not read",
    0x8808: "Ethernet flow control",
    0x8809: "slow protocols",
    0x8819: "CobraNet",
    0x883E: "WCCP: not read",
    0x8863: "PPPoE discovery",
    0x886D: "Intel ANS",
    0x8870: "jumbo frames",
    0x887B: "HomePlug 1.0",
    0x888E: "EAPOL",
    0x8892: "PROFINET",
    0x889A: "HyperSCSI",
    0x88A2: "ATA over Ethernet",
    0x88A4: "EtherCAT",
    0x88AB: "Ethernet Powerlink",
    0x88B5: "local experiment 1",
    0x88B6: "local experiment 2",
    0x88B8: "GOOSE",
    0x88B9: "GSE",
    0x88BA: "sampled values",
    0x88C7: "802.11 pre-authentication",
    0x88CC: "LLDP",
    0x88CD: "SERCOS III",
    0x88E1: "HomePlug AV",
    0x88E3: "MRP",
    0x88E5: "MACsec: not read",
    0x88E7: "provider backbone bridge: not read",
    0x88F5: "MVRP",
    0x88F6: "MMRP",
    0x88F7: "PTP",
    0x88F8: "NC-SI",
    0x88FB: "PRP",
    0x8902: "connectivity fault management",
    0x8903: "FabricPath: not read",
    0x8906: "FCoE",
    0x8914: "FCoE initialization",
    0x8915: "RoCE",
    0x891D: "TTEthernet",
    0x8926: "VN-Tag: not read",
    0x892F: "HSR",
    0x893A: "IEEE 1905.1",
    0x893F: "E-Tag: not read",
    0x894F: "NSH: not read",
    0x9000: "loopback test",
}
"""By number; those that are read are not among them."""

IP_PROTOCOLS: Mapping[int, str] = {
    2: "IGMP",
    3: "GGP",
    8: "EGP",
    9: "IGP",
    27: "RDP",
    33: "DCCP",
    46: "RSVP",
    50: "ESP: not read",
    54: "NARP",
    55: "MOBILE",
    59: "no next header",
    88: "EIGRP",
    89: "OSPF",
    94: "IP in IP with a header: not read",
    97: "EtherIP: not read",
    98: "ENCAP: not read",
    103: "PIM",
    108: "IPComp: not read",
    112: "VRRP",
    113: "PGM, which may carry multicast messages of MSMQ: not read",
    115: "L2TP: not read",
    118: "STP",
    124: "IS-IS",
    132: "SCTP",
    133: "Fibre Channel",
    136: "UDP-Lite",
    137: "MPLS in IP: not read",
    143: "Ethernet: not read",
}
"""By number; those that are read are not among them."""

_u16 = Struct(">H").unpack_from
_MOST_LABELS = 16
_IP = (b"\x08\x00", b"\x86\xdd")


def _gpe(data: bytes, at: int, end: int) -> bool:
    """VXLAN-GPE: the bits for a network and for a next protocol; nothing is in the reserved bytes."""
    return end - at >= 8 and data[at] & 0x0C == 0x0C and data[at + 1 : at + 3] == b"\0\0" and not data[at + 7]


def _gtp(data: bytes, at: int, end: int) -> bool:
    """GTP-U, version 1: data of a user, with a length that is that of the datagram."""
    return (
        end - at >= 8
        and data[at] & 0xF0 == 0x30
        and data[at + 1] == 0xFF
        and _u16(data, at + 2)[0] == end - at - 8
    )


def _mpls(data: bytes, at: int, end: int) -> bool:
    """MPLS in UDP: labels up to the one that says it is the last, and an IP packet as long as the rest."""
    for _ in range(_MOST_LABELS):
        if end - at < 8:
            return False
        last = data[at + 2] & 1
        at += 4
        if last:
            return (data[at] >> 4 == 4 and end - at >= 20 and _u16(data, at + 2)[0] == end - at) or data[
                at
            ] >> 4 == 6
    return False


def _capwap(data: bytes, at: int, end: int) -> bool:
    """CAPWAP, data channel: version 0, and a header of at least 8 bytes that fits."""
    size = (data[at + 1] >> 3) * 4 if end - at >= 8 else 0
    return data[at : at + 1] in (b"\0", b"\1") and 8 <= size <= end - at


def _l2tp(data: bytes, at: int, end: int) -> bool:
    """L2TP, version 2: no reserved bit, and a length that fits, where there is one."""
    if end - at < 6:
        return False
    (word,) = _u16(data, at)
    if word & 0x34FF != 2:
        return False
    return _u16(data, at + 2)[0] == end - at if word & 0x4000 else not word & 0x8000


def _is_ip(data: bytes, at: int, end: int) -> bool:
    """An IP packet as long as the rest."""
    if end - at >= 40 and data[at] >> 4 == 6:
        return bool(_u16(data, at + 4)[0] == end - at - 40)
    return bool(end - at >= 20 and data[at] >> 4 == 4 and _u16(data, at + 2)[0] == end - at)


def _teredo(data: bytes, at: int, end: int) -> bool:
    """Teredo: IPv6, behind an authentication of RFC 4380 5.1.1 or an origin where there are such."""
    if end - at >= 4 and data[at : at + 2] == b"\0\1":
        at += 13 + data[at + 2] + data[at + 3]
    if data[at : at + 2] == b"\0\0":
        at += 8
    return data[at : at + 1] >= b"\x60" and _is_ip(data, at, end)


def _lisp(data: bytes, at: int, end: int) -> bool:
    """LISP, RFC 9300 5.3: a header of 8 bytes before an IP packet."""
    return _is_ip(data, at + 8, end)


def _esp(data: bytes, at: int, end: int) -> bool:
    """ESP in UDP, RFC 3948: no 0 where IKE has one, and more than a byte that keeps a way open."""
    return end - at >= 16 and data[at : at + 4] != bytes(4)


def _gre(data: bytes, at: int, end: int) -> bool:
    """GRE in UDP, RFC 8086: version 0, no reserved bit, and IP."""
    return end - at >= 8 and data[at] & 0x4F == 0 and not data[at + 1] and data[at + 2 : at + 4] in _IP


def _ayiya(data: bytes, at: int, end: int) -> bool:
    """AYIYA: an identity of 16 bytes, SHA-1, and IPv6 that is forwarded."""
    return end - at >= 44 and data[at] == 0x41 and data[at + 1] >> 4 == 5 and data[at + 3] == 41


NAMED_TUNNELS: Mapping[int, tuple[str, Callable[[bytes, int, int], bool]]] = {
    1701: ("L2TP", _l2tp),
    2152: ("GTP-U", _gtp),
    3544: ("Teredo", _teredo),
    4341: ("LISP", _lisp),
    4500: ("ESP", _esp),
    4754: ("GRE in UDP", _gre),
    4790: ("VXLAN-GPE", _gpe),
    5072: ("AYIYA", _ayiya),
    5247: ("CAPWAP", _capwap),
    6635: ("MPLS in UDP", _mpls),
}
"""Tunnels by the UDP port of an end: a name, and what a datagram has to begin with."""


def tunnel_of(port: int, data: bytes, at: int, end: int) -> str:
    """The name of the tunnel that a datagram to or from a port is, which is not read; empty for none."""
    named = NAMED_TUNNELS.get(port)
    return named[0] if named is not None and named[1](data, at, end) else ""
