"""Derive entities from tables: names, attributes, relationships, cardinality. Guesses are collected for review."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prejoin.migrate.source.model import Column, Database, ForeignKey, Table
from prejoin.types import Kind, Type
from prejoin.workload.contents import CONTENT, as_content
from prejoin.workload.model import Attribute, Cardinality, Entity, Relationship, RelationshipKind

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "feet": "foot", "mice": "mouse"}
_UNCHANGED = frozenset(
    {"series", "news", "species", "data", "media", "status", "address", "business", "analysis", "bus"}
)


@dataclass(frozen=True, slots=True)
class TableEntity:
    """A table, the entity that its rows become, and the attribute of each column."""

    table: Table
    name: str
    attributes: Mapping[str, str]
    """By the name of the column."""

    @property
    def id(self) -> tuple[str, ...]:
        return tuple(self.attributes[column] for column in self.table.key)


NUMBERED = (
    "numbered by the database. DynamoDB does not count: generate ids in the application (a ULID or UUID for new rows), "
    "or keep a counter item"
)
UNCHANGED = "marked immutable, because no statement that was seen updates"


@dataclass(slots=True)
class Review:
    """Guesses that a person should look at. The same guess about several attributes is one note."""

    single: dict[str, None] = field(default_factory=dict)
    shared: dict[str, list[str]] = field(default_factory=dict)

    def add(self, note: str) -> None:
        self.single[note] = None

    def add_to(self, reason: str, attribute: str) -> None:
        self.shared.setdefault(reason, []).append(attribute)

    @property
    def notes(self) -> list[str]:
        found = []
        for reason, attributes in self.shared.items():
            names, one = ", ".join(f"`{a}`" for a in attributes), len(attributes) == 1
            end = (" it" if one else " them") if reason is UNCHANGED else ""
            found.append(f"{names} {'is' if one else 'are'} {reason}{end}.")
        return [*found, *self.single]


def table_entities(tables: Iterable[Table]) -> dict[str, TableEntity]:
    """The entity of each table, by the table's name. Names are made unique."""
    found: dict[str, TableEntity] = {}
    taken: set[str] = set()
    for table in tables:
        name = entity_name(table.name)
        while name in taken:
            name += "Row"
        taken.add(name)
        found[table.name] = TableEntity(table, name, _attribute_names(table, name))
    return found


def entity_name(table: str) -> str:
    """The name of an entity from that of a table: singular, in camel case.

    >>> entity_name("order_items"), entity_name("public.Categories"), entity_name("tbl_users"), entity_name("addresses")
    ('OrderItem', 'Category', 'User', 'Address')
    """
    bare = re.sub(r"^(tbl|t)_", "", table.rpartition(".")[2])
    words = [w for w in re.split(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])", bare) if w] or ["Row"]
    words[-1] = singular(words[-1])
    name = "".join(w[:1].upper() + (w[1:].lower() if w.isupper() and len(w) > 3 else w[1:]) for w in words)
    return name if name[0].isalpha() else f"T{name}"


def singular(word: str) -> str:
    """
    >>> [singular(w) for w in ("users", "categories", "boxes", "statuses", "class", "people", "houses", "status")]
    ['user', 'category', 'box', 'status', 'class', 'person', 'house', 'status']
    """
    low = word.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low] if word[0].islower() else _IRREGULAR[low].capitalize()
    if low in _UNCHANGED or low.endswith(("ss", "us", "is")) or not low.endswith("s") or len(low) < 3:
        return word
    if low.endswith("ies") and len(low) > 4:
        return word[:-3] + "y"
    if low.endswith(("sses", "shes", "ches", "xes", "zes", "tuses", "ruses", "puses")):
        return word[:-2]
    return word[:-1]


def _attribute_names(table: Table, entity: str) -> dict[str, str]:
    """The attribute of each column, in plain words: `Serial No` is `Serial_No`.

    A bare `id` is named after its entity, because entities share a table.
    """
    names = {c.name: c.name for c in table.columns}
    taken = {name.lower() for name in names}
    for column in names:
        plain = re.sub(r"\W+", "_", column)
        if plain.lower() not in taken:
            names[column] = plain
            taken.add(plain.lower())
    for column in table.key:
        if column.lower() == "id" and len(table.key) == 1:
            camel = any(re.search("[a-z][A-Z]", name) for name in names)
            small = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", entity).lower()
            wanted = f"{entity[0].lower()}{entity[1:]}Id" if camel else f"{small}_id"
            if wanted.lower() not in taken:
                names[column] = wanted
    return names


def derive_entity(
    one: TableEntity,
    entities: Mapping[str, TableEntity],
    changed: frozenset[str] | None,
    review: Review,
) -> Entity:
    """The entity of a table. `changed` are the columns that statements update; None if no write was seen."""
    table = one.table
    references = _references(table, entities)
    attributes = tuple(
        as_content(_attribute(column, one, references.get(column.name, ""), changed, review))
        for column in table.columns
    )
    beside = sum(a.size or 0 for a in attributes if a.type == CONTENT)
    groups = [u for u in table.unique if len(u) > 1 and u != table.key]
    if numbered := [c.name for c in table.columns if c.numbered and c.name in table.key]:
        review.add_to(NUMBERED, f"{one.name}.{one.attributes[numbered[0]]}")
    if not table.primary_key and table.key:
        review.add(f"`{one.name}` has no primary key; its id is the unique {_listed(table.key)}.")
    return Entity(
        one.name,
        _described(one),
        attributes,
        tuple(_relationships(one, entities)),
        tuple(_cardinality(one, entities)),
        size=max(table.row_size - beside, 1) + sum(len(a.name) for a in attributes) if table.row_size else None,
        unique=tuple(tuple(one.attributes[c] for c in group) for group in groups),
    )


def _attribute(
    column: Column, one: TableEntity, reference: str, changed: frozenset[str] | None, review: Review
) -> Attribute:
    table, name = one.table, one.attributes[column.name]
    in_key = column.name in table.key
    generated: bool | None = None
    if in_key and not reference:
        generated = column.numbered or column.type.kind in (Kind.UUID, Kind.ULID)
    mutable: bool | None = None
    if not in_key and changed is not None:
        if column.name in changed:
            mutable = True
        elif reference or column.type.kind in (Kind.DATETIME, Kind.DATE):
            mutable = False
            review.add_to(UNCHANGED, f"{one.name}.{name}")
    if column.guess:
        review.add(f"`{one.name}.{name}` is read as {_type_words(column.type)}: {column.guess}.")
    return Attribute(
        name,
        column.type,
        id=in_key,
        generated=generated,
        optional=column.nullable,
        mutable=mutable,
        unique=(column.name,) in table.unique and not in_key,
        references=reference,
        size=column.size if column.size and column.size > 1024 else None,
        text="" if name == column.name else f"column {column.name}",
    )


def _type_words(type_: Type) -> str:
    return f"one of {type_}" if type_.kind is Kind.ENUM else str(type_)


def _references(table: Table, entities: Mapping[str, TableEntity]) -> dict[str, str]:
    """The reference of each column of a foreign key to the whole id of another entity."""
    found: dict[str, str] = {}
    for fk in table.foreign_keys:
        parent = _parent(fk, entities)
        if parent is None:
            continue
        for column, other in zip(fk.columns, fk.references, strict=True):
            whole = parent.name if len(fk.columns) == 1 else f"{parent.name}.{parent.attributes[other]}"
            found.setdefault(column, whole)
    return found


def _parent(fk: ForeignKey, entities: Mapping[str, TableEntity]) -> TableEntity | None:
    parent = entities.get(fk.table)
    return parent if parent and set(parent.table.key) == set(fk.references) else None


def _relationships(one: TableEntity, entities: Mapping[str, TableEntity]) -> Iterable[Relationship]:
    table = one.table
    for fk in table.foreign_keys:
        parent = _parent(fk, entities)
        if parent is None:
            continue
        via = tuple(one.attributes[c] for c in fk.columns)
        if parent.name == one.name:
            yield Relationship(one.name, RelationshipKind.HIERARCHY, one.name, via)
            continue
        single = fk.columns == table.key or fk.columns in table.unique
        kind = RelationshipKind.ONE_TO_ONE if single else RelationshipKind.ONE_TO_MANY
        yield Relationship(parent.name, kind, one.name, via)
    if table.is_link:
        sides = [p for fk in table.foreign_keys if set(fk.columns) <= set(table.key) and (p := _parent(fk, entities))]
        if len(sides) == 2 and sides[0].name != sides[1].name:
            yield Relationship(sides[0].name, RelationshipKind.MANY_TO_MANY, sides[1].name, (one.name,))


def _cardinality(one: TableEntity, entities: Mapping[str, TableEntity]) -> Iterable[Cardinality]:
    seen = set()
    for fk in one.table.foreign_keys:
        parent, fanout = _parent(fk, entities), one.table.fanouts.get(fk.columns)
        if parent is None or fanout is None or parent.name in seen or parent.name == one.name:
            continue
        seen.add(parent.name)
        low = fanout.median if fanout.median < fanout.p99 else None
        yield Cardinality(fanout.p99, parent.name, low)
    if one.table.rows:
        yield Cardinality(one.table.rows)


def _described(one: TableEntity) -> str:
    table = one.table
    rows = f"about {table.rows:,}" if table.estimated else f"{table.rows:,}"
    sentences = [f"Rows of the table {table.name}: {rows}."]
    for fk in table.foreign_keys:
        if fanout := table.fanouts.get(fk.columns):
            figures = f"median {fanout.median:,}, 99% at most {fanout.p99:,}, largest {fanout.largest:,}"
            sentences.append(f"For each {_listed(one.attributes[c] for c in fk.columns)}: {figures}.")
    return " ".join(sentences)


def _listed(names: Iterable[str]) -> str:
    return " + ".join(names)


def usable_tables(database: Database) -> tuple[list[Table], dict[str, str]]:
    """The tables whose rows can become items, and the others with the reason."""
    left_out = dict(database.left_out)
    usable = []
    for table in database.tables:
        if table.key:
            usable.append(table)
        else:
            left_out[table.name] = f"{table.rows:,} rows without a primary key or a unique column: add one to move them"
    return parents_first(usable), left_out


def parents_first(tables: Iterable[Table]) -> list[Table]:
    """Tables in an order in which each comes after those that it refers to, as far as possible."""
    rest = {table.name: table for table in sorted(tables, key=lambda t: t.name)}
    found: list[Table] = []
    while rest:
        free = [t for t in rest.values() if not any(fk.table in rest and fk.table != t.name for fk in t.foreign_keys)]
        found += [rest.pop(table.name) for table in free or list(rest.values())[:1]]
    return found
