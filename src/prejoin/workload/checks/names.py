"""Checks that every entity, attribute and pattern that is named exists, and only once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from prejoin.diagnostics import Code
from prejoin.keys import fields_of
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, name_list
from prejoin.workload.conditions import all_leaves, values_of
from prejoin.workload.grammar.lexer import WORD
from prejoin.workload.lookup import EITHER, bare_name, bindings, changes, suggest, target, undecided
from prejoin.workload.model import (
    NEW,
    Accept,
    Action,
    AtMost,
    Attribute,
    Comparison,
    ContentPlace,
    CounterShards,
    Entity,
    FixedKey,
    IndexKeys,
    Leaf,
    Minimise,
    Naming,
    OutOfScope,
    OwnTable,
    Pattern,
    Read,
    Relationship,
    RelationshipKind,
    Spread,
    Under,
    Uniqueness,
    Unproven,
    Value,
    Without,
    Write,
)
from prejoin.workload.program.input_types import attribute_of_input
from prejoin.workload.program.resolved_write import Step, resolve_write
from prejoin.workload.read_result import Path

_AFFIXES = (
    (re.compile(r"(.+?)_?prefix", re.IGNORECASE), "{} begins_with"),
    (re.compile(r"(?:min|from|start|after|since)_?(.+)", re.IGNORECASE), "{} >="),
    (re.compile(r"(.+?)_?(?:min|from|start|after|since)", re.IGNORECASE), "{} >="),
    (re.compile(r"(?:max|to|end|before|until)_?(.+)", re.IGNORECASE), "{} <="),
    (re.compile(r"(.+?)_?(?:max|to|end|before|until)", re.IGNORECASE), "{} <="),
    (re.compile(r"(?:new|updated)_?(.+)", re.IGNORECASE), "{}"),
    (re.compile(r"(.+?)_?(?:range|between)", re.IGNORECASE), "{} between"),
    (re.compile(r"(.+?)(?:s|_?list)", re.IGNORECASE), "{}[]"),
)
"""Prefixes and suffixes that people add to an attribute's name, and the grammar for them."""

_IMPOSSIBLE = re.compile(r'[{}:?."\\\x00-\x1f\ud800-\udfff]')
"""Characters that an attribute's name cannot have: `{name:form}` is a field of a key, `Order.name` a qualified name."""


def check_names(r: Reporter) -> None:
    entities = [(("entities", i), e.name) for i, e in enumerate(r.workload.entities)]
    _check_unique_names(r, codes.SAME_ENTITY, entities, "entity", is_punctuation_kept=False)
    _check_unique_names(r, codes.SAME_PATTERN, [(path, p.id) for path, p in r.patterns() if p.id], "pattern")
    for index, entity in enumerate(r.workload.entities):
        _entity(r, ("entities", index), entity)
    for path, pattern in r.patterns():
        entity_names = [name for name in pattern.entities if _known_entity(r, (*path, "entities"), name)]
        if isinstance(pattern, Read):
            _read(r, path, pattern, tuple(entity_names))
        else:
            _write(r, path, pattern)
        _hottest(r, path, pattern)
    _collections(r)
    _decisions(r)


def _check_unique_names(
    r: Reporter, code: Code, names: Iterable[tuple[Path, str]], noun: str, is_punctuation_kept: bool = True
) -> None:
    """No two equal names, in any case; and without punctuation where keys ignore it."""
    seen_names: dict[str, str] = {}
    for path, name in names:
        plain = name.lower() if is_punctuation_kept else re.sub(r"[\W_]+", "", name.lower()) or name.lower()
        if plain in seen_names:
            earlier_name = seen_names[plain]
            repetition = "again" if earlier_name == name else f"too much like `{earlier_name}`"
            r.say(code, path, f"the {noun} `{name}` is there {repetition}", "give it a name of its own")
        seen_names.setdefault(plain, name)


def _known_entity(r: Reporter, path: Path, name: str) -> bool:
    """Whether an entity of that name exists; otherwise it is reported."""
    if r.workload.entity(name):
        return True
    if r.full:
        return False
    names = [e.name for e in r.workload.entities]
    near = suggest(name, names)
    fix = (
        f"did you mean `{near}`?"
        if near
        else f"the entities are {name_list(names)}"
        if names
        else "describe it under Entities"
    )
    r.say(codes.UNKNOWN_ENTITY, path, f"there is no entity `{name}`", fix, name, near or "")
    return False


def _unknown_attribute(r: Reporter, path: Path, name: str, entities: Iterable[Entity]) -> None:
    candidates = list(entities)
    plain = bare_name(name)
    if r.full or any(f"`{plain}`" in e.verbatim.get("Attributes", "") for e in candidates):
        return  # Its line could not be read, which is reported.
    names = list(dict.fromkeys(a.name for e in candidates for a in e.attributes))
    prefix = name.removesuffix(plain)
    places = " or ".join(f"`{e.name}`" for e in candidates) or "any entity"
    for affix, form in _AFFIXES:
        match = affix.fullmatch(plain)
        if match and (near := next((n for n in names if n.lower() == match[1].lower()), None)):
            correction = form.format(near)
            fix = f"write `{correction}`"
            break
    else:
        correction = near = suggest(plain, names) or ""
        fix = (
            f"did you mean `{near}`?"
            if near
            else f"it has {name_list(names, 12)}"
            if names
            else "list it under Attributes"
        )
    replacement = f"{prefix}{correction}" if correction else ""
    r.say(codes.UNKNOWN_ATTRIBUTE, path, f"there is no attribute `{name}` in {places}", fix, name, replacement)


def _entity(r: Reporter, path: Path, entity: Entity) -> None:
    if not entity.name:
        r.say(codes.IMPOSSIBLE_NAME, path, "an entity has no name", "name it by one plain word, such as `OrderItem`")
    elif not WORD.match(entity.name):
        message = f"`{entity.name}` becomes a prefix in keys and a class in code"
        r.say(codes.UNLIKELY_NAME, path, message, "use one plain word, such as `OrderItem`")
    attributes = [((*path, "attributes", i), a) for i, a in enumerate(entity.attributes)]
    _check_unique_names(r, codes.SAME_ATTRIBUTE, [(p, a.name) for p, a in attributes], "attribute")
    for place, attribute in attributes:
        _attribute_name(r, place, entity, attribute)
        _names_in_attribute(r, place, entity, attribute)
    for index, relationship in enumerate(entity.relationships):
        _names_in_relationship(r, (*path, "relationships", index), relationship)
    for group in entity.unique:
        for name in group:
            if not entity.attribute(name):
                _unknown_attribute(r, (*path, "unique"), name, [entity])
    for name in entity.excludes:
        _known_entity(r, (*path, "excludes"), name)
    for cardinality in entity.cardinality:
        if cardinality.per and not entity.attribute(cardinality.per):
            _known_entity(r, (*path, "cardinality"), cardinality.per)


def _attribute_name(r: Reporter, path: Path, entity: Entity, attribute: Attribute) -> None:
    """Report an attribute's own name that cannot be used."""
    if not attribute.name:
        r.say(codes.IMPOSSIBLE_NAME, path, f"an attribute of `{entity.name}` has no name", "name it")
    if impossible_characters := sorted(set(_IMPOSSIBLE.findall(attribute.name))):
        listing = " and ".join(
            character if character.isprintable() else repr(character)[1:-1] for character in impossible_characters
        )
        message = f"`{attribute.name}` has a {listing}, which no pattern, key template or class could name"
        legal_name = _IMPOSSIBLE.sub("_", attribute.name)
        r.say(codes.IMPOSSIBLE_NAME, path, message, f"call it `{legal_name}`", attribute.name, legal_name)
    # DynamoDB allows 64 KB for a name, but 255 bytes for one in the key or the projection of an index.
    if len(attribute.name.encode(errors="surrogatepass")) > 255:
        message = f"`{attribute.name[:20]}…` has more than 255 bytes, and could not be in an index"
        r.say(codes.UNLIKELY_NAME, path, message, "use a shorter name")


def _names_in_attribute(r: Reporter, path: Path, entity: Entity, attribute: Attribute) -> None:
    """Report references to unknown entities, and copies of unknown attributes."""
    for name in (attribute.references, *attribute.references_or):
        _qualified_name(r, path, name, needs_field=False)
    for name in attribute.repeats:
        _qualified_name(r, path, name, needs_field=True)
    if attribute.references and r.workload.entity(attribute.referenced_entity):
        _reference(r, path, entity, attribute.name)


def _qualified_name(r: Reporter, path: Path, name: str, needs_field: bool) -> None:
    """Report `Order` or `Order.total` if there is no such entity or attribute."""
    owner, _, field = name.partition(".")
    if not name or not _known_entity(r, path, owner):
        return
    entity = r.workload.entity(owner)
    if entity and (field or needs_field) and not entity.attribute(field):
        _unknown_attribute(r, path, field or name, [entity])


def _names_in_relationship(r: Reporter, path: Path, relationship: Relationship) -> None:
    """Report unknown entities of a relationship, and attributes after `via` that neither of them has."""
    ends = [name for name in (relationship.left, relationship.right) if _known_entity(r, path, name)]
    entities = [entity for entity in map(r.workload.entity, ends) if entity]
    if not entities:
        return
    for via in relationship.via:
        # Of N:N, `via` may name the entity in between.
        if relationship.kind is RelationshipKind.MANY_TO_MANY and r.workload.entity(via):
            continue
        owner, dot, field = via.partition(".")
        holders = [entity for entity in entities if not dot or entity.name == owner]
        if not any(entity.attribute(field if dot else via) for entity in holders):
            _unknown_attribute(r, path, via, entities)


def _reference(r: Reporter, path: Path, entity: Entity, name: str) -> None:
    attribute = entity.attribute(name)
    if attribute is None:
        return
    reference_target = target(r.workload, attribute)
    other_entity = r.workload.entity(attribute.referenced_entity)
    if reference_target is None and other_entity and "." not in attribute.references and other_entity.id:
        ids = name_list([f"→ {other_entity.name}.{a.name}" for a in other_entity.id])
        message = f"`{other_entity.name}` is identified by several attributes; `{name}` does not say which it holds"
        r.say(codes.REFERENCE_ID, path, message, f"write one of {ids}")
    elif (
        reference_target
        and reference_target[1].type.kind != attribute.type.kind
        and reference_target[1].type.numeric != attribute.type.numeric
    ):
        message = f"`{name}` is {attribute.type}, the id of `{reference_target[0].name}` is {reference_target[1].type}"
        r.say(codes.REFERENCE_TYPE, path, message, f"make both {reference_target[1].type}")


def _read(r: Reporter, path: Path, read: Read, entities: tuple[str, ...]) -> None:
    asked_entities = [e for e in map(r.workload.entity, entities) if e]
    if not asked_entities:
        return
    clauses = [("inputs", i.attribute) for i in read.inputs] + [("sort", s.attribute) for s in read.sort]
    for part, name in (*clauses, *(("result", n) for n in read.needs)):
        for qualified_name in name.split(EITHER):
            if not bindings(r.workload, entities, qualified_name):
                _unknown_attribute(r, (*path, part), qualified_name, asked_entities)


def _hottest(r: Reporter, path: Path, pattern: Pattern) -> None:
    actions = () if isinstance(pattern, Read) else pattern.actions
    names = (*pattern.entities, *(action.entity for action in actions))
    entities = [e for e in map(r.workload.entity, dict.fromkeys(names)) if e]
    key_attribute = pattern.rate.hottest_of if pattern.rate else ""
    if key_attribute and entities and not any(e.attribute(key_attribute) for e in entities):
        _unknown_attribute(r, (*path, "rate"), key_attribute, entities)


def _write(r: Reporter, path: Path, write: Write) -> None:
    actions = [action for action in write.actions if _known_entity(r, (*path, "actions"), action.entity)]
    entity_names = dict.fromkeys((*write.entities, *(action.entity for action in actions)))
    entities = [entity for entity in map(r.workload.entity, entity_names) if entity]
    inputs = {input_.attribute for input_ in write.inputs}
    used_names: set[str] = set()
    for action in actions:
        used_names |= _names_in_action(r, path, write, action, inputs)
    for check in write.checks:
        if isinstance(check, Uniqueness):
            _unique_value(r, path, check, entities)
    for leaf in all_leaves(write):
        used_names |= {leaf.by} | ({leaf.attribute} if not leaf.entity else set())
        _check(r, path, write, leaf, entities, inputs)
        for value in values_of(leaf):
            used_names |= _value(r, (*path, "checks"), value, inputs)
    for name in sorted(inputs - used_names):
        _input_without_use(r, (*path, "inputs"), write, name, entities)


def _names_in_action(r: Reporter, path: Path, write: Write, action: Action, inputs: set[str]) -> set[str]:
    """Report unknown names in an action. Returns the inputs that it uses."""
    entity = r.workload.entity(action.entity)
    if entity is None:
        return set()
    used_names = set(action.by)
    if action.many and action.verb not in NEW:
        source = Step(resolve_write(r.workload, write), action, entity).list_source
        used_names |= {*source.links.values(), *source.unwritten.values()}
    for name in action.by:
        # Of a list, `by` names the attribute that says to which item it belongs.
        if name not in inputs and not (action.many and entity.attribute(name)):
            message = f"`{name}` is not among the inputs"
            r.say(codes.NOT_GIVEN, (*path, "actions"), message, f"add `{name}` to the inputs", name)
    for change in changes(write, action, entity):
        used_names |= _value(r, (*path, "actions"), change.value, inputs)
        if entity.attribute(change.attribute) is None:
            _unknown_attribute(r, (*path, "actions"), change.attribute, [entity])
        elif change.value is None and change.op.value in {"=", "append"} and action.updates:
            used_names.add(change.attribute)
            if change.attribute not in inputs:
                message = f"`{change.attribute}` takes an input that is not given"
                fix = f"add `{change.attribute}` to the inputs, or give a constant: `{change.attribute} = …`"
                r.say(codes.NOT_GIVEN, (*path, "actions"), message, fix)
    return used_names


def _input_without_use(r: Reporter, path: Path, write: Write, name: str, entities: list[Entity]) -> None:
    """Report an input that no action or condition takes, unless it is clear of which entity it is an attribute."""
    owner, _, plain = name.rpartition(".")
    if entities and not any(entity.name == plain or entity.attribute(plain) for entity in entities):
        _report_unused_input(r, path, name, entities)
    elif owner:
        message = f"nothing takes `{name}`: inputs of a write have no entity prefix"
        fix = f"write `{plain}`, and whose it is as a condition: `{name} = {plain}`"
        r.say(codes.UNUSED_INPUT, path, message, fix, name)
    elif owners := undecided(r.workload, write, name):
        alternatives = " or ".join(f"`{owner_name}`" for owner_name in owners)
        message = f"`{name}` may belong to {alternatives}, and nothing says to which"
        fix = (
            f"compare it: `{owners[0]}.{name} = {name}`; or name first under Entity the one it is of; "
            f"or, where both are always the same, mark one of them: `copy of {owners[0]}.{name}`"
        )
        r.say(codes.WHOSE, path, message, fix, name)


def _unique_value(r: Reporter, path: Path, check: Uniqueness, entities: list[Entity]) -> None:
    place = (*path, "checks")
    if not check.entity or _known_entity(r, place, check.entity):
        _known_attribute(r, place, check.entity, check.attribute, entities)


def _known_attribute(r: Reporter, place: Path, entity: str, name: str, entities: list[Entity]) -> None:
    """An attribute of the entity that a condition names, or of one of the write's."""
    named_entity = r.workload.entity(entity) if entity else None
    candidates = [named_entity] if named_entity else entities
    if name and candidates and not any(candidate.attribute(name) for candidate in candidates):
        _unknown_attribute(r, place, name, candidates)


def _check(r: Reporter, path: Path, write: Write, check: Leaf, entities: list[Entity], inputs: set[str]) -> None:
    place = (*path, "checks")
    if not check.entity and check.attribute in inputs and isinstance(check, Comparison):
        if attribute_of_input(r.workload, write, check.attribute) is None:
            message = (
                f"nothing says what `{check.attribute}` is: it is no attribute, and no change or condition uses it"
            )
            fix = "compare it with an attribute, or add it to one: `update Stock (pieces -= n)`"
            r.say(codes.UNKNOWN_ATTRIBUTE, place, message, fix, check.attribute)
        return  # a condition on an input
    if not check.entity or _known_entity(r, place, check.entity):
        _known_attribute(r, place, check.entity, check.attribute, entities)


def _value(r: Reporter, path: Path, value: Value | None, inputs: set[str]) -> set[str]:
    if value is None or value.param is None:
        return set()
    if value.param not in inputs:
        r.say(
            codes.NOT_GIVEN,
            path,
            f"`{value.param}` is not among the inputs",
            f"add `{value.param}` to the inputs",
            value.param,
        )
    return {value.param}


def _report_unused_input(r: Reporter, path: Path, name: str, entities: list[Entity]) -> None:
    if r.full:
        return
    names = [a.name for e in entities for a in e.attributes]
    affixless = next(
        (m[1] for affix, _ in _AFFIXES if (m := affix.fullmatch(name)) and m[1].lower() in map(str.lower, names)), None
    )
    near = next((n for n in names if affixless and n.lower() == affixless.lower()), None) or suggest(name, names)
    fix = f"did you mean `{near}`?" if near else "use it in a change or a condition, or leave it out"
    message = f"`{name}` is no attribute of {name_list([e.name for e in entities])}, and nothing uses it"
    r.say(codes.UNUSED_INPUT, path, message, fix, name, near or "")


def _collections(r: Reporter) -> None:
    for index, collection in enumerate(r.workload.collections):
        for name in collection.entities:
            _known_entity(r, ("collections", index, "entities"), name)
        for pattern in collection.patterns:
            _known_pattern(r, ("collections", index, "patterns"), pattern)


def _known_pattern(r: Reporter, path: Path, id_: str) -> None:
    if r.workload.pattern(id_) is None and not r.full:
        near = suggest(id_, [p.id for p in r.workload.patterns])
        r.say(
            codes.UNKNOWN_PATTERN,
            path,
            f"there is no pattern `{id_}`",
            f"did you mean `{near}`?" if near else "name one of the IDs",
            id_,
            near or "",
        )


def _decisions(r: Reporter) -> None:
    for index, decision in enumerate(r.workload.decisions):
        path: Path = ("decisions", index)
        match decision.pin:
            case Under():
                _known_entity(r, path, decision.pin.entity)
                _known_entity(r, path, decision.pin.parent)
            case Without() | Spread():
                _known_entity(r, path, decision.pin.entity)
            case CounterShards() | ContentPlace() as pin:
                known_entity = _known_entity(r, path, pin.entity) and r.workload.entity(pin.entity)
                if known_entity and not known_entity.attribute(pin.attribute):
                    _unknown_attribute(r, path, pin.attribute, [known_entity])
            case FixedKey():
                if _known_entity(r, path, decision.pin.entity) and (entity := r.workload.entity(decision.pin.entity)):
                    for name in fields_of(decision.pin.pk + decision.pin.sk):
                        if not entity.attribute(name):
                            _unknown_attribute(r, path, name, [entity])
            case OwnTable():
                for name in decision.pin.entities:
                    _known_entity(r, path, name)
            case Accept() | OutOfScope() | Unproven():
                _known_pattern(r, path, decision.pin.pattern)
            case AtMost() | Minimise() | IndexKeys() | Naming() | None:
                pass
            case _:
                assert_never(decision.pin)
