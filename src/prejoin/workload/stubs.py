"""The obvious patterns of an entity, to start from: get by id, list by parent, create, delete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from prejoin.types import Kind
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    Combine,
    Entity,
    Input,
    Pattern,
    Read,
    Result,
    Uniqueness,
    Verb,
    Workload,
    Write,
)


def one(name: str) -> str:
    """One item of an entity, in words.

    >>> one("Order"), one("User")
    ('an Order', 'a User')
    """
    vowel = name[:1].lower() in "aeio" or (name[:1].lower() == "u" and not re.match("uni|us|ur[ai]|u[A-Z]", name, re.I))
    return f"{'an' if vowel else 'a'} {name}"


def plural(name: str) -> str:
    """Several items of an entity, in words.

    >>> plural("Loan"), plural("Category"), plural("Address")
    ('Loans', 'Categories', 'Addresses')
    """
    if re.search("[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("s", "x", "ch", "sh")) else "s")


def next_id(workload: Workload) -> str:
    """An unused pattern ID after the highest: numbers are not reused.

    >>> next_id(Workload(reads=(Read("AP-007"),)))
    'AP-008'
    """
    numbers = [p.id.rpartition("-")[2] for p in workload.patterns]
    return f"AP-{max((int(n) for n in numbers if n.isascii() and n.isdigit()), default=0) + 1:03}"


def add(workload: Workload, kind: str, pattern: Pattern) -> Workload:
    """The workload with one more pattern under a new ID. The kind is `reads`, `writes` or `deletes`."""
    patterns = (*getattr(workload, kind), replace(pattern, id=next_id(workload)))
    return replace(workload, **{kind: patterns})


def parents(workload: Workload, entity: Entity) -> Iterator[tuple[Entity, Attribute]]:
    """The entities that one refers to, with the attribute."""
    for attribute in entity.attributes:
        parent = workload.entity(attribute.referenced_entity) if attribute.references else None
        if parent is not None:
            yield parent, attribute


def get(entity: Entity) -> Read:
    names = entity.id_names
    by = f" by {' and '.join(names)}" if names else ""
    return _one(entity, f"Get one {entity.name}{by}", names)


def get_by(entity: Entity, attribute: Attribute) -> Read:
    return _one(entity, f"Find {one(entity.name)} by {attribute.name}", (attribute.name,))


def _one(entity: Entity, description: str, names: Iterable[str]) -> Read:
    inputs = tuple(Input(name) for name in names)
    return Read("", "", (entity.name,), description, inputs, Result.ONE, paginated=False)


def list_under(entity: Entity, parent: Entity, attribute: Attribute) -> Read:
    return _many(entity, f"List the {plural(entity.name)} of one {parent.name}", (Input(attribute.name),))


def list_all(entity: Entity) -> Read:
    return _many(entity, f"List all {plural(entity.name)}", ())


def list_by(entity: Entity, attribute: Attribute) -> Read:
    return _many(entity, f"List the {plural(entity.name)} by {attribute.name}", (Input(attribute.name),))


def count_under(entity: Entity, parent: Entity, attribute: Attribute) -> Read:
    description = f"Count the {plural(entity.name)} of one {parent.name}"
    return Read("", "", (entity.name,), description, (Input(attribute.name),), Result.COUNT)


def together(parent: Entity, entity: Entity) -> Read:
    read = _many(
        parent,
        f"Get one {parent.name} together with its {plural(entity.name)}",
        tuple(Input(a.name) for a in parent.id),
    )
    return replace(read, entities=(parent.name, entity.name), combine=Combine.COLLECTION)


def _many(entity: Entity, description: str, inputs: tuple[Input, ...]) -> Read:
    return Read("", "", (entity.name,), description, inputs, Result.MANY, paginated=True)


def create(entity: Entity) -> Write:
    inputs = tuple(Input(a.name, optional=a.optional) for a in entity.attributes if not a.ttl)
    checks = tuple(Uniqueness(attribute=a.name) for a in entity.attributes if a.unique)
    description = f"Create {one(entity.name)}"
    return Write("", "", (entity.name,), description, inputs, (Action(Verb.CREATE, entity.name),), None, checks)


def update(entity: Entity) -> Write:
    mutable_names = [a.name for a in entity.attributes if a.mutable and not a.id]
    inputs = tuple(Input(a.name) for a in entity.id) + tuple(Input(name) for name in mutable_names)
    action = Action(Verb.UPDATE, entity.name, changes=tuple(Change(name) for name in mutable_names))
    description = f"Change {', '.join(mutable_names)} of {one(entity.name)}"
    return Write("", "", (entity.name,), description, inputs, (action,))


def delete(entity: Entity) -> Write:
    inputs = tuple(Input(a.name) for a in entity.id)
    return Write("", "", (entity.name,), f"Delete {one(entity.name)}", inputs, (Action(Verb.DELETE, entity.name),))


class Obvious(NamedTuple):
    """Patterns without an ID."""

    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    deletes: tuple[Write, ...]


def obvious(workload: Workload, names: set[str]) -> Obvious:
    """The obvious patterns of some entities of a workload."""
    entities = [e for e in workload.entities if e.name in names]
    reads: list[Read] = []
    writes: list[Write] = []
    for entity in entities:
        reads.append(get(entity))
        reads += [get_by(entity, a) for a in entity.attributes if a.unique and not a.id]
        own = entity.id_names
        reads += [list_under(entity, parent, a) for parent, a in parents(workload, entity) if own != (a.name,)]
        writes.append(create(entity))
        if any(a.mutable and not a.id for a in entity.attributes):
            writes.append(update(entity))
    return Obvious(tuple(reads), tuple(writes), tuple(delete(e) for e in entities))


def states(entity: Entity) -> Iterator[Attribute]:
    """Attributes with one of a few states."""
    for attribute in entity.attributes:
        if attribute.type.kind is Kind.ENUM and attribute.mutable and len(attribute.type.values) > 1:
            yield attribute
