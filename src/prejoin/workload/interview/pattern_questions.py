"""Questions about one access pattern: its entities, inputs, result or items, and rate.

Each question is about a column of the tables of patterns: answers are read as its cells are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import replace as replace_value
from typing import Any, Generic, TypeVar, assert_never

import msgspec
from msgspec.structs import replace

from prejoin.types import Kind
from prejoin.workload.document import tables
from prejoin.workload.document.columns import Column, Fields
from prejoin.workload.grammar.answers import COMBINE_FIX, read_page
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.lexer import Inexact, write_name
from prejoin.workload.grammar.writes import write_actions, write_checks
from prejoin.workload.interview.step import (
    HELP,
    NONE,
    InterviewStep,
    Question,
    StepKind,
    Taken,
    accept_letters,
    entities_of,
    yes,
)
from prejoin.workload.lookup import equalities
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    Combine,
    Input,
    Level,
    Pattern,
    Read,
    Result,
    Verb,
    Workload,
    Write,
)
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
CREATING = re.compile(
    r"\b(create|add|new|place|register|sign ?up|open|start|submit|post|send|book|join|lend|borrow)", re.IGNORECASE
)
"""Words of descriptions of writes that create something."""


def another(kind: str) -> InterviewStep:
    """The first question about a pattern of a kind."""

    def ask(workload: Workload) -> Question:
        patterns: tuple[Pattern, ...] = getattr(workload, kind)
        first_words, further_words = _WORDS[kind]
        return Question(
            kind,
            further_words if patterns else first_words,
            HELP[kind],
            "done",
            tuple(map(line, patterns)),
            several=True,
        )

    def take(workload: Workload, text: str) -> Taken:
        pattern = Read("", description=text) if kind == "reads" else Write("", description=text)
        workload = add(workload, kind, pattern)
        return workload, f"entities of {getattr(workload, kind)[-1].id}"

    return InterviewStep(
        kind, StepKind.LIST, ask, take, lambda workload: not getattr(workload, kind), required=kind != "deletes"
    )


# --- The questions about one pattern --------------------------------------------------------------------------------

P = TypeVar("P", Read, Write)


def _nothing(workload: Workload, pattern: Pattern) -> str:
    return ""


def _always(pattern: Pattern) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class PatternQuestion(Generic[P]):
    """A question about a pattern."""

    name: str
    """What it is called in the header of the document: `inputs of AP-001`."""
    column: Column
    """The column that the answer belongs to."""
    words: str | Callable[[Workload, P], str]
    likely: Callable[[Workload, P], str] = _nothing
    """The default if the pattern says nothing yet; empty for none."""
    choices: Callable[[Workload, P], Iterable[str]] = lambda workload, pattern: ()
    settle: Callable[[Workload, P], P] | None = None
    """The pattern with what follows from the answer. Raises `Inexact`."""
    applies: Callable[[P], bool] = _always
    default: Callable[[Workload, P], str] | None = None
    """The default, if it is not what the document says."""
    may_be_none: bool = False
    """Whether the answer `-` stands for no value."""
    required: bool = False

    def ask(self, workload: Workload, pattern: P) -> Question:
        text = self.default(workload, pattern) if self.default else self._text(workload, pattern)
        return Question(
            f"{self.name} of {pattern.id}",
            self.words if isinstance(self.words, str) else self.words(workload, pattern),
            HELP["entities of a pattern" if self.name == "entities" else self.name],
            text or self.likely(workload, pattern) or None,
            (line(pattern),),
            choices=tuple(self.choices(workload, pattern)),
        )

    def take(self, workload: Workload, pattern: P, text: str) -> P:
        if self.may_be_none and text.strip() == NONE:
            empty = type(pattern)(pattern.id)
            fields: Fields = {name: getattr(empty, name) for name in self.column.fields}
        else:
            fields = self.column.fields_of(text, msgspec.structs.asdict(pattern))
        pattern = replace(pattern, **fields)
        return self.settle(workload, pattern) if self.settle else pattern

    def is_missing(self, workload: Workload, pattern: P) -> bool:
        return self.required and not self._text(workload, pattern)

    def _text(self, workload: Workload, pattern: P) -> str:
        """What the document says; empty for nothing."""
        text = self.column.text_of(pattern, workload)
        return "" if text == NONE else text


def about(kind: str, pattern: Pattern) -> Iterator[InterviewStep]:
    """The questions about one pattern, in order."""
    questions: tuple[PatternQuestion[Any], ...] = QUESTIONS[kind]
    for question in questions:
        if question.applies(pattern):
            yield _step(question, kind, pattern.id)


def _step(question: PatternQuestion[Any], kind: str, id_: str) -> InterviewStep:
    def ask(workload: Workload) -> Question:
        return question.ask(workload, _pattern(workload, id_))

    def take(workload: Workload, text: str) -> Taken:
        return put_pattern(workload, kind, question.take(workload, _pattern(workload, id_), text)), None

    def is_missing(workload: Workload) -> bool:
        return question.is_missing(workload, _pattern(workload, id_))

    return InterviewStep(f"{question.name} of {id_}", StepKind.FIELD, ask, take, is_missing, id_, required=True)


def _pattern(workload: Workload, id_: str) -> Pattern:
    pattern = workload.pattern(id_)
    assert pattern is not None
    return pattern


def line(pattern: Pattern) -> str:
    return f"{pattern.id}  {pattern.description}"


def put_pattern(workload: Workload, kind: str, pattern: Pattern) -> Workload:
    patterns = tuple(pattern if other.id == pattern.id else other for other in getattr(workload, kind))
    return replace(workload, **{kind: patterns})


def drop_pattern(workload: Workload, kind: str, id_: str) -> Workload:
    return replace(workload, **{kind: tuple(pattern for pattern in getattr(workload, kind) if pattern.id != id_)})


def _entity_names(workload: Workload, pattern: Pattern) -> list[str]:
    return [entity.name for entity in workload.entities]


def _attributes(workload: Workload, pattern: Pattern) -> list[Attribute]:
    return [attribute for entity in entities_of(workload, pattern) for attribute in entity.attributes]


def _attribute_names(workload: Workload, pattern: Pattern) -> list[str]:
    return [attribute.name for attribute in _attributes(workload, pattern)]


# --- Both kinds -----------------------------------------------------------------------------------------------------


def _mentioned_entity(workload: Workload, pattern: Pattern) -> str:
    """The first entity that a description names."""
    spoken = pattern.description.lower().replace(" ", "")
    places = {entity.name: at for entity in workload.entities if (at := spoken.find(entity.name.lower())) >= 0}
    return write_name(min(places, key=lambda name: (places[name], -len(name)))) if places else ""


def _settle_entities(workload: Workload, pattern: P) -> P:
    known_names = _entity_names(workload, pattern)
    for name in pattern.entities:
        if name not in known_names:
            raise Inexact(f"there is no entity `{name}`", f"there is {', '.join(known_names)}")
    if isinstance(pattern, Read) and len(pattern.entities) < 2:
        return replace(pattern, combine=None, via="")
    return pattern


def _inputs_words(workload: Workload, pattern: Pattern) -> str:
    names = ", ".join(dict.fromkeys(map(write_name, _attribute_names(workload, pattern))))
    return f"What is known when it is asked? ({names})" if isinstance(pattern, Read) else f"What is it given? ({names})"


def _likely_inputs(workload: Workload, pattern: Pattern) -> str:
    """The likely inputs: for a read the id or the parent in its description, for a write all attributes."""
    entities = entities_of(workload, pattern)
    if not entities:
        return NONE
    if isinstance(pattern, Write):
        stub = create(entities[0]) if CREATING.search(pattern.description) else delete(entities[0])
        return write_inputs(stub.inputs) or NONE
    spoken = pattern.description.lower().replace(" ", "")
    for parent, attribute in parents(workload, entities[0]):
        if parent.name.lower() in spoken:
            return write_name(attribute.name)
    return write_inputs(tuple(Input(attribute.name) for attribute in entities[0].id)) or NONE


def _entities_words(workload: Workload, pattern: Pattern) -> str:
    return f"Which entity does it {'give' if isinstance(pattern, Read) else 'write'}?"


_HEAD: tuple[PatternQuestion[Any], ...] = (
    PatternQuestion("description", tables.DESCRIPTION, "What is it, in words?"),
    PatternQuestion(
        "entities",
        tables.ENTITY,
        _entities_words,
        _mentioned_entity,
        _entity_names,
        _settle_entities,
        required=True,
    ),
    PatternQuestion("inputs", tables.INPUTS, _inputs_words, _likely_inputs, _attribute_names, may_be_none=True),
)

# --- Reads ----------------------------------------------------------------------------------------------------------


def _likely_result(workload: Workload, read: Read) -> str:
    entities, given_names = entities_of(workload, read), set(equalities(read))
    if len(read.entities) != 1 or not entities or any(parameter.many for parameter in read.inputs):
        return Result.MANY.value
    entity = entities[0]
    has_unique = any(attribute.unique and attribute.name in given_names for attribute in entity.attributes)
    has_id = bool(entity.id) and all(attribute.name in given_names for attribute in entity.id)
    return Result.ONE.value if has_unique or has_id or entity.singleton else Result.MANY.value


def _settle_result(workload: Workload, read: Read) -> Read:
    match read.result:
        case Result.ONE:
            return replace(read, sort=(), paginated=False, page=None)
        case Result.COUNT:
            return replace(read, sort=(), paginated=None, page=None)
        case Result.MANY | None:
            return read
        case _:
            assert_never(read.result)


def _settle_combination(workload: Workload, read: Read) -> Read:
    if isinstance(read.combine, bool):
        raise Inexact("there are several entities, so it has to be said how", COMBINE_FIX)
    return read


def _order_words(workload: Workload, read: Read) -> str:
    attributes = _attributes(workload, read)
    if not attributes:
        return "In which order?"
    dates = [attribute for attribute in attributes if attribute.type.kind in {Kind.DATETIME, Kind.DATE}]
    example = f"{write_name(dates[0].name)} DESC" if dates else f"{write_name(attributes[-1].name)} ASC"
    return f"In which order? Such as `{example}`."


def _is_collection(read: Read) -> bool:
    return read.result in {None, Result.MANY}


def _default_page(workload: Workload, read: Read) -> str:
    if read.limit:
        return "No"
    return tables.PAGINATED.text_of(read) or "Yes"


_READ_QUESTIONS: tuple[PatternQuestion[Read], ...] = (
    *_HEAD,
    PatternQuestion(
        "result",
        tables.RESULT,
        "What comes back: Single, Collection or Count?",
        _likely_result,
        lambda workload, read: Result,
        _settle_result,
        required=True,
    ),
    PatternQuestion(
        "combination",
        tables.MULTI_ENTITY,
        "How do they belong together: Collection or Join?",
        lambda workload, read: Combine.COLLECTION.value,
        lambda workload, read: Combine,
        _settle_combination,
        applies=lambda read: len(read.entities) > 1,
    ),
    PatternQuestion(
        "order",
        tables.SORT,
        _order_words,
        lambda workload, read: NONE,
        _attribute_names,
        applies=_is_collection,
        may_be_none=True,
    ),
    PatternQuestion(
        "pages",
        replace_value(tables.PAGINATED, read=accept_letters(read_page)),
        "Does it come in pages?",
        choices=lambda workload, read: ("Yes", "No"),
        applies=_is_collection,
        default=_default_page,
    ),
)

# --- Writes ---------------------------------------------------------------------------------------------------------


def _likely_actions(workload: Workload, write: Write) -> str:
    inputs = write.input_names
    actions = []
    for entity in entities_of(workload, write):
        changed_attributes = [
            attribute for attribute in entity.attributes if attribute.name in inputs and not attribute.id
        ]
        if CREATING.search(write.description) or not changed_attributes:
            actions.append(Action(Verb.CREATE, entity.name))
        else:
            changes = tuple(Change(attribute.name) for attribute in changed_attributes)
            actions.append(Action(Verb.UPDATE, entity.name, changes=changes))
    return write_actions(tuple(actions), inputs)


def _likely_deletes(workload: Workload, write: Write) -> str:
    actions = tuple(Action(Verb.DELETE, entity.name) for entity in entities_of(workload, write))
    return write_actions(actions, frozenset())


def _settle_actions(workload: Workload, write: Write) -> Write:
    if not write.actions:
        fix = "write `create Order`, `update Order (status)` or `delete Order`"
        raise Inexact("that says nothing about what is written", fix)
    named_entities = [action.entity for action in write.actions if workload.entity(action.entity)]
    entities = tuple(dict.fromkeys((*write.entities, *named_entities)))
    return replace(write, entities=entities, atomic=write.atomic if _writes_several(write) else None)


def _writes_several(write: Write) -> bool:
    return len(write.actions) > 1 or any(action.many for action in write.actions)


def _likely_checks(workload: Workload, write: Write) -> str:
    created_names = {action.entity for action in write.actions if action.verb is Verb.CREATE}
    first = workload.entity(write.first_entity)
    if first is None or first.name not in created_names:
        return NONE
    inputs = write.input_names
    return write_checks(create(first).checks, inputs) or NONE


_ITEMS = PatternQuestion(
    "items",
    tables.ITEMS_WRITTEN,
    "Which items does it write, and what happens to each?",
    _likely_actions,
    lambda workload, write: (*Verb, *_entity_names(workload, write), *_attribute_names(workload, write)),
    _settle_actions,
    required=True,
)
_ITEMS_DELETED = replace_value(_ITEMS, column=tables.ITEMS_DELETED, likely=_likely_deletes)
_WRITE_TAIL = (
    PatternQuestion(
        "transaction",
        replace_value(tables.TRANSACTION, read=yes),
        "Must all of it happen, or none of it?",
        choices=lambda workload, write: ("yes", "no"),
        applies=_writes_several,
        default=lambda workload, write: "no" if write.atomic is False else "yes",
    ),
    PatternQuestion(
        "conditions",
        tables.CONDITIONS,
        "What must be true for it?",
        _likely_checks,
        lambda workload, write: (*_attribute_names(workload, write), *_entity_names(workload, write)),
        may_be_none=True,
    ),
)
QUESTIONS: dict[str, tuple[PatternQuestion[Any], ...]] = {
    "reads": _READ_QUESTIONS,
    "writes": (*_HEAD, _ITEMS, *_WRITE_TAIL),
    "deletes": (*_HEAD, _ITEMS_DELETED, *_WRITE_TAIL),
}

# --- How often ------------------------------------------------------------------------------------------------------


_FREQUENCY: PatternQuestion[Any] = PatternQuestion(
    "frequency",
    tables.FREQUENCY,
    "How often: Hot, Warm, Cold, or a figure?",
    lambda workload, pattern: Level.WARM.value,
    lambda workload, pattern: Level,
    may_be_none=True,
    required=True,
)


def rates(workload: Workload) -> Iterator[InterviewStep]:
    for kind in KINDS:
        for pattern in getattr(workload, kind):
            step = _step(_FREQUENCY, kind, pattern.id)
            yield replace_value(step, unit="", figure=True)
