"""A folder with a recording, a capture and a scenario, as somebody sent it: read, bounded, kept inside.

The rule kept here: a name in the recording leads to a file in its folder or nowhere; what cannot be read is
told by the name of its file.
"""

from __future__ import annotations

import os
from hashlib import sha256

import msgspec

from msmq_wire.cli.built_in import find_built_in
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.recordings.recording import Recording, read_recording
from msmq_wire.lab.recordings.scenario import Scenario, read_scenario

MAX_RECORDING = 1 << 22
"""Bytes of a recording, or a scenario, read at most: one of fifty steps has some fifty thousand."""
_RECORDING, _SCENARIO = "recording.json", "scenario.json"


class RecordingFolder(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: the recording, the path of its capture, the scenario and the SHA-256 of its file."""

    recording: Recording
    capture: str
    scenario: Scenario | None
    digest: str


def default_scenario() -> bytes:
    """The scenario that the script for Windows and the lab run where no other is named, as JSON."""
    return find_built_in("msmq_wire.lab.recordings", "record", "scenario.json").read_bytes()


def read_folder(folder: str, ours: bytes) -> RecordingFolder:
    """Read a folder; ``ours`` is the scenario that counts where it has none of its own.

    Raises:
        MsmqWireError: with the name of the file in its message.
    """
    if not os.path.isdir(folder):
        raise MsmqWireError(f"{folder}: no folder is there")
    recording = _parsed(folder)
    if recording.capture is None:
        raise MsmqWireError(f"{os.path.join(folder, _RECORDING)}: it names no capture")
    if recording.storage is not None:
        _inside(folder, recording.storage)
    capture = _inside(folder, recording.capture)
    if not os.path.isfile(capture):
        raise MsmqWireError(f"{capture}: no capture is there")
    own = _inside(folder, _SCENARIO)
    has_own = os.path.exists(own)
    data = _bytes(own) if has_own else ours
    digest = sha256(data).hexdigest()
    if not has_own and digest != recording.scenario_sha256:
        # It was run with another one, which nobody gave us.
        return RecordingFolder(recording=recording, capture=capture, scenario=None, digest="")
    try:
        scenario = read_scenario(data)
    except MsmqWireError as error:
        raise MsmqWireError(f"{own}: {error}") from None
    return RecordingFolder(recording=recording, capture=capture, scenario=scenario, digest=digest)


def _parsed(folder: str) -> Recording:
    path = _inside(folder, _RECORDING)
    data = _bytes(path)
    try:
        return read_recording(data)
    except MsmqWireError as error:
        raise MsmqWireError(f"{path}: {error}") from None


def _inside(folder: str, name: str) -> str:
    """The path of a name in a folder. Raises `MsmqWireError` where that leads out of it, links followed."""
    if not name or "\0" in name or "\\" in name or ":" in name or os.path.isabs(name):
        raise MsmqWireError(f"{folder}: {name!r} is no name of a file in this folder")
    path = os.path.join(folder, name)
    root, target = os.path.realpath(folder), os.path.realpath(path)
    if target == root or not target.startswith(os.path.join(root, "")):
        raise MsmqWireError(f"{folder}: {name!r} leads out of this folder")
    return path


def _bytes(path: str) -> bytes:
    if os.path.exists(path) and not os.path.isfile(path):
        raise MsmqWireError(f"{path}: no file")
    try:
        with open(path, "rb") as opened:
            data = opened.read(MAX_RECORDING + 1)
    except OSError as error:
        raise MsmqWireError(f"{path}: cannot read it: {error.strerror or error}") from None
    if len(data) > MAX_RECORDING:
        raise MsmqWireError(f"{path}: it is larger than {MAX_RECORDING >> 20} MiB")
    return data
