"""Documents to start from: an example of the whole grammar, or one built from a few lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

from msgspec.structs import replace

from prejoin.workload.grammar.answers import read_sort
from prejoin.workload.grammar.inputs import read_inputs
from prejoin.workload.grammar.lexer import CellTokens, Inexact, read_names
from prejoin.workload.grammar.writes import read_actions
from prejoin.workload.interview.step import read_attributes
from prejoin.workload.lookup import equalities
from prejoin.workload.model import Action, Attribute, Combine, Entity, Input, Op, Read, Result, Workload, Write

ENTITY_FIX = "write `User: userId (uuid, id), email (string, unique)`"
READ_FIX = (
    "write `Order by userId sort placedAt DESC`, `User by email`, `User, Order by userId`, `count Order by userId` or "
    "`all User`"
)
_SORT = re.compile(r"(?<!\s)\s++sort(?:ed)?(?:\s++by)?\s++", re.IGNORECASE)
_HEAD = re.compile(r"\s*+(?:(all|count)\s++)?(.+?)(?:(?<!\s)\s++by\s++(.*)|(?<!\s)\s*+)\Z", re.IGNORECASE | re.DOTALL)


def starter() -> str:
    """The document with an example of each part of the grammar."""
    return resources.files("prejoin.workload").joinpath("starter.md").read_text(encoding="utf-8")


def retitled(document: str, title: str) -> str:
    """A document with another title.

    >>> retitled("# Shop\\n\\nText", "Market")
    '# Market\\n\\nText'
    """
    return re.sub(r"\A# .*", lambda _: f"# {title}", document, count=1)


def read_entity(text: str) -> Entity:
    """Read an entity from one line.

    >>> [a.name for a in read_entity("User: userId (uuid, id), email (string, unique)").attributes]
    ['userId', 'email']
    """
    head, colon, attribute_text = text.partition(":")
    tokens = CellTokens(head)
    name = tokens.name("the entity's name")
    tokens.expect_end(ENTITY_FIX)
    if "." in name or not colon or not attribute_text.strip():
        raise Inexact(f"`{text.strip()}` does not say what there is to know about `{name}`", ENTITY_FIX)
    attributes = read_attributes(attribute_text)
    repeated_name = next((a.name for a in attributes if sum(b.name == a.name for b in attributes) > 1), None)
    if repeated_name:
        raise Inexact(f"`{repeated_name}` is there twice", "name each attribute once")
    return Entity(name, attributes=attributes)


def read_question(text: str, workload: Workload) -> Read:
    """Read a read pattern from one line: entities, `by` the inputs, `sort` by the order.

    >>> shop = Workload(entities=(read_entity("Order: orderId (uuid, id), userId (uuid), placedAt (datetime)"),))
    >>> read_question("Order by userId sort placedAt DESC", shop).result
    <Result.MANY: 'Collection'>
    """
    subject, *sorts = _SORT.split(text, maxsplit=1)
    match = _HEAD.match(subject)
    if not match:
        raise Inexact("that is not a question", READ_FIX)
    word, names, input_text = (match[1] or "").lower(), match[2], match[3]
    entities = read_names(names)
    if input_text is None and not word:
        raise Inexact(f"`{text.strip()}` does not say by what", READ_FIX)
    inputs = read_inputs(input_text) if input_text else ()
    read = Read("", "", entities, " ".join(text.split()), inputs, sort=read_sort(sorts[0]) if sorts else ())
    result = Result.COUNT if word == "count" else _result(read, workload)
    is_list = result is Result.MANY
    return replace(
        read,
        result=result,
        paginated=None if result is Result.COUNT else is_list,
        combine=Combine.COLLECTION if len(entities) > 1 else None,
    )


def _result(read: Read, workload: Workload) -> Result:
    entity = workload.entity(read.entities[0]) if len(read.entities) == 1 else None
    if entity is None or read.sort:
        return Result.MANY
    given_names = set(equalities(read)) - read.list_inputs
    has_whole_id = bool(entity.id) and given_names.issuperset(entity.id_names)
    has_unique = any(attribute.unique and attribute.name in given_names for attribute in entity.attributes)
    return Result.ONE if has_whole_id or has_unique else Result.MANY


def read_change(text: str, workload: Workload) -> Write:
    """Read a write pattern from one line, `create Order; update User (orderCount += 1)`. Its inputs follow from it."""
    actions = read_actions(text, frozenset())
    if not actions:
        raise Inexact("that says nothing about what is written", "write `create Order` or `update Order (status)`")
    inputs: dict[str, Input] = {}
    for action in actions:
        for attribute in _given_attributes(workload, action):
            is_optional = attribute.optional and not attribute.id
            inputs.setdefault(attribute.name, Input(attribute.name, Op.EQ, optional=is_optional))
    entities = tuple(dict.fromkeys(action.entity for action in actions))
    atomic = True if len(actions) > 1 else None
    return Write("", "", entities, " ".join(text.split()), tuple(inputs.values()), actions, atomic)


def _given_attributes(workload: Workload, action: Action) -> Iterator[Attribute]:
    """The attributes that the caller gives for an action: the id, what it sets to inputs, and the rest of new items."""
    given_names = {change.attribute for change in action.changes if change.takes_own_input}
    set_names = {change.attribute for change in action.changes} - given_names
    entity = workload.entity(action.entity)
    for attribute in entity.attributes if entity else ():
        is_of_object = action.is_new and attribute.name not in set_names and not attribute.ttl
        if attribute.id or attribute.name in given_names or is_of_object:
            yield attribute
