"""Every decision, in every form and about every entity and pattern, holds in the design; or it is refused by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import get_args

import pytest
from msgspec.structs import replace

from grammar_guide import DECISIONS
from prejoin.design.checks import check_design
from prejoin.design.cost.bill import bill
from prejoin.design.layout.index_keys import is_natural_index, natural_form
from prejoin.design.model import Design
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.design.whatif.conflicts import conflicts
from prejoin.diagnostics import has_errors
from prejoin.workload.checks import check
from prejoin.workload.files import read_text
from prejoin.workload.grammar import statements
from prejoin.workload.grammar.statements import read_pin, write_pin
from prejoin.workload.model import (
    Accept,
    AtMost,
    ContentPlace,
    CounterShards,
    Decision,
    FixedKey,
    IndexKeyForm,
    IndexKeys,
    Minimise,
    NamedPart,
    Naming,
    OutOfScope,
    OwnTable,
    Pin,
    Read,
    Spread,
    Under,
    Unproven,
    Without,
    Workload,
)

pytestmark = pytest.mark.slow

DOCUMENT = """\
# Plant

## Entities

### Site

- **Attributes**:
  - `siteId` (string, generated)
  - `city` (string, mutable)
  - `alarms` (integer, mutable)
- **Cardinality**: 1K total

### Device

- **Attributes**:
  - `deviceId` (string, generated)
  - `siteId` (string, immutable, → Site)
  - `state` (OK | BROKEN, mutable)
  - `since` (datetime, immutable)
- **Cardinality**: ~50 per Site

### Reading

- **Attributes**:
  - `deviceId` (string, natural, → Device)
  - `at` (datetime, natural)
  - `value` (number, immutable)
- **Cardinality**: unbounded per Device

### Setting

- **Attributes**:
  - `limit` (number, mutable)
- **Cardinality**: singleton

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Site, Device | a site | siteId | Collection | - | Yes (50) | Warm | Eventual | Collection |
| AP-002 | Device | one | deviceId | Single | - | No | Warm | Eventual | No |
| AP-003 | Device | broken ones | state, since between | Collection | since DESC | Yes (20) | Cold | Eventual | No |
| AP-004 | Device | new ones | since last 7 days | Collection | since DESC | Yes (20) | Cold | Eventual | No |
| AP-005 | Reading | of a device | deviceId, at between | Collection | at ASC | Yes (100) | Warm | Eventual | No |
| AP-006 | Setting | them | - | Single | - | No | Cold | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Site | open | Site | create Site | No | - | Cold |
| AP-021 | Device | install | Device | create Device | No | - | Cold |
| AP-022 | Device | report | deviceId, state | update Device (state) | No | - | Warm |
| AP-023 | Reading | measure | Reading | create Reading | No | - | 300/s |
| AP-024 | Setting | change | limit | update Setting (limit) | No | - | Cold |
| AP-025 | Site | alarm | siteId | update Site (alarms += 1) | No | - | Warm |
"""
WORKLOAD = read_text(DOCUMENT, "md").workload
STRUCTURES = ("GSIs", "copies", "structures", "shards", "buckets")
KEYS = {
    "Site": [("S#{siteId}", "S", ""), ("CITY#{city}", "S#{siteId}", "byCity")],
    "Device": [("SITE#{siteId}", "DEVICE#{deviceId}", ""), ("X#{state}", "{since}#{deviceId}", "gsi1")],
    "Reading": [("D#{deviceId}", "R#{at}", ""), ("DAY#{at:day}", "{at}#{deviceId}", "byDay")],
    "Setting": [("SETTING", "SETTING", "")],
}
FIXED = "Device has key `D#{deviceId}` and `D`"


def forms() -> Iterator[Pin]:
    """All decisions that can be made about the document."""
    names = [entity.name for entity in WORKLOAD.entities]
    for name in names:
        yield from (Under(name, other) for other in names)
        yield from (Without(what, name) for what in STRUCTURES)
        units = ("hour", "day", "month", "year") if name == "Device" else ("day",)
        yield from (Spread(name, bucket) for bucket in units)
        yield from (Spread(name, shards=shards) for shards in ((1, 8) if name == "Device" else (8,)))
        yield from (FixedKey(name, *key) for key in KEYS[name])
    yield from (AtMost(what, count) for what in STRUCTURES[:4] for count in (0, 2))
    yield AtMost("buckets", 0)
    yield from (CounterShards("Site", "alarms", 8), CounterShards("Setting", "limit", 2))
    yield from (Minimise("money"), Minimise("structures"))
    yield from map(IndexKeys, IndexKeyForm)
    for pattern in ("AP-001", "AP-003", "AP-022"):
        yield from (Accept(pattern, how) for how in ("filter", "second request", "scan", "several pages"))
        yield OutOfScope(pattern)
        yield Unproven(pattern)
    for what, name in (
        ("table", "works"),
        ("partition key", "PK"),
        ("sort key", "SK"),
        ("type attribute", "kind"),
        ("separator", "|"),
        ("separator", "ab"),
        ("table", "no"),
    ):
        yield Naming(NamedPart(what), name)


@cache
def best() -> Design:
    return solve(WORKLOAD).design


def deciding(*pins: Pin) -> Workload:
    return replace(WORKLOAD, decisions=tuple(map(Decision, pins)))


def templates(design: Design, entity: str = "") -> list[str]:
    items = [item for item in design.items if entity in ("", item.entity)]
    return [text for item in items for facet in item.facets for text in facet.pk]


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)", text))


def shards(texts: list[str]) -> list[int]:
    return [int(number) for text in texts for number in re.findall(r":shard\((\d+)\)", text)]


def cut_by_time(texts: list[str]) -> list[str]:
    return [unit for text in texts for unit in re.findall(r":(hour|day|month|year)\}", text)]


def counted(design: Design, entity: str = "") -> dict[str, int]:
    items = [item for item in design.items if entity in ("", item.entity)]
    copies = sum(bool(item.copy) for item in items)
    indexes = len({f.slot for i in items for f in i.facets} - {"table"}) if entity else len(design.indexes)
    texts = templates(design, entity)
    return {
        "GSIs": indexes,
        "copies": copies,
        "structures": indexes + copies,
        "shards": max(shards(texts), default=0),
        "buckets": len(cut_by_time(texts)),
    }


def holds(pin: Pin, design: Design, others: tuple[Pin, ...] = (), kept: Design | None = None) -> bool:
    """Whether a design is as was decided, seen from the texts of its keys."""
    match pin:
        case Under():
            own, parent = (design.item(name) for name in (pin.entity, pin.parent))
            assert own
            assert parent
            ids = {"Site": {"siteId"}, "Device": {"deviceId"}, "Reading": {"deviceId", "at"}, "Setting": set[str]()}
            pk = own.facets[0].pk[0]
            return pin.entity != pin.parent and (fields(pk) == ids[pin.parent] or pk == parent.facets[0].pk[0])
        case AtMost():
            return counted(design)[pin.what] <= (max(pin.count, 1) if pin.what == "shards" else pin.count)
        case Without():
            return counted(design, pin.entity)[pin.what] == 0
        case Spread():
            texts = templates(design, pin.entity)
            if pin.shards == 1:
                return not shards(texts)
            return pin.shards in shards(texts) if pin.shards else pin.bucket in cut_by_time(texts)
        case CounterShards():
            counter = design.counter(pin.entity)
            return counter is not None and (pin.attribute in counter.attributes) and counter.shards == pin.shards
        case FixedKey():
            item = design.item(pin.entity)
            facet = item.facet(pin.index or "table") if item else None
            return facet is not None and (facet.pk, facet.sk) == ((pin.pk,), (pin.sk,))
        case Minimise():
            other = solve(deciding(*others, Minimise("structures" if pin.what == "money" else "money")), kept).design
            prices = [bill(WORKLOAD, one).total for one in (design, other)]
            numbers = [counted(one)["structures"] for one in (design, other)]
            return prices[0] <= prices[1] if pin.what == "money" else numbers[0] <= numbers[1]
        case IndexKeys():
            decided = (
                {slot.name for slot in kept.slots}
                if kept
                else {one.index for one in others if isinstance(one, FixedKey)}
            )
            new = [slot for slot in design.indexes if slot.name not in decided]
            natural = [is_natural_index(design, slot) for slot in new]
            if pin.form is IndexKeyForm.COMPOSITE:
                return not any(natural)
            possible = [natural_form(design, deciding(*others, pin), slot) is not None for slot in new]
            return all(is_so or not could for is_so, could in zip(natural, possible, strict=True))
        case Accept():
            operation = design.operation(pin.pattern)
            return operation is not None and isinstance(WORKLOAD.pattern(pin.pattern), Read)
        case OutOfScope():
            return design.operation(pin.pattern) is None
        case Unproven():
            return solve(deciding(*others), kept).design == design
        case Naming():
            base = design.slots[0]
            named = {
                "table": design.table,
                "partition key": base.pk[0].name,
                "sort key": base.sk[0].name,
                "type attribute": design.type_attribute,
                "separator": design.separator,
            }
            return named[pin.what] == pin.name


def refusals(pin: Pin, workload: Workload, kept: Design | None) -> tuple[Design | None, list[str]]:
    """The design, and what is said against a decision. It is None where the decision keeps it from being made."""
    said = [d.message for d in check(workload) if d.code in {"PJ212", "PJ222"}]
    if has_errors(check(workload)):
        return None, said
    try:
        design = solve(workload, kept).design
    except InfeasibleError:
        found = [str(one) for statements in conflicts(workload, kept) for one in statements]
        return None, [text for text in found if write_pin(pin) in text]
    told = check_design(design, workload)
    return design, [d.message for d in told if d.code in {"PJ588", "PJ599"} and f"`{write_pin(pin)}`" in d.message]


FORMS = list(forms())
PLACES = ["anew", "kept", "beside a key"]


def test_every_form_of_the_grammar_is_tried() -> None:
    # An own table and the place of a content are no decisions about the keys: test_tables.py, test_stores.py.
    assert {type(pin) for pin in FORMS} == set(get_args(Pin)) - {OwnTable, ContentPlace}
    tried = {
        (type(pin), getattr(pin, "what", ""), getattr(pin, "how", ""), getattr(pin, "bucket", "")) for pin in FORMS
    }
    for row in DECISIONS.rows:
        pin = read_pin(row.example)
        assert pin is not None
        if isinstance(pin, OwnTable | ContentPlace):
            continue
        assert (type(pin), getattr(pin, "what", ""), getattr(pin, "how", ""), getattr(pin, "bucket", "")) in tried
    assert set(statements._PLURAL_OF.values()) == set(STRUCTURES)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("pin", FORMS, ids=write_pin)
def test_a_decision_holds_or_is_refused_by_name(pin: Pin, place: str) -> None:
    fixed = read_pin(FIXED)
    assert fixed is not None
    kept = best() if place == "kept" else None
    others = (fixed,) if place == "beside a key" else ()
    design, against = refusals(pin, deciding(*others, pin), kept)
    if design is None:
        assert against, "nothing was designed, and nothing says why"
    elif holds(pin, design, others, kept):
        assert against == []
    else:
        assert against, "it does not hold, and nothing says so"
