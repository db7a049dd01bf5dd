"""Followed attributes: an attribute is kept equal to one of another entity, such as the name of a comment's author.

    - `author` (string, mutable, follows User.name via authorId within 10 seconds)

The write that changes the user does not touch the comments. Afterwards `refresh` of the client finds all comments of
the user by a key, and updates those that differ, in transactions that check that the user has not changed meanwhile.
The application calls it, or the function that reads the table's stream does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prejoin.constructs.construct import AttributeFlag, Problem, RefreshedConstruct, SchemaCall
from prejoin.design.model import Design
from prejoin.workload.codes import CATALOGUE
from prejoin.workload.conditions import facts
from prejoin.workload.grammar.lexer import write_name
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.lookup import changes, foreign_parts, target, unique_groups
from prejoin.workload.memo import remembered
from prejoin.workload.model import Action, Attribute, Comparison, Entity, Op, Verb, Workload, Write
from prejoin.workload.phrases import code_list

_CODE = CATALOGUE["PJ224"]


class FollowsFlag(AttributeFlag):
    name = "follows"
    title = "Attributes that follow others"

    def bind(self, workload: Workload) -> Iterator[RefreshedConstruct]:
        """The attributes of an entity that follow the same item, by the same reference, are refreshed together."""
        links: dict[tuple[object, ...], FollowedAttributes] = {}
        attributes: dict[tuple[object, ...], dict[str, str]] = {}
        for entity in workload.entities:
            for attribute in entity.attributes:
                source, by = source_of(workload, attribute), reference_of(workload, entity, attribute)
                if attribute.follows is None or source is None or by is None:
                    continue
                within = attribute.follows.within
                key = (entity.name, source[0].name, tuple(by.items()), within)
                attributes.setdefault(key, {})[attribute.name] = source[1].name
                links.setdefault(key, FollowedAttributes(entity, self, source[0], attributes[key], by, within))
        yield from links.values()

    def problems(
        self,
        workload: Workload,
        entity: Entity,
        attribute: Attribute,
        is_found: Callable[[Entity, Iterable[str]], bool],
    ) -> Iterator[Problem]:
        source = source_of(workload, attribute)
        if attribute.follows is None or source is None:
            return  # a name that is unknown is reported as such
        problem = _unfit(attribute, *source) or _in_unique_group(workload, entity, attribute)
        problem = problem or _missing_reference(workload, entity, attribute, source[0])
        problem = problem or _unread(workload, entity, attribute, is_found)
        if problem:
            yield problem


def source_of(workload: Workload, attribute: Attribute) -> tuple[Entity, Attribute] | None:
    """The attribute that another one follows; None if there is none."""
    if attribute.follows is None:
        return None
    owner, _, name = attribute.follows.source.partition(".")
    entity = workload.entity(owner)
    origin = entity.attribute(name) if entity else None
    return (entity, origin) if entity and origin else None


def reference_of(workload: Workload, entity: Entity, attribute: Attribute) -> Mapping[str, str] | None:
    """For each part of the source's id, the attribute that holds it; None if that is not clear."""
    source = source_of(workload, attribute)
    return _reference(workload, entity, source[0], attribute.follows.via) if source and attribute.follows else None


@remembered
def _holders(workload: Workload, entity: Entity) -> Mapping[str, list[Attribute]]:
    """The attributes of an entity that hold an id, by the entity that it is of."""
    holders: dict[str, list[Attribute]] = {}
    for attribute in entity.attributes:
        if reference_target := target(workload, attribute):
            holders.setdefault(reference_target[0].name, []).append(attribute)
    return holders


@remembered
def _reference(workload: Workload, entity: Entity, source: Entity, via: str) -> Mapping[str, str] | None:
    """For each part of a source's id, the attribute that holds it. `via` is one of them; empty if none is named."""
    options = _holders(workload, entity).get(source.name, [])
    if via:
        attribute = entity.attribute(via)
        reference_target = target(workload, attribute) if attribute else None
        options = [attribute] if attribute and reference_target and reference_target[0] is source else []
    parts = [reference_target[1].name for option in options if (reference_target := target(workload, option))]
    # Two attributes for one part are two roles, as buyer and seller: without `via` nothing says which is meant.
    if not options or len(set(parts)) < len(parts):
        return None
    other_holders = {part.name: own.name for part, own in foreign_parts(workload, entity, source, options[0])}
    holders = {**other_holders, **dict(zip(parts, (option.name for option in options), strict=True))}
    ids = source.id_names
    return {name: holders[name] for name in ids} if holders.keys() == set(ids) else None


# --- What is wrong with an attribute --------------------------------------------------------------------------------


def _unfit(a: Attribute, entity: Entity, source: Attribute) -> Problem | None:
    """What is wrong with an attribute and its source."""
    origin = f"{entity.name}.{source.name}"
    if len(a.repeats) > 1:
        message = f"`{a.name}` repeats {code_list(a.repeats)}, each in its own way"
        return Problem(_CODE, message, f"keep `follows {origin}` only")
    if a.id or a.unique:
        return Problem(_CODE, f"`{a.name}` follows `{origin}`, and is an id or unique", "take the other flag away")
    if source.id:
        message = f"`{origin}` is part of an id, which never changes"
        return Problem(_CODE, message, f"write `→ {entity.name}` instead of `follows`")
    if a.type != source.type:
        return Problem(_CODE, f"`{a.name}` is {a.type}, and `{origin}` is {source.type}", f"make both {source.type}")
    if source.optional and not a.optional:
        message = f"`{origin}` may be absent, and `{a.name}` may not"
        return Problem(_CODE, message, f"mark `{a.name}` as `optional`")
    if not a.mutable:
        message = f"`{a.name}` changes with `{origin}`, and is not marked mutable"
        return Problem(_CODE, message, "mark it `mutable`")
    if a.follows and a.follows.within == 0:
        return Problem(_CODE, f"`{a.name}` cannot follow `{origin}` at once", "give a time, `within 10 seconds`")
    return None


def _in_unique_group(workload: Workload, entity: Entity, a: Attribute) -> Problem | None:
    """The problem if all items of one source have the same values of attributes that are unique together.

    In a document with tenants, a unique attribute is unique together with the tenant.
    """
    shared_names = {a.name, *(reference_of(workload, entity, a) or {}).values()}
    for group in unique_groups(entity):
        if a.name in group and shared_names.issuperset(group):
            message = f"{code_list(group)} together are unique, and all items of one source repeat `{a.name}`"
            return Problem(_CODE, message, f"let `{a.name}` not be unique")
    return None


def _missing_reference(workload: Workload, entity: Entity, a: Attribute, source: Entity) -> Problem | None:
    """The problem if no reference leads to the source, or more than one does."""
    if a.follows is None or reference_of(workload, entity, a) is not None:
        return None
    options = [option.name for option in _holders(workload, entity).get(source.name, [])]
    if len(options) > 1:
        message = f"{code_list(options)} lead to an item of `{source.name}`, and nothing says which `{a.name}` is of"
        return Problem(_CODE, message, f"say which: `follows {a.follows.source} via {write_name(options[0])}`")
    id_ = source.id[0] if source.id else Attribute("id")
    message = f"nothing in `{entity.name}` leads to the `{source.name}` that `{a.name}` is of"
    fix = f"add a reference for each part of its id: `` `{id_.name}` ({id_.type}, → {source.name}) ``"
    return Problem(_CODE, message, fix)


def _unread(
    workload: Workload, entity: Entity, a: Attribute, is_found: Callable[[Entity, Iterable[str]], bool]
) -> Problem | None:
    """The problem if no read finds the items of a source."""
    by = list((reference_of(workload, entity, a) or {}).values())
    if a.follows is None or is_found(entity, by):
        return None
    message = f"no read finds each `{entity.name}` by {code_list(by)}, to update it when `{a.follows.source}` changes"
    fix = f"add a read of `{entity.name}` with the input {code_list(by)} and the result `Collection`"
    return Problem(_CODE, message, fix)


# --- The attributes that follow one source --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FollowedAttributes(RefreshedConstruct):
    """Attributes of an entity that follow attributes of the same item of another."""

    # The document

    def write_problems(self, write: Write) -> Iterator[Problem]:
        """The values that a write gives without a comparison: the source may have changed since the caller read it."""
        if self.within is not None:
            return  # the stream corrects them
        tests = [fact for fact in facts(write) if isinstance(fact, Comparison) and fact.op is Op.EQ]
        compared_names = {test.attribute for test in tests if (test.entity or write.first_entity) == self.source.name}
        for action in write.actions:
            if action.entity != self.entity.name:
                continue
            given_names = _given_by(write, action, self.entity)
            for own, origin in self.attributes.items():
                if own not in given_names or origin in compared_names or self._is_given_to_source(write, origin):
                    continue
                source = f"{self.source.name}.{origin}"
                message = f"{write.id} gives `{self.entity.name}.{own}`, and `{source}` may have changed meanwhile"
                fix = f"the condition `{source} = {write_name(own)}`, or write `follows {source} within 10 seconds`"
                input_fix = f"`{own}` to the Input Parameters, and " if _lacks_value(write, action, own) else ""
                yield Problem(_CODE, message, f"add {input_fix}{fix}", "checks")

    def _is_given_to_source(self, write: Write, origin: str) -> bool:
        """Whether the same write gives the value to the source, too."""
        actions = [action for action in write.actions if action.entity == self.source.name]
        return any(origin in _given_by(write, action, self.source) for action in actions)

    # Refreshes

    def source_changes(self, write: Write) -> Iterator[Action]:
        """The updates of a followed attribute, and puts: a put may replace a source."""
        followed_names = set(self.attributes.values())
        for action in write.actions:
            if action.entity != self.source.name:
                continue
            is_changed = action.updates and not followed_names.isdisjoint(_given_by(write, action, self.source))
            if action.verb is Verb.PUT or is_changed:
                yield action

    # Renderings

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        """Conditions of the writes compare the values, not the pattern: `checked=False`."""
        pairs = tuple(self.attributes.items())
        yield SchemaCall(
            "Follows", of=self.source.name, pairs=pairs, by=tuple(self.by.items()), options=(("checked", False),)
        )

    @property
    def client_function(self) -> str:
        return "refresh" if self.within is None else ""

    def explanation(self, design: Design) -> Iterator[str]:
        if self.within is None:
            yield "a call of `refresh` updates the items after a change"
        else:
            yield f"the table's stream updates the items within {write_span(self.within)} of a change"

    def usage_words(self, source: str, writes: str) -> str:
        if self.within is None:
            return f"It is as old as the last `refresh` of the {source}: call it after {writes}."
        return f"It may be {write_span(self.within)} old: the table's stream updates it, by `keep_fresh`."

    # The proof

    def refreshed_values(self, source: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if any(values.get(own) != source.get(part) for part, own in self.by.items()):
            return None
        current = {own: source.get(origin) for own, origin in self.attributes.items()}
        other_values = {name: value for name, value in values.items() if name not in current}
        return other_values | {own: value for own, value in current.items() if value is not None}


def _given_by(write: Write, action: Action, entity: Entity) -> frozenset[str]:
    """The attributes of an item to which an action gives a value."""
    if action.is_new:
        return frozenset(entity.types)
    return frozenset(change.attribute for change in changes(write, action, entity)) if action.updates else frozenset()


def _lacks_value(write: Write, action: Action, name: str) -> bool:
    """Whether each object of a list has a value of its own, and a condition on the source needs one as an input."""
    return action.many and name not in {input_.attribute for input_ in write.inputs}
