"""MQRESTRICTION, MQCOLUMNSET, MQSORTSET: what a query asks the directory for, [MS-MQDS] 2.2.11 to 2.2.15."""

from typing import Annotated, ClassVar

from msmq_wire.rpc.constants import DirectoryRelation, DirectorySortOrder
from msmq_wire.rpc.ndr import DWORD, Conformant, Fields, NdrStruct, Ranged, Unique
from msmq_wire.rpc.types.propvariant import PROPVARIANT, PropVariant
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this

_COUNT = Ranged(DWORD, 0, 128)


class PropertyRestriction(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MQPROPERTYRESTRICTION: what a property of each object has to be."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQDS", "2.2.11")
    rel: Annotated[int, DWORD, DirectoryRelation, "How the property compares with the value."] = 0
    prop: Annotated[int, DWORD, "The property."] = 0
    prval: Annotated[PropVariant, PROPVARIANT, "The value."] = PropVariant()


class Restriction(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MQRESTRICTION: what each object has to be, all of it."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQDS", "2.2.12")
    c_res: Annotated[int, _COUNT, "How many there are."] = 0
    pa_prop_res: Annotated[
        tuple[PropertyRestriction, ...] | None,
        Unique(Conformant(Fields(PropertyRestriction), size=this.c_res)),
        "What has to be so.",
    ] = None


class ColumnSet(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MQCOLUMNSET: the properties that are wanted of each object."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQDS", "2.2.13")
    c_col: Annotated[int, _COUNT, "How many there are."] = 0
    a_col: Annotated[
        tuple[int, ...] | None, Unique(Conformant(DWORD, size=this.c_col)), "The properties."
    ] = None


class SortKey(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MQSORTKEY: a property by which the objects are in order."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQDS", "2.2.14")
    prop_column: Annotated[int, DWORD, "The property."] = 0
    dw_order: Annotated[int, DWORD, DirectorySortOrder, "Which comes first."] = 0


class SortSet(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MQSORTSET: in which order the objects are wanted."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQDS", "2.2.15")
    c_col: Annotated[int, _COUNT, "How many there are."] = 0
    a_col: Annotated[
        tuple[SortKey, ...] | None, Unique(Conformant(Fields(SortKey), size=this.c_col)), "The keys."
    ] = None


RESTRICTION = Fields(Restriction)
COLUMN_SET = Fields(ColumnSet)
SORT_SET = Fields(SortSet)
