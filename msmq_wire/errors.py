"""The one exception tree, and a warning. Nothing from construct, struct or a codec escapes this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    # An error of a command line says nothing of a section, and waits for no library.
    from msmq_wire.spec import SpecRef


class MsmqWireError(Exception):
    """Base of every error this package raises on purpose; all of them can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses do not take what they keep in args; notes are values like the others.
        return _made, (type(self), self.args), vars(self)


def _made(cls: type[MsmqWireError], args: tuple[Any, ...]) -> MsmqWireError:
    error = cls.__new__(cls, *args)
    error.args = args
    return error


class DecodeError(MsmqWireError):
    """Bytes that end too early or cannot have the structure they claim.

    ``code`` is stable (``missing-bytes``, ``past-packet-size``, ``negative-length``,
    ``unknown-selector``, ``packet-type``, ...), ``path`` names the field (``user_header.flags``),
    ``offset`` counts bytes from the start of the decoded structure, ``spec`` is the section that
    defines the field. ``partial`` holds the value as far as it was decoded; what was not reached
    is ``msgspec.UNSET`` in it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        path: str = "",
        offset: int = 0,
        spec: SpecRef | None = None,
        partial: object = None,
    ) -> None:
        super().__init__(code, message, path, offset, spec)
        self.code = code
        self.message = message
        self.path = path
        self.offset = offset
        self.spec = spec
        self.partial = partial

    def __str__(self) -> str:
        where = f" at {self.path}" if self.path else ""
        spec = f" ({self.spec})" if self.spec else ""
        return f"{self.message}{where}, offset {self.offset}{spec}"


class EncodeError(MsmqWireError):
    """A value that contradicts itself: flags and parts, sizes and data, or a number out of range."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message, path)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return f"{self.message} at {self.path}" if self.path else self.message


class FormatNameError(MsmqWireError, ValueError):
    """Text that is no format name or path name by [MS-MQMQ] 2.1."""


class ArgumentError(MsmqWireError, ValueError):
    """An argument that is wrong by its value: a filter, a level, a rule, a column, the name of a type."""


class CaptureError(MsmqWireError):
    """A capture file that is no capture, or is damaged; ``offset`` counts bytes in the file."""

    def __init__(self, message: str, *, offset: int = 0) -> None:
        super().__init__(message, offset)
        self.message = message
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.message} (at byte {self.offset})" if self.offset else self.message


class CaptureWarning(UserWarning):
    """An answer that lacks something: a file is damaged, or something was left out or dropped."""


class TopologyError(MsmqWireError):
    """A description of an enterprise that contradicts itself; the message begins with the entry that does."""


class NoSuchMessageError(MsmqWireError, LookupError):
    """No message fits what somebody called one, or several do where one was wanted."""


class MissingExtraError(MsmqWireError, ImportError):
    """What was asked for needs packages that are not installed; the message has the command for them."""

    @classmethod
    def of(cls, what: str, needed: str, install: str) -> Self:
        """The error of something that needs packages, which ``pip install`` brings."""
        return cls(f'{what} needs {needed}: pip install "{install}"')


class RoutingError(MsmqWireError):
    """A routing attempt that fails: there is no next hop. [MS-MQBR] 3.1.5.1"""
