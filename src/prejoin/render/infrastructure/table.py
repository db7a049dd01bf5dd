"""The definition of the table, independent of the language: keys and their types, indexes, billing.

Names and numbers are checked here, once, against what DynamoDB takes: a deployment that fails half-way costs more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Billing, Design, KeyAttribute, ProjectionKind, Slot
from prejoin.protocol import limits
from prejoin.workload.model import Model, Workload

from .errors import InfrastructureError
from .options import Encryption, Infrastructure, Scaling

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]+")
_TAG = re.compile(r"[\w\s.:/=+@-]*")
_MOST_TAGS, _TAG_KEY, _TAG_VALUE = 50, 128, 256
_TARGET = range(20, 91)
"""The limits of the target utilization of auto scaling, in per cent."""


class TableIndex(Model, frozen=True):
    name: str
    pk: tuple[str, ...]
    sk: tuple[str, ...]
    projection: ProjectionKind
    attributes: tuple[str, ...] = ()
    """The attributes of an index with an INCLUDE projection."""
    local: bool = False


class Table(Model, frozen=True):
    name: str
    types: dict[str, str]
    """The types of the key attributes, `S`, `N` or `B`, in the order of their names."""
    pk: tuple[str, ...]
    sk: tuple[str, ...]
    indexes: tuple[TableIndex, ...]
    billing: Billing
    ttl: str = ""

    @property
    def is_provisioned(self) -> bool:
        return self.billing is Billing.PROVISIONED

    @property
    def global_indexes(self) -> tuple[TableIndex, ...]:
        return tuple(index for index in self.indexes if not index.local)

    @property
    def local_indexes(self) -> tuple[TableIndex, ...]:
        return tuple(index for index in self.indexes if index.local)


def table_of(workload: Workload, design: Design, options: Infrastructure) -> Table:
    """The table of a design; raises InfrastructureError if AWS would refuse it."""
    if not design.slots:
        raise InfrastructureError("the design has no table", "`prejoin design` makes one")
    base = design.slots[0]
    # An index that nothing is in would be paid for nothing, and no item says what its attributes are.
    used_slots = {facet.slot for facet in planner_facets(design, workload)}
    indexes = [slot for slot in design.indexes if slot.name in used_slots]
    table = Table(
        design.table,
        _types([base, *indexes]),
        _names(base.pk),
        _names(base.sk),
        tuple(_index(slot, design) for slot in indexes),
        options.billing or design.billing,
        design.ttl_attribute,
    )
    for problem in (*_name_problems(table), *_count_problems(table), *_option_problems(options)):
        raise InfrastructureError(*problem)
    return table


def _index(slot: Slot, design: Design) -> TableIndex:
    attributes: tuple[str, ...] = ()
    if slot.projection.kind is ProjectionKind.INCLUDE:
        # Items are told apart by their type, so an index with some attributes needs it, too. The keys of the table
        # and of the index are in every index, whatever its projection.
        projected_names = {*slot.projection.attributes, design.type_attribute}
        attributes = tuple(sorted(projected_names.difference(design.table_keys, slot.key_names)))
    return TableIndex(slot.name, _names(slot.pk), _names(slot.sk), slot.projection.kind, attributes, slot.local)


def _names(attributes: Iterable[KeyAttribute]) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in attributes)


def _types(slots: Iterable[Slot]) -> dict[str, str]:
    """The types of the key attributes of the table and its indexes."""
    types: dict[str, str] = {}
    for slot in slots:
        for key in slot.key_attributes:
            if types.setdefault(key.name, key.type) != key.type:
                raise InfrastructureError(
                    f"{key.name} is a key as {types[key.name]} and as {key.type}",
                    "an attribute has one type; give one of the keys another name",
                )
    return dict(sorted(types.items()))


Problem = tuple[str, str]
"""What AWS would refuse, and what to write instead: the message and the fix of an `InfrastructureError`."""


def _name_problems(table: Table) -> Iterator[Problem]:
    for noun, name in [("table", table.name)] + [("index", index.name) for index in table.indexes]:
        if not _NAME.fullmatch(name):
            allowed_characters = "letters A to Z, digits and _ . -"
            yield f"the {noun} is called {name!r}, and DynamoDB takes {allowed_characters} only", "rename it"
        shortest, longest = limits.TABLE_NAME_MINIMUM, limits.TABLE_NAME_MAXIMUM
        if not shortest <= len(name) <= longest:
            yield f"the {noun} is called {name!r}", f"a name has {shortest} to {longest} characters"
    names = [*table.types]
    for index in table.indexes:
        names += index.attributes
    for name in names:
        if not 0 < len(name.encode()) <= limits.KEY_NAME_LENGTH:
            short_name = f"{name[:20]}…" if len(name) > 20 else name
            fix = f"its name may have {limits.KEY_NAME_LENGTH} bytes"
            yield f"the attribute {short_name!r} is in a key or an index", fix


def _count_problems(table: Table) -> Iterator[Problem]:
    for noun, count, maximum in (
        ("global indexes", len(table.global_indexes), limits.GLOBAL_INDEXES),
        ("local indexes", len(table.local_indexes), limits.LOCAL_INDEXES),
        ("projected attributes", sum(len(index.attributes) for index in table.indexes), limits.PROJECTED_ATTRIBUTES),
    ):
        if count > maximum:
            yield f"the table {table.name} has {count} {noun}, and DynamoDB takes {maximum}", ""


def _option_problems(options: Infrastructure) -> Iterator[Problem]:
    for label, scaling in (("reads", options.reads), ("writes", options.writes)):
        yield from _scaling_problems(label, scaling)
    for label, limit in (("most_reads", options.most_reads), ("most_writes", options.most_writes)):
        if limit is not None and limit < 1:
            yield f"{label} is {limit}", "give a number of units from 1 on, or leave it out for no limit"
    if options.key_arn and options.encryption is not Encryption.CUSTOMER:
        yield "key_arn is the customer's key, and encryption is not `customer`", "say so, or leave the key out"
    if options.key_arn and not _KEY_ARN.fullmatch(options.key_arn):
        yield f"{options.key_arn!r} is not the ARN of a key", "arn:aws:kms:REGION:ACCOUNT:key/ID"
    yield from _tag_problems(options.tags)


def _scaling_problems(label: str, scaling: Scaling) -> Iterator[Problem]:
    if not 1 <= scaling.least <= scaling.most:
        yield f"{label} scale from {scaling.least} to {scaling.most} units", "the least is 1, and not above the most"
    if scaling.target not in _TARGET:
        allowed_targets = f"{_TARGET[0]} to {_TARGET[-1]}"
        yield f"{label} aim at {scaling.target} per cent of their units, and AWS takes {allowed_targets}", ""


def _tag_problems(tags: Mapping[str, str]) -> Iterator[Problem]:
    if len(tags) > _MOST_TAGS:
        yield f"there are {len(tags)} tags, and a table takes {_MOST_TAGS}", ""
    for key, value in tags.items():
        if not 0 < len(key) <= _TAG_KEY or len(value) > _TAG_VALUE:
            yield f"the tag {key[:20]!r}", f"a key has 1 to {_TAG_KEY} characters, a value up to {_TAG_VALUE}"
        if not (_TAG.fullmatch(key) and _TAG.fullmatch(value)):
            yield f"the tag {key!r}, {value!r}", "letters, digits, spaces and _ . : / = + - @ are what AWS takes"
        if key.lower().startswith("aws:"):
            yield f"the tag {key!r}", "keys that begin with aws: are those of AWS"
