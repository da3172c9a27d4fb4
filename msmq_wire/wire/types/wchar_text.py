"""WCHAR text, [MS-DTYP] 2.2.60: UTF-16 code units, little-endian, kept as bytes."""

from codecs import utf_16_le_decode
from typing import ClassVar, Self

from msmq_wire.representation import line, literal, shortened
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Bytes
from msmq_wire.wire.musts import CodedMust

_SHORT = 64
"""Bytes of a text that is shown whole."""


class WcharText(bytes):
    """The bytes of a text field, terminator and all; ``text`` reads them.

    Every code unit from 0x0001 to 0xFFFF is legal, lone surrogates too, so the bytes are the value and the
    text is a view of them.
    """

    __slots__ = ()
    SPEC: ClassVar[SpecRef] = SpecRef("MS-DTYP", "2.2.60")
    MADE_BY: ClassVar[str] = "WcharText.of(text)"

    @classmethod
    def stem(cls) -> str:
        """The one name of this type."""
        return "wchar_text"

    @classmethod
    def schema(cls) -> Bytes:
        """The construct schema of a text that fills its bytes."""
        return _ALL

    @classmethod
    def of(cls, text: str) -> Self:
        """Text with its terminator; lone surrogates are written as they are."""
        return cls(text.encode("utf-16-le", "surrogatepass") + b"\0\0")

    @property
    def text(self) -> str:
        """The text without its terminator; U+FFFD for what is no character."""
        data = self[:-2] if self.terminated else self
        return utf_16_le_decode(data, "replace", True)[0]

    @property
    def terminated(self) -> bool:
        """Whether the last code unit is NUL."""
        return not len(self) & 1 and self.endswith(b"\0\0")

    @property
    def exact(self) -> bool:
        """Whether ``text`` with a terminator gives these bytes again."""
        return self.text.encode("utf-16-le") + b"\0\0" == self or not self

    @property
    def is_shown_whole(self) -> bool:
        """Whether ``text`` gives these bytes again; what is cut to its length has no terminator."""
        return self.exact or self.text.encode("utf-16-le") == self

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        if len(self) > _SHORT:
            return line(self, f'"{shortened(self.start)}"', f"{len(self)} bytes")
        return self._made_by() if self and self.exact else f"{type(self).__name__}({bytes(self)!r})"

    @property
    def start(self) -> str:
        """The first characters of the text, without a look at the rest."""
        return WcharText(self[: _SHORT + 2]).text

    def _made_by(self) -> str:
        """The call that makes these bytes of their text."""
        return f"{type(self).__name__}.of({literal(self.text)})"


class FixedWcharText(WcharText):
    """Text in a field of fixed size: it ends at the first NUL, zeros fill the rest."""

    __slots__ = ()
    MADE_BY: ClassVar[str] = "FixedWcharText.padded(text, size)"

    @classmethod
    def padded(cls, text: str, size: int) -> Self:
        """Text filled with zeros to ``size`` bytes; ValueError when it is longer."""
        data = text.encode("utf-16-le", "surrogatepass")
        if len(data) > size:
            raise ValueError(f"{len(data)} bytes of text do not fit {size}")
        return cls(data.ljust(size, b"\0"))

    @property
    def used(self) -> int:
        """Bytes before the first NUL."""
        return next((i for i in range(0, len(self) - 1, 2) if not self[i] and not self[i + 1]), len(self))

    @property
    def text(self) -> str:
        """The text before the first NUL; U+FFFD for what is no character."""
        return utf_16_le_decode(self[: self.used], "replace", True)[0]

    @property
    def exact(self) -> bool:
        """Whether ``text`` and zeros give these bytes again."""
        return self.text.encode("utf-16-le").ljust(len(self), b"\0") == self

    def _made_by(self) -> str:
        return f"{type(self).__name__}.padded({literal(self.text)}, {len(self)})"


_ALL = Bytes(this.size, WcharText)


def must_be_terminated(code: str, field: str, message: str, *, or_empty: bool = False) -> CodedMust:
    """The MUST that a text ends with a NUL, or has no bytes at all."""

    def is_terminated(text: WcharText) -> bool:
        return text.terminated or (or_empty and not text)

    return CodedMust(code, is_terminated, field, at=field, message=message)
