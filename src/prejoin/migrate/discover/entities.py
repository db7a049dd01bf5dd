"""Derive entities from tables: names, attributes, relationships, cardinality. Guesses are collected for review."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prejoin.migrate.source.model import Column, Database, ForeignKey, Table
from prejoin.types import Kind, Type
from prejoin.workload.contents import CONTENT, as_content
from prejoin.workload.model import Attribute, Cardinality, Entity, Relationship, RelationshipKind

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "feet": "foot", "mice": "mouse"}
_SAME_IN_PLURAL = frozenset(
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


DATABASE_NUMBERS_IT = (
    "numbered by the database. DynamoDB does not count: generate ids in the application (a ULID or UUID for new rows), "
    "or keep a counter item"
)
NEVER_UPDATED = "marked immutable, because no statement that was seen updates"


@dataclass(slots=True)
class Review:
    """Guesses that a person should look at. The same guess about several attributes is one note."""

    single: dict[str, None] = field(default_factory=dict)
    by_reason: dict[str, list[str]] = field(default_factory=dict)
    """The attributes of each guess about several attributes."""

    def add(self, note: str) -> None:
        self.single[note] = None

    def add_to(self, reason: str, attribute: str) -> None:
        self.by_reason.setdefault(reason, []).append(attribute)

    @property
    def notes(self) -> list[str]:
        notes = []
        for reason, attributes in self.by_reason.items():
            names = ", ".join(f"`{attribute}`" for attribute in attributes)
            verb, pronoun = ("is", "it") if len(attributes) == 1 else ("are", "them")
            end = f" {pronoun}" if reason is NEVER_UPDATED else ""
            notes.append(f"{names} {verb} {reason}{end}.")
        return [*notes, *self.single]


def table_entities(tables: Iterable[Table]) -> dict[str, TableEntity]:
    """The entity of each table, by the table's name. Names are made unique."""
    entities: dict[str, TableEntity] = {}
    names: set[str] = set()
    for table in tables:
        name = entity_name(table.name)
        while name in names:  # `user` and `users` are two tables
            name += "Row"
        names.add(name)
        entities[table.name] = TableEntity(table, name, _attribute_names(table, name))
    return entities


def entity_name(table: str) -> str:
    """The name of an entity from that of a table: singular, in camel case.

    >>> entity_name("order_items"), entity_name("public.Categories"), entity_name("tbl_users"), entity_name("addresses")
    ('OrderItem', 'Category', 'User', 'Address')
    """
    bare = re.sub(r"^(tbl|t)_", "", table.rpartition(".")[2])
    words = [word for word in re.split(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])", bare) if word] or ["Row"]
    words[-1] = singular(words[-1])
    name = "".join(map(_camel_case_word, words))
    return name if name[0].isalpha() else f"T{name}"


def _camel_case_word(word: str) -> str:
    """A word of a name in camel case. Short words in upper case stay: they are abbreviations, as `SKU`."""
    tail = word[1:].lower() if word.isupper() and len(word) > 3 else word[1:]
    return word[:1].upper() + tail


def singular(word: str) -> str:
    """The singular of an English noun.

    >>> [singular(word) for word in ("users", "categories", "boxes", "statuses", "class", "people", "houses", "status")]
    ['user', 'category', 'box', 'status', 'class', 'person', 'house', 'status']
    """
    low = word.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low] if word[0].islower() else _IRREGULAR[low].capitalize()
    if low in _SAME_IN_PLURAL or low.endswith(("ss", "us", "is")) or not low.endswith("s") or len(low) < 3:
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
    names = {column.name: column.name for column in table.columns}
    used_names = {name.lower() for name in names}
    for column in names:
        plain = re.sub(r"\W+", "_", column)
        if plain.lower() not in used_names:
            names[column] = plain
            used_names.add(plain.lower())
    for column in table.key:
        if column.lower() == "id" and len(table.key) == 1:
            is_camel_case = any(re.search("[a-z][A-Z]", name) for name in names)
            qualified_name = _qualified_id(entity, is_camel_case)
            if qualified_name.lower() not in used_names:
                names[column] = qualified_name
    return names


def _qualified_id(entity: str, is_camel_case: bool) -> str:
    """`orderItemId` or `order_item_id`, as the other columns are written."""
    if is_camel_case:
        return f"{entity[0].lower()}{entity[1:]}Id"
    snake_case = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", entity).lower()
    return f"{snake_case}_id"


def derive_entity(
    entity: TableEntity,
    entities: Mapping[str, TableEntity],
    columns_changed: frozenset[str] | None,
    review: Review,
) -> Entity:
    """The entity of a table. `columns_changed` are those that statements update; None if no write was seen."""
    table = entity.table
    references = _references(table, entities)
    attributes = []
    for column in table.columns:
        attribute = _attribute(column, entity, references.get(column.name, ""), columns_changed)
        _review_attribute(column, entity, attribute, review)
        attributes.append(as_content(attribute))
    _review_key(entity, review)
    return Entity(
        entity.name,
        _description(entity),
        tuple(attributes),
        tuple(_relationships(entity, entities)),
        tuple(_cardinality(entity, entities)),
        size=_item_size(table, attributes),
        unique=tuple(
            tuple(entity.attributes[column] for column in columns)
            for columns in table.unique
            if len(columns) > 1 and columns != table.key
        ),
    )


def _item_size(table: Table, attributes: Sequence[Attribute]) -> int | None:
    """Bytes of an average item: values and names of attributes. Large contents are stored beside the item."""
    if not table.row_size:
        return None
    content_size = sum(attribute.size or 0 for attribute in attributes if attribute.type == CONTENT)
    return max(table.row_size - content_size, 1) + sum(len(attribute.name) for attribute in attributes)


def _review_key(entity: TableEntity, review: Review) -> None:
    table = entity.table
    for column in table.columns:
        if column.numbered and column.name in table.key:
            review.add_to(DATABASE_NUMBERS_IT, f"{entity.name}.{entity.attributes[column.name]}")
            break  # one note for an entity, however many columns of its key are numbered
    if not table.primary_key and table.key:
        review.add(f"`{entity.name}` has no primary key; its id is the unique {' + '.join(table.key)}.")


def _attribute(
    column: Column, entity: TableEntity, reference: str, columns_changed: frozenset[str] | None
) -> Attribute:
    table, name = entity.table, entity.attributes[column.name]
    in_key = column.name in table.key
    is_generated: bool | None = None
    if in_key and not reference:
        is_generated = column.numbered or column.type.kind in (Kind.UUID, Kind.ULID)
    return Attribute(
        name,
        column.type,
        id=in_key,
        generated=is_generated,
        optional=column.nullable,
        mutable=None if in_key else _is_mutable(column, reference, columns_changed),
        unique=(column.name,) in table.unique and not in_key,
        references=reference,
        size=column.size if column.size and column.size > 1024 else None,
        text="" if name == column.name else f"column {column.name}",
    )


def _is_mutable(column: Column, reference: str, columns_changed: frozenset[str] | None) -> bool | None:
    """Whether statements change a column; None if nobody knows.

    A reference or a time that no statement changes is probably immutable, and worth it: the designer may make keys of
    it. Of other columns it is left open.
    """
    if columns_changed is None:
        return None
    if column.name in columns_changed:
        return True
    return False if reference or column.type.kind in (Kind.DATETIME, Kind.DATE) else None


def _review_attribute(column: Column, entity: TableEntity, attribute: Attribute, review: Review) -> None:
    if attribute.mutable is False:
        review.add_to(NEVER_UPDATED, f"{entity.name}.{attribute.name}")
    if column.guess:
        review.add(f"`{entity.name}.{attribute.name}` is read as {_type_words(column.type)}: {column.guess}.")


def _type_words(type_: Type) -> str:
    return f"one of {type_}" if type_.kind is Kind.ENUM else str(type_)


def _references(table: Table, entities: Mapping[str, TableEntity]) -> dict[str, str]:
    """The reference of each column of a foreign key to the whole id of another entity."""
    references: dict[str, str] = {}
    for fk in table.foreign_keys:
        parent = _parent(fk, entities)
        if parent is None:
            continue
        for column, parent_column in zip(fk.columns, fk.references, strict=True):
            is_whole_id = len(fk.columns) == 1
            reference = parent.name if is_whole_id else f"{parent.name}.{parent.attributes[parent_column]}"
            references.setdefault(column, reference)
    return references


def _parent(fk: ForeignKey, entities: Mapping[str, TableEntity]) -> TableEntity | None:
    parent = entities.get(fk.table)
    return parent if parent and set(parent.table.key) == set(fk.references) else None


def _relationships(entity: TableEntity, entities: Mapping[str, TableEntity]) -> Iterable[Relationship]:
    table = entity.table
    for fk in table.foreign_keys:
        parent = _parent(fk, entities)
        if parent is None:
            continue
        via = tuple(entity.attributes[column] for column in fk.columns)
        if parent.name == entity.name:
            yield Relationship(entity.name, RelationshipKind.HIERARCHY, entity.name, via)
            continue
        # A foreign key that is unique itself has one row for each parent.
        is_unique = fk.columns == table.key or fk.columns in table.unique
        kind = RelationshipKind.ONE_TO_ONE if is_unique else RelationshipKind.ONE_TO_MANY
        yield Relationship(parent.name, kind, entity.name, via)
    if table.is_link:
        sides = _key_parents(table, entities)
        if len(sides) == 2 and sides[0].name != sides[1].name:
            yield Relationship(sides[0].name, RelationshipKind.MANY_TO_MANY, sides[1].name, (entity.name,))


def _key_parents(table: Table, entities: Mapping[str, TableEntity]) -> list[TableEntity]:
    """The entities that the key of a table refers to."""
    parents = [_parent(fk, entities) for fk in table.foreign_keys if set(fk.columns) <= set(table.key)]
    return [parent for parent in parents if parent is not None]


def _cardinality(entity: TableEntity, entities: Mapping[str, TableEntity]) -> Iterable[Cardinality]:
    """The number of items: for each of one parent, then in all. A second reference to the same parent is left out."""
    parent_names = {entity.name}
    for fk in entity.table.foreign_keys:
        parent, fanout = _parent(fk, entities), entity.table.fanouts.get(fk.columns)
        if parent is None or fanout is None or parent.name in parent_names:
            continue
        parent_names.add(parent.name)
        low = fanout.median if fanout.median < fanout.p99 else None
        yield Cardinality(fanout.p99, parent.name, low)
    if entity.table.rows:
        yield Cardinality(entity.table.rows)


def _description(entity: TableEntity) -> str:
    table = entity.table
    rows = f"about {table.rows:,}" if table.estimated else f"{table.rows:,}"
    sentences = [f"Rows of the table {table.name}: {rows}."]
    for fk in table.foreign_keys:
        fanout = table.fanouts.get(fk.columns)
        if fanout is not None:
            attributes = " + ".join(entity.attributes[column] for column in fk.columns)
            figures = f"median {fanout.median:,}, 99% at most {fanout.p99:,}, largest {fanout.largest:,}"
            sentences.append(f"For each {attributes}: {figures}.")
    return " ".join(sentences)


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
    waiting = {table.name: table for table in sorted(tables, key=lambda table: table.name)}
    sorted_tables: list[Table] = []
    while waiting:
        ready = [table for table in waiting.values() if not _refers_to_any(table, waiting)]
        # Tables that refer to each other in a circle: the first of them breaks it.
        following = ready or list(waiting.values())[:1]
        sorted_tables += [waiting.pop(table.name) for table in following]
    return sorted_tables


def _refers_to_any(table: Table, tables: Collection[str]) -> bool:
    return any(fk.table in tables and fk.table != table.name for fk in table.foreign_keys)
