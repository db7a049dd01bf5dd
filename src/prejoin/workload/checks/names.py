"""Checks that every entity, attribute and pattern that is named exists, and only once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from prejoin.constructs.history import VERSION
from prejoin.diagnostics import Code
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import all_leaves, values_of
from prejoin.workload.grammar.lexer import WORD
from prejoin.workload.grammar.statements import mentions_of
from prejoin.workload.lookup import EITHER, bare_name, bindings, changes, did_you_mean, target, undecided
from prejoin.workload.model import (
    Action,
    Attribute,
    AttributeName,
    Change,
    Comparison,
    Entity,
    Leaf,
    Pattern,
    Read,
    Relationship,
    RelationshipKind,
    Uniqueness,
    Value,
    Write,
)
from prejoin.workload.phrases import name_list
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
        return False  # looking for a similar name is slow
    names = [entity.name for entity in r.workload.entities]
    otherwise = f"the entities are {name_list(names)}" if names else "describe it under Entities"
    near, fix = did_you_mean(name, names, otherwise)
    r.say(codes.UNKNOWN_ENTITY, path, f"there is no entity `{name}`", fix, name, near)
    return False


def _unknown_attribute(r: Reporter, path: Path, name: str, entities: Iterable[Entity], other_fix: str = "") -> None:
    candidates = list(entities)
    plain = bare_name(name)
    if r.full or any(f"`{plain}`" in entity.verbatim.get("Attributes", "") for entity in candidates):
        return  # Its line could not be read, which is reported.
    places = " or ".join(f"`{entity.name}`" for entity in candidates) or "any entity"
    correction, fix = _correct_attribute(plain, candidates)
    if other_fix and not correction:
        fix = f"{fix}; or {other_fix}"
    replacement = name.removesuffix(plain) + correction if correction else ""
    r.say(codes.UNKNOWN_ATTRIBUTE, path, f"there is no attribute `{name}` in {places}", fix, name, replacement)


def _correct_attribute(name: str, entities: Iterable[Entity]) -> tuple[str, str]:
    """What to write instead of a name that no entity has, empty if that is unknown, and the fix in words."""
    names = list(dict.fromkeys(attribute.name for entity in entities for attribute in entity.attributes))
    for stem, form in _without_affixes(name):
        if attribute_name := _in_any_case(stem, names):
            correction = form.format(attribute_name)
            return correction, f"write `{correction}`"
    return did_you_mean(name, names, f"it has {name_list(names, 12)}" if names else "list it under Attributes")


def _in_any_case(name: str, names: Iterable[str]) -> str:
    """The first of some names that is equal but for its case; empty if there is none."""
    return next((candidate for candidate in names if candidate.lower() == name.lower()), "")


def _without_affixes(name: str) -> Iterator[tuple[str, str]]:
    """A name without what people add to the name of an attribute, and the grammar for that: `date` of `fromDate`."""
    for affix, form in _AFFIXES:
        if match := affix.fullmatch(name):
            yield match[1], form


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
        listing = " and ".join(map(_printable, impossible_characters))
        message = f"`{attribute.name}` has a {listing}, which no pattern, key template or class could name"
        legal_name = _IMPOSSIBLE.sub("_", attribute.name)
        r.say(codes.IMPOSSIBLE_NAME, path, message, f"call it `{legal_name}`", attribute.name, legal_name)
    # DynamoDB allows 64 KB for a name, but 255 bytes for one in the key or the projection of an index.
    if len(attribute.name.encode(errors="surrogatepass")) > 255:
        message = f"`{attribute.name[:20]}…` has more than 255 bytes, and could not be in an index"
        r.say(codes.UNLIKELY_NAME, path, message, "use a shorter name")


def _printable(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


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
    owner, field = AttributeName.parse(name)
    if not name or not _known_entity(r, path, owner):
        return
    entity = r.workload.entity(owner)
    if entity and (field or needs_field) and not entity.attribute(field):
        _unknown_attribute(r, path, field or name, [entity])


def _names_in_relationship(r: Reporter, path: Path, relationship: Relationship) -> None:
    """Report unknown entities of a relationship, and attributes after `via` that neither of them has."""
    ends = [name for name in (relationship.left, relationship.right) if _known_entity(r, path, name)]
    entities = r.workload.entities_named(ends)
    if not entities:
        return
    for via in relationship.via:
        # Of N:N, `via` may name the entity in between.
        if relationship.kind is RelationshipKind.MANY_TO_MANY and r.workload.entity(via):
            continue
        if not any(_has_attribute(entity, via) for entity in entities):
            _unknown_attribute(r, path, via, entities)


def _has_attribute(entity: Entity, name: str) -> bool:
    """Whether an entity has an attribute, which may be written with the entity: `userId` or `Order.userId`."""
    owner, dot, field = name.partition(".")
    if not dot:
        return entity.attribute(name) is not None
    return entity.name == owner and entity.attribute(field) is not None


def _reference(r: Reporter, path: Path, entity: Entity, name: str) -> None:
    attribute = entity.attribute(name)
    if attribute is None:
        return
    reference_target = target(r.workload, attribute)
    if reference_target is None:
        _ambiguous_reference(r, path, attribute)
        return
    owner, id_attribute = reference_target
    is_same_kind = id_attribute.type.kind == attribute.type.kind
    if not is_same_kind and id_attribute.type.numeric != attribute.type.numeric:
        message = f"`{name}` is {attribute.type}, the id of `{owner.name}` is {id_attribute.type}"
        r.say(codes.REFERENCE_TYPE, path, message, f"make both {id_attribute.type}")


def _ambiguous_reference(r: Reporter, path: Path, attribute: Attribute) -> None:
    """Report a reference to an id of several parts that does not say which of them it holds."""
    other = r.workload.entity(attribute.referenced_entity)
    if other is None or not other.id or "." in attribute.references:
        return
    ids = name_list([f"→ {other.name}.{id_name}" for id_name in other.id_names])
    message = f"`{other.name}` is identified by several attributes; `{attribute.name}` does not say which it holds"
    r.say(codes.REFERENCE_ID, path, message, f"write one of {ids}")


def _read(r: Reporter, path: Path, read: Read, entities: tuple[str, ...]) -> None:
    asked_entities = r.workload.entities_named(entities)
    if not asked_entities:
        return
    for part, name in _names_in_read(read):
        for qualified_name in name.split(EITHER):
            if not bindings(r.workload, entities, qualified_name):
                _unknown_attribute(r, (*path, part), qualified_name, asked_entities)


def _names_in_read(read: Read) -> Iterator[tuple[str, str]]:
    """The attributes that a read names, each with its column."""
    for input_ in read.inputs:
        yield "inputs", input_.attribute
    for sort in read.sort:
        yield "sort", sort.attribute
    for name in read.needs:
        yield "result", name


def _hottest(r: Reporter, path: Path, pattern: Pattern) -> None:
    entities = r.workload.entities_named(pattern.entity_names)
    key_attribute = pattern.rate.hottest_of if pattern.rate else ""
    if key_attribute and entities and not any(entity.attribute(key_attribute) for entity in entities):
        _unknown_attribute(r, (*path, "rate"), key_attribute, entities)


def _write(r: Reporter, path: Path, write: Write) -> None:
    actions = [action for action in write.actions if _known_entity(r, (*path, "actions"), action.entity)]
    entity_names = dict.fromkeys((*write.entities, *(action.entity for action in actions)))
    entities = r.workload.entities_named(entity_names)
    inputs = write.input_names
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


def _names_in_action(r: Reporter, path: Path, write: Write, action: Action, inputs: frozenset[str]) -> set[str]:
    """Report unknown names in an action. Returns the inputs that it uses."""
    entity = r.workload.entity(action.entity)
    if entity is None:
        return set()
    used_names = set(action.by)
    if action.is_existing_list:
        source = Step(resolve_write(r.workload, write), action, entity).list_source
        used_names |= {*source.links.values(), *source.unwritten.values()}
    for name in action.by:
        # Of a list, `by` names the attribute that says to which item it belongs.
        if name not in inputs and not (action.many and entity.attribute(name)):
            message = f"`{name}` is not among the inputs"
            r.say(codes.NOT_GIVEN, (*path, "actions"), message, f"add `{name}` to the inputs", name)
    for change in changes(write, action, entity):
        used_names |= _names_in_change(r, (*path, "actions"), action, entity, change, inputs)
    return used_names


def _names_in_change(
    r: Reporter, path: Path, action: Action, entity: Entity, change: Change, inputs: frozenset[str]
) -> set[str]:
    """Report unknown names in a change. Returns the inputs that it uses."""
    used_names = _value(r, path, change.value, inputs)
    name = change.attribute
    if entity.attribute(name) is None:
        _unknown_attribute(r, path, name, [entity])
    elif change.takes_own_input and action.updates:
        used_names.add(name)
        if name not in inputs:
            message = f"`{name}` takes an input that is not given"
            fix = f"add `{name}` to the inputs, or give a constant: `{name} = …`"
            r.say(codes.NOT_GIVEN, path, message, fix)
    return used_names


def _input_without_use(r: Reporter, path: Path, write: Write, name: str, entities: Sequence[Entity]) -> None:
    """Report an input that no action or condition takes, unless it is clear of which entity it is an attribute."""
    owner, _, plain = name.rpartition(".")
    if entities and not any(entity.name == plain or entity.attribute(plain) for entity in entities):
        if _looks_like_entity(r, name):
            _report_unknown_object(r, path, write, name, entities[0])
        else:
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


def _looks_like_entity(r: Reporter, name: str) -> bool:
    """Whether an input is written as entities are, and attributes are not."""
    names = [attribute.name for entity in r.workload.entities for attribute in entity.attributes]
    return not r.full and name[:1].isupper() and not any(attribute_name[:1].isupper() for attribute_name in names)


def _report_unknown_object(r: Reporter, path: Path, write: Write, name: str, first: Entity) -> None:
    """Report an input that is an object of no entity: `Item[]` for `create OrderItem[]`."""
    created_names = [action.entity for action in write.actions if action.is_new]
    list_sign = "[]" if name in write.list_inputs else ""
    fix = f"write `{created_names[0] if created_names else first.name}{list_sign}`"
    r.say(codes.UNKNOWN_ENTITY, path, f"`{name}` is no entity", fix, name)


def _unique_value(r: Reporter, path: Path, check: Uniqueness, entities: Sequence[Entity]) -> None:
    place = (*path, "checks")
    if not check.entity or _known_entity(r, place, check.entity):
        _known_attribute(r, place, check.entity, check.attribute, entities)


def _known_attribute(
    r: Reporter, place: Path, entity: str, name: str, entities: Sequence[Entity], other_fix: str = ""
) -> None:
    """An attribute of the entity that a condition names, or of one of the write's."""
    named_entity = r.workload.entity(entity) if entity else None
    candidates = [named_entity] if named_entity else entities
    if name and candidates and not any(candidate.attribute(name) for candidate in candidates):
        _unknown_attribute(r, place, name, candidates, other_fix)


def _check(
    r: Reporter, path: Path, write: Write, check: Leaf, entities: Sequence[Entity], inputs: frozenset[str]
) -> None:
    place = (*path, "checks")
    if not check.entity and check.attribute in inputs and isinstance(check, Comparison):
        if attribute_of_input(r.workload, write, check.attribute) is None:
            message = (
                f"nothing says what `{check.attribute}` is: it is no attribute, and no change or condition uses it"
            )
            fix = "compare it with an attribute, or add it to one: `update Stock (pieces -= n)`"
            if check.attribute == VERSION and entities:
                fix = f"give {entities[0].name} a **History**, which counts it, or list it under Attributes"
            r.say(codes.UNKNOWN_ATTRIBUTE, place, message, fix, check.attribute)
        return  # a condition on an input
    if not check.entity or _known_entity(r, place, check.entity):
        other_fix = f"add `{check.attribute}` to the Input Parameters" if not check.entity else ""
        if check.attribute == VERSION:
            other_fix = f"give {check.entity or write.first_entity} a **History**, which counts it"
        _known_attribute(r, place, check.entity, check.attribute, entities, other_fix)


def _value(r: Reporter, path: Path, value: Value | None, inputs: frozenset[str]) -> set[str]:
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


def _report_unused_input(r: Reporter, path: Path, name: str, entities: Sequence[Entity]) -> None:
    if r.full:
        return
    names = [attribute.name for entity in entities for attribute in entity.attributes]
    otherwise = "use it in a change or a condition, or leave it out"
    affixless = _attribute_without_affix(name, names)
    near, fix = did_you_mean(affixless or name, names, otherwise)
    message = f"`{name}` is no attribute of {name_list([e.name for e in entities])}, and nothing uses it"
    r.say(codes.UNUSED_INPUT, path, message, fix, name, near)


def _attribute_without_affix(name: str, names: Sequence[str]) -> str:
    """The attribute that a name with an affix is made of: `status` of `newStatus`. Empty if there is none."""
    attribute_names = (_in_any_case(stem, names) for stem, _ in _without_affixes(name))
    return next(filter(None, attribute_names), "")


def _collections(r: Reporter) -> None:
    for index, collection in enumerate(r.workload.collections):
        for name in collection.entities:
            _known_entity(r, ("collections", index, "entities"), name)
        for pattern in collection.patterns:
            _known_pattern(r, ("collections", index, "patterns"), pattern)


def _known_pattern(r: Reporter, path: Path, id_: str) -> None:
    if r.workload.pattern(id_) is None and not r.full:
        ids = [pattern.id for pattern in r.workload.patterns]
        near, fix = did_you_mean(id_, ids, "name one of the IDs")
        r.say(codes.UNKNOWN_PATTERN, path, f"there is no pattern `{id_}`", fix, id_, near)


def _decisions(r: Reporter) -> None:
    for index, decision in enumerate(r.workload.decisions):
        if decision.pin is None:
            continue
        path: Path = ("decisions", index)
        mentions = mentions_of(decision.pin)
        known_names = [name for name in mentions.entities if _known_entity(r, path, name)]
        for entity in r.workload.entities_named(known_names):
            for name in mentions.attributes:
                if not entity.attribute(name):
                    _unknown_attribute(r, path, name, [entity])
        if mentions.pattern:
            _known_pattern(r, path, mentions.pattern)
