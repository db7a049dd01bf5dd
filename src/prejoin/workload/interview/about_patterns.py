"""Questions about one access pattern: which entities, what is given, what comes back or is written, how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from prejoin.workload.document.read_entities import read_names
from prejoin.workload.grammar.answers import (
    read_sort,
)
from prejoin.workload.grammar.inputs import read_inputs, write_inputs
from prejoin.workload.grammar.lexer import Inexact, write_name
from prejoin.workload.grammar.quantities import read_rate, write_rate
from prejoin.workload.interview import about_reads, about_writes
from prejoin.workload.interview.about_writes import CREATING
from prejoin.workload.interview.step import HELP, NONE, Asked, Kind, Question, Step, Taken, found_entities, several, yes
from prejoin.workload.model import Combine, Entity, Input, Pattern, Read, Result, Verb, Workload, Write
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


def another(kind: str) -> Step:
    """The question that each pattern of a kind begins with."""

    def ask(w: Workload) -> Question:
        found: tuple[Pattern, ...] = getattr(w, kind)
        first, more = _WORDS[kind]
        known = tuple(line(p) for p in found)
        return Question(kind, more if found else first, HELP[kind], "done", known, several=True)

    def take(w: Workload, text: str) -> Taken:
        made = Read("", description=text) if kind == "reads" else Write("", description=text)
        w = add(w, kind, made)
        return w, f"entities of {getattr(w, kind)[-1].id}"

    return Step(kind, Kind.LIST, ask, take, lambda w: not getattr(w, kind), required=kind != "deletes")


def about(kind: str, pattern: Pattern) -> Iterator[Step]:
    """The questions about one pattern, in order."""
    id_ = pattern.id

    def field(
        name: str,
        ask: Callable[[Workload, Pattern], Asked],
        take: Callable[[Workload, Pattern, str], Pattern],
        missing: Callable[[Pattern], bool] = lambda p: False,
    ) -> Step:
        key = f"{name} of {id_}"
        about_ = "entities of a pattern" if name == "entities" else name

        def question(w: Workload) -> Question:
            found = _pattern(w, id_)
            words, default = ask(w, found)
            return Question(key, words, HELP[about_], default, (line(found),), choices=_choices(w, name, found))

        def taken(w: Workload, text: str) -> Taken:
            return put_pattern(w, kind, take(w, _pattern(w, id_), text)), None

        return Step(key, Kind.FIELD, question, taken, lambda w: missing(_pattern(w, id_)), id_, True)

    yield field("description", _ask_description, lambda w, p, t: replace(p, description=t))
    yield field("entities", _ask_entities, _take_entities, lambda p: not p.entities)
    yield field("inputs", _ask_inputs, lambda w, p, t: replace(p, inputs=several(t, read_inputs)))
    if isinstance(pattern, Read):
        yield field(
            "result",
            about_reads.ask_result,
            about_reads.take_result,
            lambda p: isinstance(p, Read) and p.result is None,
        )
        if len(pattern.entities) > 1:
            yield field("combination", about_reads.ask_combine, about_reads.take_combine)
        if pattern.result in {None, Result.MANY}:
            yield field("order", about_reads.ask_sort, lambda w, p, t: replace(p, sort=several(t, read_sort)))
            yield field("pages", about_reads.ask_page, about_reads.take_page)
    else:
        yield field(
            "items",
            partial(about_writes.ask_actions, kind),
            about_writes.take_actions,
            lambda p: isinstance(p, Write) and not p.actions,
        )
        if len(pattern.actions) > 1 or any(a.many for a in pattern.actions):
            yield field("transaction", about_writes.ask_atomic, lambda w, p, t: replace(p, atomic=yes(t)))
        yield field("conditions", about_writes.ask_checks, about_writes.take_checks)


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


def _ask_description(w: Workload, p: Pattern) -> Asked:
    return "What is it, in words?", p.description or None


def _ask_entities(w: Workload, p: Pattern) -> Asked:
    reading = isinstance(p, Read)
    words = "Which entity does it give?" if reading else "Which entity does it write?"
    default = ", ".join(write_name(e) for e in p.entities) or _mentioned(w, p.description)
    return words, default


def _mentioned(w: Workload, description: str) -> str | None:
    """The entity that a description speaks of first, if it speaks of one by its name."""
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


def _ask_inputs(w: Workload, p: Pattern) -> Asked:
    entities = found_entities(w, p)
    named = ", ".join(dict.fromkeys(write_name(a.name) for e in entities for a in e.attributes))
    words = f"What is known when it is asked? ({named})" if isinstance(p, Read) else f"What is it given? ({named})"
    return words, write_inputs(p.inputs) or _likely_inputs(w, p, entities)


def _likely_inputs(w: Workload, p: Pattern, entities: list[Entity]) -> str:
    """For a read the id, or the parent that its description speaks of; for a write all there is to write."""
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


def rates(w: Workload) -> Iterator[Step]:
    for kind in KINDS:
        for pattern in getattr(w, kind):
            key = f"frequency of {pattern.id}"
            yield Step(
                key,
                Kind.FIELD,
                partial(_ask_rate, key, pattern.id),
                partial(_take_rate, kind, pattern.id),
                lambda w, id_=pattern.id: _pattern(w, id_).rate is None,  # type: ignore[misc]
                required=True,
            )


def _ask_rate(key: str, id_: str, w: Workload) -> Question:
    pattern = _pattern(w, id_)
    words = "How often: Hot, Warm, Cold, or a figure?"
    default = write_rate(pattern.rate) if pattern.rate else "Warm"
    return Question(key, words, HELP["frequency"], default, (line(pattern),), choices=("Hot", "Warm", "Cold"))


def _take_rate(kind: str, id_: str, w: Workload, text: str) -> Taken:
    rate = None if text.strip() == NONE else read_rate(text.strip())
    return put_pattern(w, kind, replace(_pattern(w, id_), rate=rate)), None
