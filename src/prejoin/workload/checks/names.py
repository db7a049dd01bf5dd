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
    Accept,
    AtMost,
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
    RelationshipKind,
    Spread,
    Under,
    Uniqueness,
    Unproven,
    Value,
    Without,
    Write,
)
from prejoin.workload.read_result import Path
from prejoin.workload.targets import NEW, attribute_of_input, list_source

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
    _once(r, codes.SAME_ENTITY, entities, "entity", punctuated=False)
    _once(r, codes.SAME_PATTERN, [(path, p.id) for path, p in r.patterns() if p.id], "pattern")
    for index, entity in enumerate(r.workload.entities):
        _entity(r, ("entities", index), entity)
    for path, pattern in r.patterns():
        known = [name for name in pattern.entities if _known_entity(r, (*path, "entities"), name)]
        if isinstance(pattern, Read):
            _read(r, path, pattern, tuple(known))
        else:
            _write(r, path, pattern)
        _hottest(r, path, pattern)
    _collections(r)
    _decisions(r)


def _once(r: Reporter, code: Code, named: Iterable[tuple[Path, str]], what: str, punctuated: bool = True) -> None:
    """No two equal names, in any case; and without punctuation where keys ignore it."""
    seen: dict[str, str] = {}
    for path, name in named:
        plain = name.lower() if punctuated else re.sub(r"[\W_]+", "", name.lower()) or name.lower()
        if plain in seen:
            other = seen[plain]
            same = "again" if other == name else f"too much like `{other}`"
            r.say(code, path, f"the {what} `{name}` is there {same}", "give it a name of its own")
        seen.setdefault(plain, name)


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
    found = list(entities)
    plain = bare_name(name)
    if r.full or any(f"`{plain}`" in e.verbatim.get("Attributes", "") for e in found):
        return  # Its line could not be read, which is reported.
    names = list(dict.fromkeys(a.name for e in found for a in e.attributes))
    prefix = name.removesuffix(plain)
    where = " or ".join(f"`{e.name}`" for e in found) or "any entity"
    for affix, form in _AFFIXES:
        match = affix.fullmatch(plain)
        if match and (near := next((n for n in names if n.lower() == match[1].lower()), None)):
            meant = form.format(near)
            fix = f"write `{meant}`"
            break
    else:
        meant = near = suggest(plain, names) or ""
        fix = (
            f"did you mean `{near}`?"
            if near
            else f"it has {name_list(names, 12)}"
            if names
            else "list it under Attributes"
        )
    instead = f"{prefix}{meant}" if meant else ""
    r.say(codes.UNKNOWN_ATTRIBUTE, path, f"there is no attribute `{name}` in {where}", fix, name, instead)


def _entity(r: Reporter, path: Path, entity: Entity) -> None:
    if not entity.name:
        r.say(codes.IMPOSSIBLE_NAME, path, "an entity has no name", "name it by one plain word, such as `OrderItem`")
    elif not WORD.match(entity.name):
        message = f"`{entity.name}` becomes a prefix in keys and a class in code"
        r.say(codes.UNLIKELY_NAME, path, message, "use one plain word, such as `OrderItem`")
    attributes = [((*path, "attributes", i), a) for i, a in enumerate(entity.attributes)]
    _once(r, codes.SAME_ATTRIBUTE, [(p, a.name) for p, a in attributes], "attribute")
    for place, attribute in attributes:
        if not attribute.name:
            r.say(codes.IMPOSSIBLE_NAME, place, f"an attribute of `{entity.name}` has no name", "name it")
        if odd := sorted(set(_IMPOSSIBLE.findall(attribute.name))):
            shown = " and ".join(one if one.isprintable() else repr(one)[1:-1] for one in odd)
            message = f"`{attribute.name}` has a {shown}, which no pattern, key template or class could name"
            better = _IMPOSSIBLE.sub("_", attribute.name)
            r.say(codes.IMPOSSIBLE_NAME, place, message, f"call it `{better}`", attribute.name, better)
        if len(attribute.name.encode(errors="surrogatepass")) > 255:
            message = f"`{attribute.name[:20]}…` has more than 255 bytes, and could not be in an index"
            r.say(codes.UNLIKELY_NAME, place, message, "use a shorter name")
        repeated = ((codes.UNKNOWN_ATTRIBUTE, name) for name in attribute.repeats)
        held = ((codes.UNKNOWN_ENTITY, name) for name in (attribute.references, *attribute.references_or))
        for code, name in (*held, *repeated):
            owner, _, field = name.partition(".")
            if not name or not _known_entity(r, place, owner):
                continue
            other = r.workload.entity(owner)
            if other and (field or code is codes.UNKNOWN_ATTRIBUTE) and not other.attribute(field):
                _unknown_attribute(r, place, field or name, [other])
        if attribute.references and r.workload.entity(attribute.referenced_entity):
            _reference(r, place, entity, attribute.name)
    for index, relationship in enumerate(entity.relationships):
        place = (*path, "relationships", index)
        ends = [name for name in (relationship.left, relationship.right) if _known_entity(r, place, name)]
        known = [e for e in map(r.workload.entity, ends) if e]
        for via in relationship.via:
            between = relationship.kind is RelationshipKind.MANY_TO_MANY and r.workload.entity(via)
            owner, dot, field = via.partition(".")
            holders = [e for e in known if not dot or e.name == owner]
            if not between and known and not any(e.attribute(field if dot else via) for e in holders):
                _unknown_attribute(r, place, via, known)
    for group in entity.unique:
        for name in group:
            if not entity.attribute(name):
                _unknown_attribute(r, (*path, "unique"), name, [entity])
    for name in entity.excludes:
        _known_entity(r, (*path, "excludes"), name)
    for cardinality in entity.cardinality:
        if cardinality.per and not entity.attribute(cardinality.per):
            _known_entity(r, (*path, "cardinality"), cardinality.per)


def _reference(r: Reporter, path: Path, entity: Entity, name: str) -> None:
    attribute = entity.attribute(name)
    if attribute is None:
        return
    found = target(r.workload, attribute)
    other = r.workload.entity(attribute.referenced_entity)
    if found is None and other and "." not in attribute.references and other.id:
        ids = name_list([f"→ {other.name}.{a.name}" for a in other.id])
        message = f"`{other.name}` is identified by several attributes; `{name}` does not say which it holds"
        r.say(codes.REFERENCE_ID, path, message, f"write one of {ids}")
    elif found and found[1].type.kind != attribute.type.kind and found[1].type.numeric != attribute.type.numeric:
        message = f"`{name}` is {attribute.type}, the id of `{found[0].name}` is {found[1].type}"
        r.say(codes.REFERENCE_TYPE, path, message, f"make both {found[1].type}")


def _read(r: Reporter, path: Path, read: Read, entities: tuple[str, ...]) -> None:
    found = [e for e in map(r.workload.entity, entities) if e]
    if not found:
        return
    asked = [("inputs", i.attribute) for i in read.inputs] + [("sort", s.attribute) for s in read.sort]
    for part, name in (*asked, *(("result", n) for n in read.needs)):
        for one in name.split(EITHER):
            if not bindings(r.workload, entities, one):
                _unknown_attribute(r, (*path, part), one, found)


def _hottest(r: Reporter, path: Path, pattern: Pattern) -> None:
    actions = () if isinstance(pattern, Read) else pattern.actions
    names = (*pattern.entities, *(action.entity for action in actions))
    known = [e for e in map(r.workload.entity, dict.fromkeys(names)) if e]
    whose = pattern.rate.hottest_of if pattern.rate else ""
    if whose and known and not any(e.attribute(whose) for e in known):
        _unknown_attribute(r, (*path, "rate"), whose, known)


def _write(r: Reporter, path: Path, write: Write) -> None:
    known = [a for a in write.actions if _known_entity(r, (*path, "actions"), a.entity)]
    touched = [e for e in map(r.workload.entity, dict.fromkeys((*write.entities, *(a.entity for a in known)))) if e]
    inputs = {i.attribute for i in write.inputs}
    used: set[str] = set()
    for action in known:
        entity = r.workload.entity(action.entity)
        if entity is None:
            continue
        used |= set(action.by)
        if action.many and action.verb not in NEW:
            source = list_source(r.workload, write, action, entity)
            used |= {*source.links.values(), *source.unwritten.values()}
        for name in action.by:
            # Of a list, `by` names the attribute that says to which item it belongs.
            if name not in inputs and not (action.many and entity.attribute(name)):
                message = f"`{name}` is not among the inputs"
                r.say(codes.NOT_GIVEN, (*path, "actions"), message, f"add `{name}` to the inputs", name)
        for change in changes(write, action, entity):
            used |= _value(r, (*path, "actions"), change.value, inputs)
            if entity.attribute(change.attribute) is None:
                _unknown_attribute(r, (*path, "actions"), change.attribute, [entity])
            elif change.value is None and change.op.value in {"=", "append"} and action.updates:
                used.add(change.attribute)
                if change.attribute not in inputs:
                    message = f"`{change.attribute}` takes an input that is not given"
                    fix = f"add `{change.attribute}` to the inputs, or give a constant: `{change.attribute} = …`"
                    r.say(codes.NOT_GIVEN, (*path, "actions"), message, fix)
    for check in write.checks:
        if isinstance(check, Uniqueness):
            _unique_value(r, path, check, touched)
    for leaf in all_leaves(write):
        used |= {leaf.by} | ({leaf.attribute} if not leaf.entity else set())
        _check(r, path, write, leaf, touched, inputs)
        for value in values_of(leaf):
            used |= _value(r, (*path, "checks"), value, inputs)
    for name in sorted(inputs - used):
        owner, _, plain = name.rpartition(".")
        if touched and not any(e.name == plain or e.attribute(plain) for e in touched):
            _unused(r, (*path, "inputs"), name, touched)
        elif owner:
            message = f"nothing takes `{name}`: inputs of a write have no entity prefix"
            fix = f"write `{plain}`, and whose it is as a condition: `{name} = {plain}`"
            r.say(codes.UNUSED_INPUT, (*path, "inputs"), message, fix, name)
        elif several := undecided(r.workload, write, name):
            message = f"`{name}` may belong to {' or '.join(f'`{one}`' for one in several)}, and nothing says to which"
            fix = (
                f"compare it: `{several[0]}.{name} = {name}`; or name first under Entity the one it is of; "
                f"or, where both are always the same, mark one of them: `copy of {several[0]}.{name}`"
            )
            r.say(codes.WHOSE, (*path, "inputs"), message, fix, name)


def _unique_value(r: Reporter, path: Path, check: Uniqueness, touched: list[Entity]) -> None:
    place = (*path, "checks")
    if not check.entity or _known_entity(r, place, check.entity):
        _known_attribute(r, place, check.entity, check.attribute, touched)


def _known_attribute(r: Reporter, place: Path, entity: str, name: str, touched: list[Entity]) -> None:
    """An attribute of the entity that a condition names, or of one of the write's."""
    named = r.workload.entity(entity) if entity else None
    candidates = [named] if named else touched
    if name and candidates and not any(one.attribute(name) for one in candidates):
        _unknown_attribute(r, place, name, candidates)


def _check(r: Reporter, path: Path, write: Write, check: Leaf, touched: list[Entity], inputs: set[str]) -> None:
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
        _known_attribute(r, place, check.entity, check.attribute, touched)


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


def _unused(r: Reporter, path: Path, name: str, touched: list[Entity]) -> None:
    if r.full:
        return
    names = [a.name for e in touched for a in e.attributes]
    meant = next(
        (m[1] for affix, _ in _AFFIXES if (m := affix.fullmatch(name)) and m[1].lower() in map(str.lower, names)), None
    )
    near = next((n for n in names if meant and n.lower() == meant.lower()), None) or suggest(name, names)
    fix = f"did you mean `{near}`?" if near else "use it in a change or a condition, or leave it out"
    message = f"`{name}` is no attribute of {name_list([e.name for e in touched])}, and nothing uses it"
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
                known = _known_entity(r, path, pin.entity) and r.workload.entity(pin.entity)
                if known and not known.attribute(pin.attribute):
                    _unknown_attribute(r, path, pin.attribute, [known])
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
