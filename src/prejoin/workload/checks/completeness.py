"""Checks that the document says everything the designer needs."""

from __future__ import annotations

import re

from msgspec.structs import replace

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import all_leaves
from prejoin.workload.document.columns import normal
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.lookup import (
    bindings,
    changes,
    declared_groups,
    equalities,
    foreign_key,
    gives_object,
    identified,
    unaddressed,
)
from prejoin.workload.model import (
    Action,
    Attribute,
    Cardinality,
    ChangeOp,
    Combine,
    Entity,
    Read,
    Result,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.phrases import name_list
from prejoin.workload.read_result import Path

_LONG = 5_000
"""More items than this are near or beyond a page of 1 MB."""


def check_completeness(r: Reporter) -> None:
    for index, entity in enumerate(r.workload.entities):
        _entity(r, ("entities", index), entity)
    for path, pattern in r.patterns():
        if not pattern.id:
            r.say(codes.NO_PATTERN_ID, path, "this pattern has no ID", f"write `{_free_id(r)}`")
        if not pattern.entities and "Entity" not in pattern.verbatim:
            message = f"{_name_of_pattern(pattern)} names no entity"
            r.say(codes.NO_ENTITY, (*path, "entities"), message, "name what is read or written")
        if isinstance(pattern, Read):
            _read(r, path, pattern)
        else:
            _write(r, path, pattern)
    _check_rates(r)
    _check_cardinalities(r)
    _check_use(r)


def _name_of_pattern(pattern: Read | Write) -> str:
    return pattern.id or "this pattern"


def _free_id(r: Reporter) -> str:
    """The ID after the highest. A free one in between may have been used before."""
    numbers = [int(m[1]) for p in r.workload.patterns if (m := re.fullmatch(r"AP-(\d{1,6})", p.id, re.ASCII))]
    return f"AP-{max(numbers, default=0) + 1:03}"


def _entity(r: Reporter, path: Path, entity: Entity) -> None:
    unread = "Attributes" in entity.verbatim  # which is reported
    if not entity.attributes and not unread:
        r.say(codes.NO_ATTRIBUTES, path, f"`{entity.name}` has no attributes", "list them below `- **Attributes**:`")
    elif not entity.id and not entity.singleton:
        likely = _likely_id(entity)
        if unread and not likely:
            return
        line = write_attribute(replace(likely, id=True, text="")) if likely else ""
        fix = f"mark it: `` {line} ``" if line else "mark what identifies an item: `(string, id)`"
        r.say(codes.NO_ID, path, f"no attribute identifies an item of `{entity.name}`", fix)
    elif entity.id and entity.singleton:
        message = f"`{entity.name}` is a singleton and has an id"
        r.say(codes.CONTRADICTION, path, message, "take away `singleton`, or the flag `id`")


def _likely_id(entity: Entity) -> Attribute | None:
    attributes = {normal(attribute.name).replace("_", ""): attribute for attribute in entity.attributes}
    own = entity.name.lower()
    for name in (f"{own}id", "id", f"{own}key", own):
        if name in attributes:
            return attributes[name]
    return None


def _read(r: Reporter, path: Path, read: Read) -> None:
    name = _name_of_pattern(read)
    if read.result is None and "Result" not in read.verbatim:
        r.say(
            codes.NO_RESULT,
            (*path, "result"),
            f"{name} does not say its result",
            "write `Single`, `Collection` or `Count`",
        )
    if len(read.entities) > 1 and read.combine is None and "Multi-Entity" not in read.verbatim:
        message = f"{name} reads {name_list(list(read.entities))} and is not marked Multi-Entity"
        r.say(codes.NOT_MARKED, (*path, "combine"), message, "write `Collection` or `Join` in the column Multi-Entity")
    if len(read.entities) == 1 and read.combine is not None:
        message = f"{name} is marked `{read.combine}` and names one entity"
        r.say(codes.ONE_ENTITY, (*path, "combine"), message, "name the others too, or write `No`")
    _check_relations(r, path, read)
    if read.result is Result.MANY and not read.paginated and read.limit is None:
        _check_length(r, path, read)


def _check_relations(r: Reporter, path: Path, read: Read) -> None:
    """Whether each entity has the id in the inputs, or the first entity refers to it."""
    entities = tuple(entity.name for entity in r.workload.entities_named(read.entities))
    given_names = equalities(read)
    if len(entities) < 2 or not given_names:
        return
    is_join = read.combine is Combine.JOIN
    for name in entities[1:] if is_join else entities:
        is_bound = any(name in bindings(r.workload, entities, given_name) for given_name in given_names)
        entity = r.workload.entity(name)
        is_unread = entity is not None and "Attributes" in entity.verbatim  # which is reported
        if not is_bound and not is_unread and not (is_join and _is_referred_to(r, entities, name)):
            problem = _unlinked_join(entities[0], name, read) if is_join else _unlinked_collection(name, read)
            r.say(codes.NOT_RELATED, (*path, "entities"), *problem)


def _unlinked_collection(name: str, read: Read) -> tuple[str, str]:
    message = f"`{name}` has no attribute for {_name_of_pattern(read)} ({name_list(equalities(read))})"
    fix = f"give `{name}` the attribute, or one that refers to it: `(…, → Entity)`; a read of two steps is a `Join`"
    return message, fix


def _unlinked_join(first: str, name: str, read: Read) -> tuple[str, str]:
    message = f"no attribute of `{first}` says which `{name}` is meant, for {_name_of_pattern(read)}"
    return message, f"give `{first}` an attribute with its id, `(…, → {name})`, or name the entities in between first"


def _is_referred_to(r: Reporter, entities: tuple[str, ...], name: str) -> bool:
    """Whether one of the entities refers to the named one."""
    referred_entity = r.workload.entity(name)
    ids = referred_entity.id_names if referred_entity else ()
    for entity in r.workload.entities_named(entities):
        for attribute in entity.attributes if entity.name != name else ():
            if attribute.referenced_entity == name or attribute.name in ids:
                return True
    return False


def _check_length(r: Reporter, path: Path, read: Read) -> None:
    """A list without pages and without a limit that may have very many items."""
    for entity in r.workload.entities_named(read.entities):
        bound_names = _bound_names(r.workload, read, entity)
        if identified(entity, bound_names):
            continue
        figures = _figures_of_result(r.workload, read, entity, bound_names)
        if any(figure.count is None or figure.count > _LONG for figure in figures):
            message = f"{_name_of_pattern(read)} may return very many `{entity.name}` items at once"
            fix = "write `Yes` under Paginated, or `Collection, limit 100`"
            r.say(codes.UNBOUNDED, (*path, "paginated"), message, fix)
            return


def _bound_names(workload: Workload, read: Read, entity: Entity) -> frozenset[str]:
    """The attributes of an entity that a read knows the value of."""
    names = (bindings(workload, read.entities, name).get(entity.name, "") for name in equalities(read))
    return frozenset(filter(None, names))


def _figures_of_result(
    workload: Workload, read: Read, entity: Entity, bound_names: frozenset[str]
) -> list[Cardinality]:
    """The cardinalities that tell the number of items: for an id in the inputs, else for a parent, else in total."""
    has_inputs = bool(equalities(read))
    figures = [figure for figure in entity.cardinality if bool(figure.per) == has_inputs]
    exact_figures = [figure for figure in figures if _is_of_inputs(workload, entity, figure, bound_names)]
    return exact_figures or figures


def _is_of_inputs(workload: Workload, entity: Entity, figure: Cardinality, bound_names: frozenset[str]) -> bool:
    """Whether a cardinality is for each item whose whole id is in the inputs."""
    if figure.per in bound_names:
        return True
    parent = workload.entity(figure.per)
    return parent is not None and foreign_key(workload, entity, parent, bound_names) is not None


def _write(r: Reporter, path: Path, write: Write) -> None:
    name = _name_of_pattern(write)
    column = "Items Deleted" if path[0] == "deletes" else "Items Written"
    if not write.actions and column not in write.verbatim:
        fix = "write `create Order`, `update Order (status)`, `delete Order`"
        r.say(codes.NO_ACTIONS, (*path, "actions"), f"{name} does not say what it writes", fix)
    writes_several = len(write.actions) > 1 or any(action.many for action in write.actions)
    if writes_several and write.atomic is None and "Transaction" not in write.verbatim:
        message = f"{name} writes several items and does not say whether it is atomic"
        r.say(codes.NOT_ATOMIC, (*path, "atomic"), message, "write `Yes` or `No` under Transaction")
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is not None and entity.id:
            _check_changes(r, (*path, "actions"), write, action, entity)
            if action.verb is Verb.UPSERT:
                _check_upsert(r, (*path, "actions"), write, action, entity)
            _check_address(r, (*path, "inputs"), write, action, entity)


def _check_changes(r: Reporter, path: Path, write: Write, action: Action, entity: Entity) -> None:
    if not action.updates or changes(write, action, entity):
        return
    message = f"{_name_of_pattern(write)} updates `{entity.name}` and does not say what changes"
    fix = f"write `{action.verb} {entity.name} (attribute, …)`"
    if gives_object(write, entity):
        fix += f"; or `put {entity.name}`, which replaces the whole item"
    r.say(codes.NO_CHANGES, path, message, fix)


def _check_address(r: Reporter, path: Path, write: Write, action: Action, entity: Entity) -> None:
    """The id of an item that is changed or deleted has to be among the inputs."""
    if action.many or not (action.updates or action.verb is Verb.DELETE):
        return
    unknown = unaddressed(r.workload, write, action, entity)
    if not unknown:
        return
    fix = f"add {name_list(unknown)} to the inputs"
    if action.by:
        fix = f"name an input for each part of its id, {name_list(unknown)}: `by {' + '.join(unknown)}`"
    message = f"{_name_of_pattern(write)} does not know the id of its `{entity.name}`"
    r.say(codes.CANNOT_ADDRESS, path, message, fix)


def _check_upsert(r: Reporter, path: Path, write: Write, action: Action, entity: Entity) -> None:
    """An upsert that may create an item without a required attribute, or that would need a guard."""
    unique_names = [name for group in declared_groups(entity) for name in group]
    if unique_names:
        message = f"{_name_of_pattern(write)} upserts `{entity.name}`, which has the unique {name_list(unique_names)}"
        r.say(codes.CANNOT_CREATE, path, message, f"write `create {entity.name}`, or `update {entity.name} (…)`")
        return
    missing = _names_missing_in_upsert(write, action, entity)
    if missing:
        message = f"{_name_of_pattern(write)} may create an item of `{entity.name}` without {name_list(missing)}"
        fix = f"add {name_list(missing)} to the upsert, mark it `optional`, or give it a `default`"
        r.say(codes.CANNOT_CREATE, path, message, fix)


def _names_missing_in_upsert(write: Write, action: Action, entity: Entity) -> list[str]:
    """The required attributes that an upsert does not set. DynamoDB has no empty sets, so a set may be absent."""
    names = []
    set_names = {change.attribute for change in changes(write, action, entity) if change.op is not ChangeOp.REMOVE}
    for attribute in entity.attributes:
        may_be_absent = attribute.id or attribute.optional or attribute.default is not None
        if not may_be_absent and attribute.name not in set_names and attribute.type.kind is not Kind.SET:
            names.append(attribute.name)
    return names


def _check_rates(r: Reporter) -> None:
    """One diagnostic for all missing rates."""
    places, names = [], []
    for path, pattern in r.patterns():
        is_said = pattern.rate is not None or "Frequency" in pattern.verbatim
        if not is_said and pattern.id not in r.out_of_scope:
            places.append(path)
            names.append(_name_of_pattern(pattern))
    if names:
        fix = "write `Hot`, `Warm`, `Cold` or `250/s`; `Warm` (10/s) is assumed"
        r.say(codes.NO_RATE, places[0], f"{name_list(names)}: no frequency", fix)


def _check_cardinalities(r: Reporter) -> None:
    """One diagnostic for all missing cardinalities."""
    places: list[Path] = []
    names = []
    for index, entity in enumerate(r.workload.entities):
        if not entity.cardinality and not entity.singleton and "Cardinality" not in entity.verbatim:
            places.append(("entities", index))
            names.append(entity.name)
    if names:
        fix = "write `- **Cardinality**: ~100 per User, 1M total`"
        r.say(codes.NO_CARDINALITY, places[0], f"{name_list(names)}: no cardinality", fix)


def _check_use(r: Reporter) -> None:
    workload = r.workload
    read_names = {name for read in workload.reads for name in read.entities} | _locks(workload)
    created_names = {entity.name for entity in workload.entities if _is_created(workload, entity)}
    is_unread = any("Items Written" in write.verbatim for write in workload.writes)  # which is reported
    for index, entity in enumerate(workload.entities):
        if workload.reads and entity.name not in read_names:
            message = f"no pattern reads `{entity.name}`"
            r.say(codes.NEVER_READ, ("entities", index), message, "add the read, or leave it out")
        if workload.writes and not is_unread and entity.name not in created_names:
            fix = "add the write that creates it; if another program does, add that as a write"
            r.say(codes.NEVER_CREATED, ("entities", index), f"no pattern creates `{entity.name}`", fix)


def _is_created(workload: Workload, entity: Entity) -> bool:
    return any(action.verb.may_create for _, action in workload.actions_on(entity.name))


def _is_removed(workload: Workload, entity: Entity) -> bool:
    return any(action.verb.removes for _, action in workload.actions_on(entity.name))


def _locks(workload: Workload) -> set[str]:
    """Entities that only writes need: a condition asks for them, or they are taken and released by a natural id."""
    names: set[str] = set()
    for write in workload.changing:
        names.update(leaf.entity or write.first_entity for leaf in all_leaves(write))
    for entity in workload.entities:
        is_natural = bool(entity.id) and not any(attribute.generated for attribute in entity.id)
        if is_natural and _is_created(workload, entity) and _is_removed(workload, entity):
            names.add(entity.name)
    return names
