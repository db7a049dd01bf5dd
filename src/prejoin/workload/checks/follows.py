"""Checks of attributes that follow others: their source is found, the items that repeat it are, and writes compare."""

from __future__ import annotations

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, name_list
from prejoin.workload.conditions import facts
from prejoin.workload.follow_links import FollowLink, follow_links, leads, reference_of, source_of
from prejoin.workload.grammar.lexer import write_name
from prejoin.workload.lookup import bindings, changes, equalities
from prejoin.workload.model import (
    Action,
    Attribute,
    Comparison,
    Entity,
    Op,
    Read,
    Verb,
    Write,
)
from prejoin.workload.read_result import Path

_WHOLE = frozenset({Verb.CREATE, Verb.PUT})


def check_follows(r: Reporter) -> None:
    for index, entity in enumerate(r.workload.entities):
        for at, attribute in enumerate(entity.attributes):
            source = source_of(r.workload, attribute)
            if attribute.follows and source:
                path: Path = ("entities", index, "attributes", at)
                unreferred = _unreferred(r, entity, attribute, source[0])
                if problem := _unfit(attribute, *source) or unreferred or _unread(r, entity, attribute):
                    r.say(codes.FOLLOWS, path, *problem)
    found = follow_links(r.workload)
    for path, pattern in r.patterns() if found else ():
        if not isinstance(pattern, Read) and pattern.id not in r.out_of_scope:
            for one in found:
                _compared(r, path, pattern, one)


def _unfit(a: Attribute, entity: Entity, source: Attribute) -> tuple[str, str] | None:
    """What is wrong with an attribute and its source, and the fix."""
    origin = f"{entity.name}.{source.name}"
    if len(a.repeats) > 1:
        return f"`{a.name}` repeats {name_list(a.repeats)}, each in its own way", f"keep `follows {origin}` only"
    if a.id or a.unique:
        return f"`{a.name}` follows `{origin}`, and is an id or unique", "take the other flag away"
    if source.id:
        return f"`{origin}` is part of an id, which never changes", f"write `→ {entity.name}` instead of `follows`"
    if a.type != source.type:
        return f"`{a.name}` is {a.type}, and `{origin}` is {source.type}", f"make both {source.type}"
    if source.optional and not a.optional:
        return f"`{origin}` may be absent, and `{a.name}` may not", f"mark `{a.name}` as `optional`"
    if not a.mutable:
        return f"`{a.name}` changes with `{origin}`, and is not marked mutable", "mark it `mutable`"
    if a.follows and a.follows.within == 0:
        return f"`{a.name}` cannot follow `{origin}` at once", "give a time, `within 10 seconds`"
    return None


def _unreferred(r: Reporter, entity: Entity, a: Attribute, source: Entity) -> tuple[str, str] | None:
    """The message if no reference leads to the source, or more than one does."""
    if a.follows is None or reference_of(r.workload, entity, a) is not None:
        return None
    options = [one.name for one in leads(r.workload, entity, a)]
    if len(options) > 1:
        fix = f"say which: `follows {a.follows.source} via {write_name(options[0])}`"
        return f"{name_list(options)} lead to an item of `{source.name}`, and nothing says which `{a.name}` is of", fix
    id_ = source.id[0] if source.id else Attribute("id")
    fix = f"add a reference for each part of its id: `` `{id_.name}` ({id_.type}, → {source.name}) ``"
    return f"nothing in `{entity.name}` leads to the `{source.name}` that `{a.name}` is of", fix


def _unread(r: Reporter, entity: Entity, a: Attribute) -> tuple[str, str] | None:
    """The message if no read finds the items that repeat a source."""
    by = list((reference_of(r.workload, entity, a) or {}).values())
    for read in r.workload.reads:
        given = [bindings(r.workload, read.entities, name).get(entity.name) for name in equalities(read)]
        constant = any(one.values and not one.filter for one in read.inputs)
        every = entity.name in read.entities and not constant and read.id not in r.out_of_scope
        if every and given and set(given) <= set(by):
            return None
    source = a.follows.source if a.follows else ""
    fix = f"add a read of `{entity.name}` with the input {name_list(by)} and the result `Collection`"
    return f"no read finds each `{entity.name}` by {name_list(by)}, to update it when `{source}` changes", fix


def _compared(r: Reporter, path: Path, write: Write, one: FollowLink) -> None:
    """A write that gives the value compares it with the source: it may have changed since the caller read it."""
    if one.within is not None:
        return
    equal = [check for check in facts(write) if isinstance(check, Comparison) and check.op is Op.EQ]
    compared = {check.attribute for check in equal if (check.entity or write.first_entity) == one.source.name}
    given = [action for action in write.actions if action.entity == one.source.name]
    for action in (a for a in write.actions if a.entity == one.entity.name):
        for own, origin in one.attributes.items():
            together = any(_sets(write, other, one.source, origin) for other in given)
            if _sets(write, action, one.entity, own) and origin not in compared and not together:
                source = f"{one.source.name}.{origin}"
                r.say(
                    codes.FOLLOWS,
                    (*path, "checks"),
                    f"{write.id} gives `{one.entity.name}.{own}`, and `{source}` may have changed meanwhile",
                    f"add the condition `{source} = {write_name(own)}`, or write `follows {source} within 10 seconds`",
                )


def _sets(write: Write, action: Action, entity: Entity, name: str) -> bool:
    if action.verb in _WHOLE:
        return True
    return action.updates and any(change.attribute == name for change in changes(write, action, entity))
