"""The end of a walk: the change is finished, and the table is compared with the oracle."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from prejoin import Embedded
from prejoin.migrate.evolve.items import Evolution
from prejoin.migrate.evolve.transition import CodeVersion, Transition, design_id
from prejoin.patterns.integrity.audit import audit
from prejoin.table.codec.values import Json
from prejoin.table.schema.pattern import STATE_TAG
from prejoin.workload.model import Op, Read, Result
from tests.migrate.evolve.walks.application import FAR, QUIET, TENANTS, Application, Moment
from tests.migrate.evolve.walks.oracle import Code, Existence, Object, Oracle, Side
from tests.migrate.evolve.walks.studio import TABLE_NAME
from tests.migrate.evolve.walks.walk import Walk

_ACTS = 16
_WITH_OWN_NAMES = ("Track counter", "File", "File part body")
"""Types of items whose keys or values have names that nobody can foretell. A change may only move them."""


def run_walk(pair: str, seed: int, folder: Path) -> Walk:
    """Runs a walk to its end, and checks it."""
    walk = Walk(pair, seed, folder)
    try:
        _run(walk)
    except Exception as error:
        error.add_note("\n".join(walk.log[-60:]))
        raise
    return walk


def _run(walk: Walk) -> None:
    first = Code(walk.course.first, "first", frozenset({"first"}), walk.course.first)
    write_quiet_tenant(walk.application, first)
    for _ in range(2):
        walk.application.write_each(first)
    quiet_at_first = quiet_items(walk.engine)
    for _ in range(_ACTS):
        walk.act()
    transition = finish(walk)
    check(walk, transition.new, quiet_at_first)


# --- The end of the change ------------------------------------------------------------------------------------------


def finish(walk: Walk) -> Transition:
    """Ends the change in the direction that it has. Stragglers write between the steps, until the last one."""
    walk.clock += 1000
    transition = walk.direction()
    steps = (Evolution.add_indexes, Evolution.backfill, Evolution.clean, Evolution.clean)
    for number, step in enumerate(steps):
        for _ in range(3):
            result = walk.run(transition, step)
            assert result is not None
            if not result.undecided:
                break
            correct_unfit(walk, transition)
        assert result is not None
        assert not result.undecided, result.undecided
        if number < 2 or (number == 2 and walk.random.random() < 0.5):
            for _ in range(walk.random.choice((0, 4, 8))):
                walk.write()
    record = walk.record()
    assert (record.change, record.design) == (None, design_id(transition.new))
    return transition


def correct_unfit(walk: Walk, transition: Transition) -> None:
    """Gives a value to objects that lack an attribute which the next design requires."""
    side: Side = "first" if transition.old is walk.course.first else "second"
    prepare = Code(transition.prepare, side, frozenset({side}), transition.old)
    for entity, attribute in transition.verified:
        described = transition.new.workload.entity(entity)
        now = described.attribute(attribute) if described else None
        assert now is not None
        # Any text is accepted, if it has no members.
        value = now.type.values[0] if now.type.values else "corrected"
        texts = {text for one in walk.oracle.of(entity) for text in one.values[attribute] if text is not None}
        accepted = frozenset(now.type.values or texts)
        for one in walk.oracle.of(entity):
            if one.existence is Existence.YES and not one.values[attribute] <= accepted:
                walk.application.set_attribute(prepare, one, attribute, value)


# --- The table ------------------------------------------------------------------------------------------------------


def check(walk: Walk, version: CodeVersion, quiet_at_first: list[Json]) -> None:
    side: Side = "first" if version is walk.course.first else "second"
    code = Code(version, side, frozenset({side}), version)
    client = walk.application.client(code)
    gone = {
        entity.name for entity in walk.course.second.workload.entities if version.workload.entity(entity.name) is None
    }
    findings = [finding for finding in audit(client) if finding.entity not in gone]
    assert findings == [], findings
    check_items(walk, version, gone)
    check_bystander(walk, code, quiet_at_first)
    for tenant in (*TENANTS, QUIET):
        for read in version.workload.reads:
            check_read(walk.application, code, read, tenant)


def check_items(walk: Walk, version: CodeVersion, gone: set[str]) -> None:
    """Each object has one item, and no item has anything left of a change."""
    schema = version.package.schema
    items = scan(walk.engine)
    tags = {item["entityType"]["S"] for item in items}
    entities = {
        entity.codec.cls: name for name, cls in version.package.classes.items() for entity in [schema.entity(cls)]
    }
    known = {
        tag for pattern in schema.entities for one in pattern.patterns for facet in one.facets for tag in [facet.entity]
    }
    expired_sides = {f"{name}2" for name in walk.oracle.moved} | walk.oracle.moved
    assert tags <= {*schema.by_tag, *known, STATE_TAG, *gone, *expired_sides, *pattern_tags(version)}, tags
    found: Counter[tuple[Any, ...]] = Counter()
    for item in items:
        tag = item["entityType"]["S"]
        if tag == STATE_TAG or is_expired(item):
            continue
        assert not [name for name in item if name.startswith("~")], item
        if tag in walk.oracle.moved or tag.removesuffix("2") in walk.oracle.moved:
            assert tag in schema.by_tag, item
        entity = schema.by_tag.get(tag)
        if entity is not None:
            lacking = [wire for wire in filled(walk, version, entities[entity.codec.cls]) if wire not in item]
            assert lacking == [], (lacking, item)
            name = entities[entity.codec.cls]
            found[(name, *(item[part]["S"] for part in key_names(name)))] += 1
    expected: Counter[tuple[Any, ...]] = Counter()
    accepted: set[tuple[Any, ...]] = set()
    for one in walk.oracle.objects:
        if version.workload.entity(one.entity) is None:
            continue
        key = (one.entity, *(one.key[part] for part in key_names(one.entity)))
        if one.existence is Existence.YES:
            expected[key] += 1
        if one.existence is Existence.MAYBE:
            accepted.add(key)
    assert expected - found == Counter(), ("lost", expected - found)
    assert set(found - expected) <= accepted, ("doubled", found - expected)
    assert max(found.values(), default=1) == 1, "doubled"


def filled(walk: Walk, version: CodeVersion, entity: str) -> list[str]:
    """The attributes that the backfill has written into all items: they have a default, and came or were optional."""
    other = walk.course.first if version is walk.course.second else walk.course.second
    was, now = other.workload.entity(entity), version.workload.entity(entity)
    if was is None or now is None or walk.never_left(version):
        return []
    names: list[str] = []
    for attribute in now.attributes:
        before = was.attribute(attribute.name)
        if attribute.default is not None and (before is None or before.optional):
            names.append(attribute.name)
    return names


def key_names(entity: str) -> list[str]:
    own = f"{entity[0].lower()}{entity[1:]}Id"
    return ["tenantId", "artistId", own] if entity == "Remark" else ["tenantId", own]


def pattern_tags(version: CodeVersion) -> set[str]:
    return {facet.entity for entity in version.package.schema.entities for facet in entity.facets} | {
        f"{item.entity}.{item.copy}" for item in version.design.items if item.copy
    }


def is_expired(item: Json) -> bool:
    return "expiresAt" in item and int(item["expiresAt"]["N"]) < 10**6


def scan(engine: Embedded) -> list[Json]:
    client_body = b'{"TableName": "%s"}' % TABLE_NAME.encode()
    import msgspec

    items: list[Json] = msgspec.json.decode(engine.send("Scan", client_body))["Items"]
    return items


# --- Reads ----------------------------------------------------------------------------------------------------------


def check_read(application: Application, code: Code, read: Read, tenant: str) -> None:
    """Calls a read with all inputs that find something, and compares its answers with the oracle."""
    oracle = application.oracle
    (entity,) = read.entities
    objects = [one for one in oracle.of(entity, tenant) if one.existence is not Existence.NO]
    names = [one.attribute for one in read.inputs if one.attribute != "tenantId"]
    assert all(one.op is Op.EQ for one in read.inputs)
    asked = {
        values
        for one in objects
        for values in product(*[_value(oracle, one, name) for name in names])
        if None not in values
    }
    for inputs in sorted(asked):
        arguments = dict(zip(names, inputs, strict=True))
        answer = application._call(code, read.id, tenant, arguments)
        records = [answer] if read.result is Result.ONE else list(getattr(answer, "items", answer))
        by_key = {_key(code, record): record for record in records if record is not None}
        assert len(by_key) == len([record for record in records if record is not None]), (read.id, records)
        expected = {}
        for one in objects:
            if all(value in _value(oracle, one, name) for name, value in arguments.items()):
                expected[tuple(one.key.items())] = one
        must = {key for key, one in expected.items() if one.existence is Existence.YES}
        must &= {key for key, one in expected.items() if all(len(_value(oracle, one, name)) == 1 for name in names)}
        assert must <= by_key.keys() <= expected.keys(), (read.id, arguments, tenant, by_key)
        for key, record in by_key.items():
            application.check(code, expected[key], record)


def _value(oracle: Oracle, one: Object, name: str) -> frozenset[Any]:
    known = oracle.name(one.entity, name)
    return frozenset({one.key[known]}) if known in one.key else one.values[known]


def _key(code: Code, record: Any) -> tuple[tuple[str, str], ...]:
    entity, values = code.version.package.values(record)
    return tuple((name, values[name]) for name in key_names(entity))


# --- Bystanders -----------------------------------------------------------------------------------------------------


def write_quiet_tenant(application: Application, code: Code) -> None:
    """The objects of a tenant that nobody writes afterwards: two of each kind."""
    for number in (1, 2):
        application.time = number
        artist = f"a{number}"
        given = {"id": artist, "name": f"name {number}", "email": f"{number}@quiet", "trackCount": 0}
        given |= {"nick": "n", "mood": "m"}
        application.create(code, "Artist", QUIET, given)
        track = {"id": f"t{number}", "artistId": artist, "artistName": f"name {number}", "status": "DONE", "plays": 3}
        one = application.create(code, "Track", QUIET, track | {"label": "l", "genre": "pop"})
        application._call(code, "AP-112", QUIET, {**one.key, "count": number})
        one.values["plays"] = frozenset({3 + number})
        note = application.create(code, "Note", QUIET, {"id": f"n{number}", "text": "one", "color": "red"})
        for text in ("two", "three", "four", "five"):
            application.change_note(code, note, text)
        application.create(code, "Session", QUIET, {"id": f"s{number}", "device": "d", "expiresAt": FAR})
        content = application.random.randbytes(20_000) if number == 1 else b"small"
        application.create(code, "File", QUIET, {"id": f"f{number}", "title": "t"}, content)


def check_bystander(walk: Walk, code: Code, quiet_at_first: list[Json]) -> None:
    """The items of the quiet tenant are, byte for byte, those that code of the design in force writes by itself."""
    engine = Embedded()
    oracle = Oracle(walk.course.first, walk.course.second, walk.oracle.moved, walk.oracle.renamed)
    alone = Application(engine, oracle, walk.random, lambda: Moment("", None))
    alone.client(code).create_table()
    write_quiet_tenant(alone, code)
    with_own_names = {*_WITH_OWN_NAMES, *map(_moved_text, _WITH_OWN_NAMES)}
    fresh = [item for item in quiet_items(engine) if item["entityType"]["S"] not in with_own_names]
    kept = [_moved_item(item, code.version) for item in quiet_at_first if item["entityType"]["S"] in _WITH_OWN_NAMES]
    now = quiet_items(walk.engine)
    expected = {_item_key(item): item for item in (*fresh, *kept)}
    unsure = {
        name
        for one in walk.oracle.objects
        for name, accepted in one.values.items()
        if one.tenant == QUIET and (len(accepted) > 1 or None in accepted)
    }
    expected = {key: _without(item, unsure) for key, item in expected.items()}
    found = {_item_key(item): _without(item, unsure) for item in now}
    different = [
        (found.get(key), expected.get(key)) for key in {*found, *expected} if found.get(key) != expected.get(key)
    ]
    assert different == [], different[0]


def _moved_item(item: Json, version: CodeVersion) -> Json:
    """An item of the first design as it is in a version in which its entity may have another key."""
    entity = item["entityType"]["S"].split(" ")[0]
    described = version.design.item(entity)
    assert described is not None
    if described.tag == entity:
        return item
    moved = item | {name: {"S": _moved_text(item[name]["S"])} for name in ("pk", "sk", "entityType")}
    if "owner" in item:
        owner = {name: {"S": _moved_text(value["S"])} for name, value in item["owner"]["M"].items()}
        moved |= {"owner": {"M": owner}}
    return moved


def _moved_text(text: str) -> str:
    """A part of a key, or a type, of an entity with its other key: `F` for `FILE`, `File2` for `File`."""
    for entity in ("Track", "File"):
        text = text.replace(entity.upper(), entity[0]).replace(entity, f"{entity}2")
    return text


def quiet_items(engine: Embedded) -> list[Json]:
    return [
        item for item in scan(engine) if f"#{QUIET}#" in f"#{item['pk']['S']}#" or item.get("tenantId") == {"S": QUIET}
    ]


def _item_key(item: Json) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


def _without(item: Json, names: set[str]) -> Json:
    """An item without attributes of which the oracle does not know whether `clean` has removed them."""
    kept = {name: value for name, value in item.items() if name not in names}
    if "object" in kept:
        kept["object"] = {"M": {name: value for name, value in kept["object"]["M"].items() if name not in names}}
    return kept
