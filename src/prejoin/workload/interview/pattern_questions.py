"""Questions about one access pattern: its entities, inputs, result or items, and rate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import assert_never, cast

from msgspec.structs import replace

from prejoin import types
from prejoin.workload.document.read_entities import read_names
from prejoin.workload.grammar.answers import (
    COMBINE_FIX,
    read_combine,
    read_page,
    read_result,
    read_sort,
    write_combine,
    write_page,
    write_result,
    write_sort,
)
from prejoin.workload.grammar.inputs import read_inputs, write_inputs
from prejoin.workload.grammar.lexer import Inexact, write_name
from prejoin.workload.grammar.quantities import read_rate, write_rate
from prejoin.workload.grammar.writes import read_actions, read_checks, write_actions, write_checks
from prejoin.workload.interview.step import (
    HELP,
    NONE,
    InterviewStep,
    Prompt,
    Question,
    StepKind,
    Taken,
    found_entities,
    several,
    yes,
)
from prejoin.workload.lookup import equalities
from prejoin.workload.model import Action, Change, Combine, Entity, Input, Pattern, Read, Result, Verb, Workload, Write
from prejoin.workload.stubs import add, create, delete, parents

KINDS = ("reads", "writes", "deletes")
_WORDS = {
    "reads": (
        "What does the application look up? One question, in words, such as “the open orders of a customer”.",
        "What else does it look up?",
    ),
    "writes": (
        "What does the application create or change? One thing, in words, such as “place an order”.",
        "What else does it create or change?",
    ),
    "deletes": (
        "What does the application delete? One thing, in words, such as “close an account”.",
        "What else does it delete?",
    ),
}


def another(kind: str) -> InterviewStep:
    """The first question about a pattern of a kind."""

    def ask(w: Workload) -> Question:
        found: tuple[Pattern, ...] = getattr(w, kind)
        first, more = _WORDS[kind]
        known = tuple(line(p) for p in found)
        return Question(kind, more if found else first, HELP[kind], "done", known, several=True)

    def take(w: Workload, text: str) -> Taken:
        made = Read("", description=text) if kind == "reads" else Write("", description=text)
        w = add(w, kind, made)
        return w, f"entities of {getattr(w, kind)[-1].id}"

    return InterviewStep(kind, StepKind.LIST, ask, take, lambda w: not getattr(w, kind), required=kind != "deletes")


def about(kind: str, pattern: Pattern) -> Iterator[InterviewStep]:
    """The questions about one pattern, in order."""
    id_ = pattern.id

    def field(
        name: str,
        ask: Callable[[Workload, Pattern], Prompt],
        take: Callable[[Workload, Pattern, str], Pattern],
        missing: Callable[[Pattern], bool] = lambda p: False,
    ) -> InterviewStep:
        key = f"{name} of {id_}"
        about_ = "entities of a pattern" if name == "entities" else name

        def question(w: Workload) -> Question:
            found = _pattern(w, id_)
            words, default = ask(w, found)
            return Question(key, words, HELP[about_], default, (line(found),), choices=_choices(w, name, found))

        def taken(w: Workload, text: str) -> Taken:
            return put_pattern(w, kind, take(w, _pattern(w, id_), text)), None

        return InterviewStep(key, StepKind.FIELD, question, taken, lambda w: missing(_pattern(w, id_)), id_, True)

    yield field("description", _ask_description, lambda w, p, t: replace(p, description=t))
    yield field("entities", _ask_entities, _take_entities, lambda p: not p.entities)
    yield field("inputs", _ask_inputs, lambda w, p, t: replace(p, inputs=several(t, read_inputs)))
    if isinstance(pattern, Read):
        yield field(
            "result",
            ask_result,
            take_result,
            lambda p: isinstance(p, Read) and p.result is None,
        )
        if len(pattern.entities) > 1:
            yield field("combination", ask_combine, take_combine)
        if pattern.result in {None, Result.MANY}:
            yield field("order", ask_sort, lambda w, p, t: replace(p, sort=several(t, read_sort)))
            yield field("pages", ask_page, take_page)
    else:
        yield field(
            "items",
            partial(ask_actions, kind),
            take_actions,
            lambda p: isinstance(p, Write) and not p.actions,
        )
        if len(pattern.actions) > 1 or any(a.many for a in pattern.actions):
            yield field("transaction", ask_atomic, lambda w, p, t: replace(p, atomic=yes(t)))
        yield field("conditions", ask_checks, take_checks)


def _pattern(w: Workload, id_: str) -> Pattern:
    pattern = w.pattern(id_)
    assert pattern is not None
    return pattern


def line(pattern: Pattern) -> str:
    return f"{pattern.id}  {pattern.description}"


def put_pattern(w: Workload, kind: str, pattern: Pattern) -> Workload:
    found = tuple(pattern if p.id == pattern.id else p for p in getattr(w, kind))
    return replace(w, **{kind: found})


def drop_pattern(w: Workload, kind: str, id_: str) -> Workload:
    return replace(w, **{kind: tuple(p for p in getattr(w, kind) if p.id != id_)})


def _choices(w: Workload, name: str, p: Pattern) -> tuple[str, ...]:
    entities = tuple(e.name for e in w.entities)
    attributes = tuple(a.name for e in found_entities(w, p) for a in e.attributes)
    return {
        "entities": entities,
        "inputs": attributes,
        "order": attributes,
        "conditions": (*attributes, *entities),
        "result": tuple(Result),
        "combination": tuple(Combine),
        "pages": ("Yes", "No"),
        "transaction": ("yes", "no"),
        "items": (*Verb, *entities, *attributes),
    }.get(name, ())


# --- What both kinds have -------------------------------------------------------------------------------------------


def _ask_description(w: Workload, p: Pattern) -> Prompt:
    return "What is it, in words?", p.description or None


def _ask_entities(w: Workload, p: Pattern) -> Prompt:
    reading = isinstance(p, Read)
    words = "Which entity does it give?" if reading else "Which entity does it write?"
    default = ", ".join(write_name(e) for e in p.entities) or _mentioned(w, p.description)
    return words, default


def _mentioned(w: Workload, description: str) -> str | None:
    """The first entity that a description names; None if it names none."""
    spoken = description.lower().replace(" ", "")
    places = {e.name: at for e in w.entities if (at := spoken.find(e.name.lower())) >= 0}
    return write_name(min(places, key=lambda name: (places[name], -len(name)))) if places else None


def _take_entities(w: Workload, p: Pattern, text: str) -> Pattern:
    names = read_names(text)
    known = [e.name for e in w.entities]
    for name in names:
        if name not in known:
            raise Inexact(f"there is no entity `{name}`", f"there is {', '.join(known)}")
    if isinstance(p, Read) and len(names) < 2:
        p = replace(p, combine=None, via="")
    return replace(p, entities=names)


def _ask_inputs(w: Workload, p: Pattern) -> Prompt:
    entities = found_entities(w, p)
    named = ", ".join(dict.fromkeys(write_name(a.name) for e in entities for a in e.attributes))
    words = f"What is known when it is asked? ({named})" if isinstance(p, Read) else f"What is it given? ({named})"
    return words, write_inputs(p.inputs) or _likely_inputs(w, p, entities)


def _likely_inputs(w: Workload, p: Pattern, entities: list[Entity]) -> str:
    """The likely inputs: for a read the id or the parent in its description, for a write all attributes."""
    if not entities:
        return NONE
    first = entities[0]
    spoken = p.description.lower().replace(" ", "")
    if isinstance(p, Write):
        whole = create(first).inputs if CREATING.search(p.description) else delete(first).inputs
        return write_inputs(whole) or NONE
    for parent, attribute in parents(w, first):
        if parent.name.lower() in spoken:
            return write_name(attribute.name)
    return write_inputs(tuple(Input(a.name) for a in first.id)) or NONE


# --- How often ------------------------------------------------------------------------------------------------------


def rates(w: Workload) -> Iterator[InterviewStep]:
    for kind in KINDS:
        for pattern in getattr(w, kind):
            key = f"frequency of {pattern.id}"
            yield InterviewStep(
                key,
                StepKind.FIELD,
                partial(_ask_rate, key, pattern.id),
                partial(_take_rate, kind, pattern.id),
                lambda w, id_=pattern.id: _pattern(w, id_).rate is None,  # type: ignore[misc]
                required=True,
                figure=True,
            )


def _ask_rate(key: str, id_: str, w: Workload) -> Question:
    pattern = _pattern(w, id_)
    words = "How often: Hot, Warm, Cold, or a figure?"
    default = write_rate(pattern.rate) if pattern.rate else "Warm"
    return Question(key, words, HELP["frequency"], default, (line(pattern),), choices=("Hot", "Warm", "Cold"))


def _take_rate(kind: str, id_: str, w: Workload, text: str) -> Taken:
    rate = None if text.strip() == NONE else read_rate(text.strip())
    return put_pattern(w, kind, replace(_pattern(w, id_), rate=rate)), None


def ask_result(w: Workload, p: Pattern) -> Prompt:
    read = cast(Read, p)
    given = write_result(read.result, read.needs, read.limit) if read.result else _likely_result(w, read)
    return "What comes back: Single, Collection or Count?", given


def _likely_result(w: Workload, read: Read) -> str:
    if len(read.entities) != 1 or any(i.many for i in read.inputs):
        return Result.MANY.value
    entity, known = found_entities(w, read), set(equalities(read))
    if not entity:
        return Result.MANY.value
    unique = any(a.unique and a.name in known for a in entity[0].attributes)
    whole = bool(entity[0].id) and all(a.name in known for a in entity[0].id)
    return Result.ONE.value if unique or whole or entity[0].singleton else Result.MANY.value


def take_result(w: Workload, p: Pattern, text: str) -> Pattern:
    result, needs, limit = read_result(text)
    match result:
        case Result.ONE:
            p = replace(p, sort=(), paginated=False, page=None)
        case Result.COUNT:
            p = replace(p, sort=(), paginated=None, page=None)
        case Result.MANY:
            pass
        case _:
            assert_never(result)
    return replace(p, result=result, needs=needs, limit=limit)


def ask_combine(w: Workload, p: Pattern) -> Prompt:
    read = cast(Read, p)
    default = write_combine(read.combine or Combine.COLLECTION, read.via)
    return "How do they belong together: Collection or Join?", default


def take_combine(w: Workload, p: Pattern, text: str) -> Pattern:
    combine, via = read_combine(text)
    if isinstance(combine, bool):
        raise Inexact("there are several entities, so it has to be said how", COMBINE_FIX)
    return replace(p, combine=combine, via=via)


def ask_sort(w: Workload, p: Pattern) -> Prompt:
    attributes = [a for e in found_entities(w, p) for a in e.attributes]
    dated = next((a for a in attributes if a.type.kind in {types.Kind.DATETIME, types.Kind.DATE}), None)
    example = (
        f"{write_name(dated.name)} DESC" if dated else f"{write_name(attributes[-1].name)} ASC" if attributes else ""
    )
    words = f"In which order? Such as `{example}`." if example else "In which order?"
    return words, write_sort(cast(Read, p).sort) or NONE


def ask_page(w: Workload, p: Pattern) -> Prompt:
    read = cast(Read, p)
    default = "No" if read.limit else "Yes" if read.paginated is None else write_page(read.paginated, read.page)
    return "Does it come in pages?", default


def take_page(w: Workload, p: Pattern, text: str) -> Pattern:
    paginated, page = read_page({"y": "yes", "n": "no"}.get(text.strip().lower(), text))
    return replace(p, paginated=paginated, page=page)


CREATING = re.compile(
    r"\b(create|add|new|place|register|sign ?up|open|start|submit|post|send|book|join|lend|borrow)", re.IGNORECASE
)


def ask_actions(kind: str, w: Workload, p: Pattern) -> Prompt:
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


def ask_atomic(w: Workload, p: Pattern) -> Prompt:
    atomic = cast(Write, p).atomic
    return "Must all of it happen, or none of it?", "no" if atomic is False else "yes"


def ask_checks(w: Workload, p: Pattern) -> Prompt:
    write = cast(Write, p)
    inputs = frozenset(i.attribute for i in write.inputs)
    created = [w.entity(a.entity) for a in write.actions if a.verb is Verb.CREATE]
    likely = tuple(c for e in created if e and e.name == write.entities[0] for c in create(e).checks)
    return "What must be true for it?", write_checks(write.checks or likely, inputs) or NONE


def take_checks(w: Workload, p: Pattern, text: str) -> Pattern:
    inputs = frozenset(i.attribute for i in p.inputs)
    return replace(p, checks=several(text, lambda t: read_checks(t, inputs)))
