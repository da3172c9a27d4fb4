"""``msmq-wire packet``: decodes the bytes of one packet, in any form."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from msmq_wire.arguments import unknown_name
from msmq_wire.cli.options import (
    BodyLimit,
    Color,
    ColorOption,
    LocalTime,
    ShowHex,
    TimeZone,
    UtcTime,
    refuse_without_effect,
    screen_for,
    tree_options,
    zone_for,
)
from msmq_wire.cli.packet_input import input_name, read_input, read_packet_input
from msmq_wire.cli.reporting import print_error
from msmq_wire.engines.codec import InspectResult, inspect
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.tree.heading import Heading
from msmq_wire.records.tree.tree import TreeOptions, print_packet
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.records.view import inspect_view
from msmq_wire.wire import registry


class PacketFormat(StrEnum):
    """How a packet is printed."""

    TREE = "tree"
    JSON = "json"


def _complete_kind(incomplete: str) -> list[str]:
    return [stem for stem in registry.STRUCTURES if stem.startswith(incomplete)]


def packet(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="The bytes; - is standard input.", show_default=False)
    ],
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="KIND",
            help="Decode as this kind of packet, header or type, as in message_packet.",
            autocompletion=_complete_kind,
            show_default=False,
        ),
    ] = None,
    format_: Annotated[PacketFormat, typer.Option("--format", help="How to print it.")] = PacketFormat.TREE,
    hex_: ShowHex = False,
    body_limit: BodyLimit = None,
    utc: UtcTime = False,
    local: LocalTime = False,
    timezone: TimeZone = None,
    color: ColorOption = Color.AUTO,
) -> None:
    """Decode the bytes of one packet.

    FILE holds the packet as bytes, hex text, a dump (xxd, hexdump -C, Wireshark, tshark -x), a C array, an
    escaped string or base64; the form is recognised.

    Exit status: 0 when a packet was found, whole or cut; 1 when there is none or FILE cannot be read; 2 for
    bad usage.

    Examples:

        msmq-wire packet message.bin --hex

        tshark -r capture.pcap -Y frame.number==7 -x | msmq-wire packet -

        msmq-wire packet stored.hex --as message_packet --format json
    """
    if as_ is not None and as_ not in registry.STRUCTURES:
        text = unknown_name("structure", as_, registry.STRUCTURES)
        kinds = "" if text.endswith("?") else f"; packets are {', '.join(registry.PACKETS)}"
        raise typer.BadParameter(text + kinds, param_hint="--as")
    if format_ is PacketFormat.JSON:
        refuse_without_effect(
            format_,
            {
                "--hex": hex_,
                "--body-limit": body_limit is not None,
                "--local": local,
                "--timezone": timezone is not None,
            },
        )
    options = tree_options(hex_, body_limit, zone_for(utc, local, timezone))
    try:
        found = read_packet_input(read_input(file), kind_given=as_ is not None)
    except MsmqWireError as error:
        print_error(f"{input_name(file)}: {error}")
        raise typer.Exit(1) from None
    result = inspect(found.data, as_)
    nothing = result.type is None or (result.packet is None and result.error is not None)
    if format_ is PacketFormat.JSON:
        sys.stdout.write(json_line(inspect_view(result), indent=2) + "\n")
    elif result.packet is not None:
        _print_tree(result, options, color)
    if nothing:
        size = count_text(len(found.data), "byte")
        size = size if found.form == "bytes" else f"{size} of {found.form}"
        print_error(f"{input_name(file)}: no packet in {size}: {result.error}")
        raise typer.Exit(1)


def _print_tree(result: InspectResult, options: TreeOptions, color: Color) -> None:
    print_packet(
        screen_for(color),
        Heading(type=result.type or "unknown packet", size=result.consumed),
        result.packet,
        options,
        anomalies=result.anomalies,
        error=result.error,
        remainder=result.remainder,
    )
