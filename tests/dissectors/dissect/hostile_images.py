"""Images made by hand, a few KB each, in which a test breaks one thing."""

from __future__ import annotations

import struct
import zlib
from uuid import UUID

SECTOR = 512


def text_of(parent: str | None, *extents: str) -> bytes:
    """A VMDK descriptor."""
    head = "# Disk DescriptorFile\nversion=1\nCID=00000001\n"
    head += (
        "parentCID=ffffffff\n" if parent is None else f'parentCID=00000001\nparentFileNameHint="{parent}"\n'
    )
    return (head + "\n".join(extents) + "\n").encode()


def grains(
    *cells: bytes | int | None,
    grain: int = 8,
    capacity: int | None = None,
    packed: bool = False,
    text: bytes = b"",
    covers: int = 512,
    directory: list[int] | None = None,
) -> bytes:
    """A sparse extent of VMDK: grains with bytes, with none, or at a sector; its text lies at sector 1."""
    words = -(-len(text) // SECTOR)
    at = 1 + words
    tables = -(-len(cells) // covers) or 1
    first = at + -(-4 * tables // SECTOR)
    place = first + tables * -(-4 * covers // SECTOR)
    entries: list[int] = []
    data = b""
    for cell in cells:
        if isinstance(cell, bytes):
            entries.append(place + len(data) // SECTOR)
            cell = struct.pack("<QI", 0, len(cell)) + cell if packed else cell
            data += cell + bytes(-len(cell) % SECTOR)
        else:
            entries.append(cell or 0)
    flags = 3 | (0x30000 if packed else 0)
    size = grain * len(cells) if capacity is None else capacity
    head = b"KDMV" + struct.pack("<II", 3 if packed else 1, flags)
    head += struct.pack("<QQQQIQQQ", size, grain, 1 if text else 0, words, covers, 0, at, place)
    head = head.ljust(SECTOR, b"\0") + text.ljust(words * SECTOR, b"\0")
    step = -(-4 * covers // SECTOR)
    listed = [first + step * one for one in range(tables)] if directory is None else directory
    head += struct.pack(f"<{len(listed)}I", *listed)
    head = head.ljust(first * SECTOR, b"\0")
    table = b"".join(
        struct.pack(f"<{covers}I", *(entries[one : one + covers] + [0] * covers)[:covers]).ljust(
            step * SECTOR, b"\0"
        )
        for one in range(0, max(len(entries), 1), covers)
    )
    return head + table + data


def qcow2(
    size: int,
    *,
    bits: int = 16,
    parent: bytes = b"",
    data_file: bytes = b"",
    l1: list[int] | None = None,
    l2: list[int] | None = None,
    clusters: bytes = b"",
) -> bytes:
    """A QCOW2 image: cluster 1 has the first table, 2 one of the second level, and data begin in 3."""
    unit = 1 << bits
    table = ([2 * unit] if l2 else [0] * (-(-size // (unit * unit // 8)))) if l1 is None else l1
    features = 4 if data_file else 0
    head = struct.pack(
        ">4sIQIIQIIQQIIQ",
        b"QFI\xfb", 3, 0, len(parent), bits, size, 0, len(table), unit, 0, 0, 0, 0,
    )  # fmt: skip
    head += struct.pack(">QQQII", features, 0, 0, 4, 112) + bytes(8)
    if data_file:
        head += struct.pack(">II", 0x44415441, len(data_file)) + data_file + bytes(-len(data_file) % 8)
    head += bytes(8)
    if parent:
        head = head[:8] + struct.pack(">Q", len(head)) + head[16:] + parent
    image = head.ljust(unit, b"\0") + struct.pack(f">{len(table)}Q", *table)
    if l2 or clusters:
        image = image.ljust(2 * unit, b"\0") + struct.pack(f">{len(l2 or [])}Q", *(l2 or []))
        image = image.ljust(3 * unit, b"\0") + clusters
    return image


def vhdx(
    size: int, *, block: int = 1 << 20, parent: dict[str, str] | None = None, bat: list[int] | None = None
) -> bytes:
    """A VHDX image: metadata at 1 MiB, table of blocks at 2 MiB, blocks from 3 MiB on."""
    mib = 1 << 20

    def guid(text: str) -> bytes:
        return UUID(text).bytes_le

    locator = b""
    if parent is not None:
        pairs = [(key.encode("utf-16-le"), value.encode("utf-16-le")) for key, value in parent.items()]
        locator = guid("B04AEFB7-D19E-4A81-B789-25B8E9445913") + struct.pack("<HH", 0, len(pairs))
        at, entries, texts = 20 + 12 * len(pairs), b"", b""
        for key, value in pairs:
            here = at + len(texts)
            entries += struct.pack("<IIHH", here, here + len(key), len(key), len(value))
            texts += key + value
        locator += entries + texts
    items = [
        ("CAA16737-FA36-4D43-B3B6-33F0AA44E76B", struct.pack("<II", block, 2 if parent is not None else 0)),
        ("2FA54224-CD1B-4876-B211-5DBED83BF4B8", struct.pack("<Q", size)),
        ("BECA12AB-B2E6-4523-93EF-C309E000C746", bytes(16)),
        ("8141BF1D-A96F-4709-BA47-F233A8FAAB5F", struct.pack("<I", 512)),
        ("CDA348C7-445D-4471-9CC9-E9885251C556", struct.pack("<I", 512)),
    ]
    if parent is not None:
        items.append(("A8D35F2D-B30B-454D-ABF7-D3D84834AB0C", locator))
    table = b"metadata" + struct.pack("<HH20x", 0, len(items))
    values = b""
    for name, value in items:
        table += guid(name) + struct.pack("<IIII", (64 << 10) + len(values), len(value), 6, 0)
        values += value + bytes(-len(value) % 8)
    regions = b"regi" + struct.pack("<III", 0, 2, 0)
    regions += guid("2DC27766-F623-4200-9D64-115E9BFD4A08") + struct.pack("<QII", 2 * mib, mib, 1)
    regions += guid("8B7CA206-4790-4B9A-B8FE-575F050F886E") + struct.pack("<QII", mib, mib, 1)
    image = bytearray(3 * mib)
    image[:8] = b"vhdxfile"
    for number, place in enumerate((64 << 10, 128 << 10)):
        image[place : place + 16] = b"head" + struct.pack("<IQ", 0, number + 1)
    for place in (192 << 10, 256 << 10):
        image[place : place + len(regions)] = regions
    image[mib : mib + len(table)] = table
    image[mib + (64 << 10) : mib + (64 << 10) + len(values)] = values
    for number, entry in enumerate(bat or []):
        struct.pack_into("<Q", image, 2 * mib + 8 * number, entry)
    return bytes(image)


def vhd(size: int, *, block: int = 1 << 21, parent: str | None = None, blocks: int | None = None) -> bytes:
    """A VHD image that grows, or changes another one, with no block in it."""
    kind = 3 if parent is None else 4
    footer = b"conectix" + struct.pack(">IIQIIIIQQII", 2, 0x10000, 512, 0, 0, 0, 0, size, size, 0, kind)
    footer = footer.ljust(512, b"\0")
    count = -(-size // block) if blocks is None else blocks
    head = b"cxsparse" + struct.pack(">QQIII", (1 << 64) - 1, 1536, 0x10000, count, block)
    head = head.ljust(64, b"\0") + (parent or "").encode("utf-16-be").ljust(512, b"\0")
    table = b"\xff" * (4 * min(count, 1 << 18))
    return footer + head.ljust(1024, b"\0") + table + bytes(-len(table) % 512) + footer


def vdi(
    size: int,
    *,
    block: int = 1 << 20,
    entries: list[int] | None = None,
    blocks: int | None = None,
    kind: int = 1,
) -> bytes:
    """A VDI image whose table lies at 512."""
    listed = [0xFFFFFFFF] * -(-size // block) if entries is None else entries
    head = b"<<< disk >>>".ljust(64, b"\0") + b"\x7f\x10\xda\xbe" + struct.pack("<II", 0x10001, 400)
    head += struct.pack("<II", kind, 0) + bytes(256) + struct.pack("<II", 512, 4096) + bytes(20)
    head += struct.pack("<QIII", size, block, 0, len(listed) if blocks is None else blocks)
    return (head.ljust(512, b"\0") + struct.pack(f"<{len(listed)}I", *listed)).ljust(4096, b"\0")


def ewf(
    *chunks: bytes,
    sectors: int = 64,
    size: int = 0,
    segment: int = 1,
    last: bytes = b"done",
    back: bool = False,
) -> bytes:
    """A segment of EWF with compressed chunks; with ``back`` its sections are a circle."""
    out = b"EVF\x09\x0d\x0a\xff\x00\x01" + struct.pack("<HH", segment, 0)

    def section(kind: bytes, data: bytes, following: int | None = None) -> bytes:
        start = len(out)
        end = start + 76 + len(data)
        head = kind.ljust(16, b"\0") + struct.pack(
            "<QQ", end if following is None else following, 76 + len(data)
        )
        head = head.ljust(72, b"\0")
        return head + struct.pack("<I", zlib.adler32(head)) + data

    total = size // 512 or sectors * len(chunks)
    volume = struct.pack("<IIIIQ", 1, len(chunks), sectors, 512, total).ljust(1052, b"\0")
    out += section(b"header", zlib.compress(b"1\nmain\n"))
    out += section(b"volume", volume)
    places = []
    data = b""
    for chunk in chunks:
        places.append(len(out) + 76 + len(data) | 1 << 31)
        data += chunk
    out += section(b"sectors", data)
    table = struct.pack("<IIQII", len(places), 0, 0, 0, 0) + struct.pack(f"<{len(places)}I", *places)
    out += section(b"table", table, 13 if back else None)
    return out + section(last, b"", len(out))
