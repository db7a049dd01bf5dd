"""Questions about one write: which items, whether all or none, under what condition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.writes import read_actions, read_checks, write_actions, write_checks
from prejoin.workload.interview.step import NONE, Asked, found_entities, several
from prejoin.workload.model import Action, Change, Pattern, Verb, Workload, Write
from prejoin.workload.stubs import create

CREATING = re.compile(
    r"\b(create|add|new|place|register|sign ?up|open|start|submit|post|send|book|join|lend|borrow)", re.IGNORECASE
)


def ask_actions(kind: str, w: Workload, p: Pattern) -> Asked:
    write = cast(Write, p)
    inputs = frozenset(i.attribute for i in write.inputs)
    default = write_actions(write.actions or tuple(_likely_actions(kind, w, write)), inputs) or None
    return "Which items does it write, and what happens to each?", default


def _likely_actions(kind: str, w: Workload, p: Write) -> Iterator[Action]:
    given = {i.attribute for i in p.inputs}
    for entity in found_entities(w, p):
        changed = tuple(Change(a.name) for a in entity.attributes if a.name in given and not a.id)
        if kind == "deletes":
            yield Action(Verb.DELETE, entity.name)
        elif CREATING.search(p.description) or not changed:
            yield Action(Verb.CREATE, entity.name)
        else:
            yield Action(Verb.UPDATE, entity.name, changes=changed)


def take_actions(w: Workload, p: Pattern, text: str) -> Pattern:
    actions = read_actions(text, frozenset(i.attribute for i in p.inputs))
    if not actions:
        raise Inexact(
            "that says nothing about what is written", "write `create Order`, `update Order (status)` or `delete Order`"
        )
    touched = dict.fromkeys((*p.entities, *(a.entity for a in actions if w.entity(a.entity))))
    alone = len(actions) == 1 and not actions[0].many
    return replace(p, actions=actions, entities=tuple(touched), atomic=None if alone else cast(Write, p).atomic)


def ask_atomic(w: Workload, p: Pattern) -> Asked:
    atomic = cast(Write, p).atomic
    return "Must all of it happen, or none of it?", "no" if atomic is False else "yes"


def ask_checks(w: Workload, p: Pattern) -> Asked:
    write = cast(Write, p)
    inputs = frozenset(i.attribute for i in write.inputs)
    created = [w.entity(a.entity) for a in write.actions if a.verb is Verb.CREATE]
    likely = tuple(c for e in created if e and e.name == write.entities[0] for c in create(e).checks)
    return "What must be true for it?", write_checks(write.checks or likely, inputs) or NONE


def take_checks(w: Workload, p: Pattern, text: str) -> Pattern:
    inputs = frozenset(i.attribute for i in p.inputs)
    return replace(p, checks=several(text, lambda t: read_checks(t, inputs)))
