"""The elements of an SRMP envelope with their fields, and the answers of the lab, from the declarations."""

from __future__ import annotations

from docs.generators.markers import code, table
from docs.generators.structures import documentation
from docs.generators.wording import redacted_with
from msmq_wire.lab.srmp_outcome import SrmpOutcome
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.elements.envelope import SrmpEnvelope
from msmq_wire.srmp.xml.fields import Child, Children, XmlAttribute, XmlField, XmlStruct, xml_fields

__all__ = ["answers_block", "elements", "elements_block"]

_KINDS = {
    "Text": "text",
    "Uri": "URI",
    "UnsignedLong": "number",
    "Iso8601Date": "date",
    "GuidText": "GUID",
    "Base64": "bytes",
    "Names": "format names",
    "Flag": "empty",
}


def answers_block() -> str:
    """How the lab answers a POST."""
    rows = [
        (str(one.status), one.reason or "the message is in its queue", SpecRef("MC-MQSRM", one.section))
        for one in SrmpOutcome
    ]
    return table(("Status", "What is said", "Section"), rows)


def elements(root: type[XmlStruct] = SrmpEnvelope) -> list[type[XmlStruct]]:
    """The element and all that may be in it, each once, those outside first."""
    found = [root]
    for field in xml_fields(root).values():
        if isinstance(field, Child):
            found += [cls for cls in elements(field.cls) if cls not in found]
    return found


def elements_block() -> str:
    """A section for every element that holds others."""
    return "\n\n".join(_element(cls) for cls in elements())


def _element(cls: type[XmlStruct]) -> str:
    aliases = "".join(f", written {code(name)} too" for name in cls.ALIASES)
    about = f"{documentation(cls)} {code(cls.NAMESPACE)}{aliases}. Specification {cls.SPEC}."
    rows = [
        (
            code(name.rstrip("_")),
            code(f"@{field.tag}" if isinstance(field, XmlAttribute) else field.tag),
            _kind(field),
            "yes" if field.required else "",
            field.section or "",
            redacted_with(cls, name),
            field.doc.replace("<", "&lt;"),
        )
        for name, field in xml_fields(cls).items()
    ]
    head = ("Field", "Element", "Holds", "MUST be there", "Section", "Goes with", "Meaning")
    parts = [f"### {cls.TAG}", about]
    return "\n\n".join([*parts, table(head, rows)] if rows else parts)


def _kind(field: XmlField) -> str:
    if isinstance(field, Children):
        return f"up to {field.most} [{field.cls.TAG}](#{field.cls.TAG.lower()})"
    if isinstance(field, Child):
        return f"[{field.cls.TAG}](#{field.cls.TAG.lower()})"
    return "attribute" if isinstance(field, XmlAttribute) else _KINDS[type(field).__name__]
