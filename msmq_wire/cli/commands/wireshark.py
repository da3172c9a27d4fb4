"""``msmq-wire wireshark``: installs the dissector for Wireshark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from msmq_wire.cli.live import wireshark_part
from msmq_wire.cli.reporting import print_error
from msmq_wire.errors import MsmqWireError


class WiresharkAction(StrEnum):
    """What to do with the dissector."""

    INSTALL = "install"
    PATH = "path"
    CHECK = "check"


def wireshark(
    action: Annotated[WiresharkAction, typer.Argument(help="What to do.", show_default=False)],
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            metavar="DIR",
            help="Another folder than the one for Lua plugins that Wireshark names for this user.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With install: write over what has the name of one of the files.")
    ] = False,
) -> None:
    """Install or check the MSMQ dissector for Wireshark.

    install copies the Lua files into the folder of your Wireshark and names those that changed; it overwrites
    nothing that is not its own, unless --force is given. path prints where msmq.lua is, for tshark -X
    lua_script:FILE; it loads the others, which are beside it. check looks where Wireshark finds them, in the
    plugins of this user or of all, names the files that are missing or of another version, and tries whether
    tshark runs them: newer ones ignore the scripts of root.

    Exit status: 0 done, and for check: all is current and runs; 1 not installed, different, not run, or a
    file could not be written; 2 bad usage.

    Examples:

        msmq-wire wireshark install

        tshark -X lua_script:$(msmq-wire wireshark path) -r capture.pcap -Y msmq
    """
    part = wireshark_part("install")
    if force and action is not WiresharkAction.INSTALL:
        raise typer.BadParameter(f"--force changes nothing in {action}")
    if action is WiresharkAction.PATH:
        if directory is not None:
            raise typer.BadParameter("--dir changes nothing in the path of the package")
        typer.echo(part.script())
        _warn(part.problem(part.script().parent))
        return
    if action is WiresharkAction.CHECK:
        found: Path = part.loaded_folder() if directory is None else directory
        _check(part.check(found), found, part.problem(directory))
        return
    folder: Path = part.plugin_folder() if directory is None else directory
    try:
        changed: list[Path] = part.install(folder, force=force)
    except MsmqWireError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
    for path in changed:
        typer.echo(f"{path}: installed")
    if not changed:
        typer.echo(f"{folder}: current")
    _warn(part.problem(directory))


def _warn(problem: str | None) -> None:
    if problem is not None:
        print_error(f"WARNING: {problem}")


def _check(differences: dict[str, str], folder: Path, problem: str | None) -> None:
    for name, difference in differences.items():
        typer.echo(f"{folder / name}: {difference}")
    if differences:
        raise typer.Exit(1)
    typer.echo(f"{folder}: current")
    if problem is not None:
        print_error(problem)
        raise typer.Exit(1)
