"""Checks that the document says everything the designer needs."""

from __future__ import annotations

import re

from msgspec.structs import replace

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, name_list
from prejoin.workload.conditions import all_leaves
from prejoin.workload.document.columns import normal
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.lookup import bindings, changes, equalities, foreign_key, gives_object, identified, unaddressed
from prejoin.workload.model import (
    Action,
    Attribute,
    ChangeOp,
    Combine,
    Entity,
    Read,
    Result,
    Verb,
    Workload,
    Write,
)
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
            r.say(
                codes.NO_ENTITY,
                (*path, "entities"),
                f"{_name_of_pattern(pattern)} names no entity",
                "name what is read or written",
            )
        if isinstance(pattern, Read):
            _read(r, path, pattern)
        else:
            _write(r, path, pattern)
    _unsaid(r)
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
    names = {normal(a.name).replace("_", ""): a for a in entity.attributes}
    own = entity.name.lower()
    return next((names[n] for n in (f"{own}id", "id", f"{own}key", own) if n in names), None)


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
    entities = tuple(e for e in read.entities if r.workload.entity(e))
    given_names = equalities(read)
    if len(entities) < 2 or not given_names:
        return
    for name in entities[1:] if read.combine is Combine.JOIN else entities:
        is_bound = any(name in bindings(r.workload, entities, a) for a in given_names)
        entity = r.workload.entity(name)
        is_unread = entity is not None and "Attributes" in entity.verbatim  # which is reported
        if is_bound or is_unread or (read.combine is Combine.JOIN and _is_referred_to(r, entities, name)):
            continue
        fix = f"give `{name}` the attribute, or one that refers to it: `(…, → Entity)`; a read of two steps is a `Join`"
        message = f"`{name}` has no attribute for {_name_of_pattern(read)} ({name_list(list(given_names))})"
        if read.combine is Combine.JOIN:
            message = f"no attribute of `{entities[0]}` says which `{name}` is meant, for {_name_of_pattern(read)}"
            fix = (
                f"give `{entities[0]}` an attribute with its id, `(…, → {name})`, or name the entities in between first"
            )
        r.say(codes.NOT_RELATED, (*path, "entities"), message, fix)


def _is_referred_to(r: Reporter, entities: tuple[str, ...], name: str) -> bool:
    """Whether one of the entities refers to the named one."""
    other_entities = [e for e in map(r.workload.entity, entities) if e and e.name != name]
    referred_entity = r.workload.entity(name)
    ids = set(referred_entity.id_names) if referred_entity else set()
    return any(a.referenced_entity == name or a.name in ids for e in other_entities for a in e.attributes)


def _check_length(r: Reporter, path: Path, read: Read) -> None:
    given_names = equalities(read)
    for name in read.entities:
        entity = r.workload.entity(name)
        if entity is None:
            continue
        bound_names = {
            bound_name
            for given_name in given_names
            if (bound_name := bindings(r.workload, read.entities, given_name).get(name))
        }
        if identified(entity, bound_names):
            continue
        figures = [c for c in entity.cardinality if bool(c.per) == bool(given_names)]
        # A cardinality for the whole id in the inputs is more exact than one for a parent.
        parents = {c.per: r.workload.entity(c.per) for c in figures}
        exact_parents = {
            per
            for per, e in parents.items()
            if per in bound_names or (e and foreign_key(r.workload, entity, e, bound_names))
        }
        figures = [c for c in figures if c.per in exact_parents] or figures
        if any(c.count is None or c.count > _LONG for c in figures):
            message = f"{_name_of_pattern(read)} may return very many `{name}` items at once"
            r.say(
                codes.UNBOUNDED,
                (*path, "paginated"),
                message,
                "write `Yes` under Paginated, or `Collection, limit 100`",
            )
            return


def _write(r: Reporter, path: Path, write: Write) -> None:
    name = _name_of_pattern(write)
    column = "Items Deleted" if path[0] == "deletes" else "Items Written"
    if not write.actions and column not in write.verbatim:
        message = f"{name} does not say what it writes"
        r.say(
            codes.NO_ACTIONS,
            (*path, "actions"),
            message,
            "write `create Order`, `update Order (status)`, `delete Order`",
        )
    writes_several = len(write.actions) > 1 or any(a.many for a in write.actions)
    if writes_several and write.atomic is None and "Transaction" not in write.verbatim:
        message = f"{name} writes several items and does not say whether it is atomic"
        r.say(codes.NOT_ATOMIC, (*path, "atomic"), message, "write `Yes` or `No` under Transaction")
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None or not entity.id:
            continue
        if action.updates and not changes(write, action, entity):
            message = f"{name} updates `{entity.name}` and does not say what changes"
            fix = f"write `{action.verb} {entity.name} (attribute, …)`"
            if gives_object(write, entity):
                fix += f"; or `put {entity.name}`, which replaces the whole item"
            r.say(codes.NO_CHANGES, (*path, "actions"), message, fix)
        if action.verb is Verb.UPSERT:
            _check_upsert(r, (*path, "actions"), write, action, entity)
        unknown = unaddressed(r.workload, write, action, entity)
        if (action.updates or action.verb is Verb.DELETE) and not action.many and unknown:
            message = f"{name} does not know the id of its `{entity.name}`"
            fix = f"add {name_list(unknown)} to the inputs"
            if action.by:
                fix = f"name an input for each part of its id, {name_list(unknown)}: `by {' + '.join(unknown)}`"
            r.say(codes.CANNOT_ADDRESS, (*path, "inputs"), message, fix)


def _check_upsert(r: Reporter, path: Path, write: Write, action: Action, entity: Entity) -> None:
    """An upsert that may create an item without a required attribute, or that would need a guard."""
    unique_names = [a.name for a in entity.attributes if a.unique] + [name for group in entity.unique for name in group]
    if unique_names:
        message = f"{_name_of_pattern(write)} upserts `{entity.name}`, which has the unique {name_list(unique_names)}"
        r.say(codes.CANNOT_CREATE, path, message, f"write `create {entity.name}`, or `update {entity.name} (…)`")
        return
    set_names = {c.attribute for c in changes(write, action, entity) if c.op is not ChangeOp.REMOVE}
    required_attributes = [
        a for a in entity.attributes if not (a.id or a.optional or a.default is not None or a.name in set_names)
    ]
    if missing := [a.name for a in required_attributes if a.type.kind is not Kind.SET]:
        message = f"{_name_of_pattern(write)} may create an item of `{entity.name}` without {name_list(missing)}"
        fix = f"add {name_list(missing)} to the upsert, mark it `optional`, or give it a `default`"
        r.say(codes.CANNOT_CREATE, path, message, fix)


def _unsaid(r: Reporter) -> None:
    """One diagnostic for all missing rates and one for all missing cardinalities."""
    outside = r.out_of_scope
    silent = [
        (p, x) for p, x in r.patterns() if x.rate is None and "Frequency" not in x.verbatim and x.id not in outside
    ]
    if silent:
        message = f"{name_list([_name_of_pattern(x) for _, x in silent])}: no frequency"
        r.say(codes.NO_RATE, silent[0][0], message, "write `Hot`, `Warm`, `Cold` or `250/s`; `Warm` (10/s) is assumed")
    unknown = [
        (("entities", i), e)
        for i, e in enumerate(r.workload.entities)
        if not e.cardinality and not e.singleton and "Cardinality" not in e.verbatim
    ]
    if unknown:
        message = f"{name_list([e.name for _, e in unknown])}: no cardinality"
        r.say(codes.NO_CARDINALITY, unknown[0][0], message, "write `- **Cardinality**: ~100 per User, 1M total`")


def _check_use(r: Reporter) -> None:
    read_names = {name for p in r.workload.reads for name in p.entities}
    created_names = {a.entity for p in r.workload.changing for a in p.actions if a.verb.may_create}
    inexact = any("Items Written" in p.verbatim for p in r.workload.writes)
    locks = _locks(r.workload)
    for index, entity in enumerate(r.workload.entities):
        if r.workload.reads and entity.name not in read_names and entity.name not in locks:
            r.say(
                codes.NEVER_READ,
                ("entities", index),
                f"no pattern reads `{entity.name}`",
                "add the read, or leave it out",
            )
        if r.workload.writes and not inexact and entity.name not in created_names:
            message = f"no pattern creates `{entity.name}`"
            r.say(
                codes.NEVER_CREATED,
                ("entities", index),
                message,
                "add the write that creates it; if another program does, add that as a write",
            )


def _locks(workload: Workload) -> set[str]:
    """Entities that only writes need: a condition asks for them, or they are taken and released by a natural id."""
    writes = workload.changing
    checked_names = {leaf.entity or write.first_entity for write in writes for leaf in all_leaves(write)}
    actions = [action for write in writes for action in write.actions]
    created_names = {action.entity for action in actions if action.verb.may_create}
    removed_names = {action.entity for action in actions if action.verb.removes}
    natural_names = {e.name for e in workload.entities if e.id and not any(a.generated for a in e.id)}
    return checked_names | (created_names & removed_names & natural_names)
