"""Runs a design: every pattern returns the expected items, and wrong results are detected."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.place import examples
from tests.shop import shop_design, shop_workload

from prejoin.cases.data import DataGenerator
from prejoin.cases.items import Values
from prejoin.design.files import read_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove_patterns
from prejoin.proof.prove_reads import prove_read
from prejoin.proof.sample_table import SampleTable
from prejoin.types import Kind, Type
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Attribute, Entity, Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
def workload() -> Workload:
    return shop_workload()


@pytest.fixture
def design() -> Design:
    return shop_design()


@settings(max_examples=examples(5, 1), deadline=None)
@given(st.integers(0, 10_000))
def test_every_pattern_of_the_shop_returns_the_expected_items(seed: int) -> None:
    shop = shop_workload()
    with Embedded() as engine:
        answers = list(prove_patterns(SampleTable.create(shop, shop_design(), engine, NOW, seed)))
    assert [a.pattern for a in answers] == [p.id for p in shop.patterns]
    assert [(a.pattern, a.wrong, a.problem) for a in answers if not a.right] == []
    assert all(a.units > 0 for a in answers)


@pytest.mark.slow
def test_most_patterns_are_one_request(workload: Workload, design: Design) -> None:
    with Embedded() as engine:
        answers = {a.pattern: a for a in prove_patterns(SampleTable.create(workload, design, engine, NOW))}
    assert {p: len(a.calls) for p, a in answers.items() if len(a.calls) != 1} == {"AP-009": 8}


def test_wrong_result_is_detected(workload: Workload, design: Design) -> None:
    with Embedded() as engine:
        sample = SampleTable.create(workload, design, engine, NOW)
        sample.generator.make_all(roots=1)  # more than all data of the table
        wrong = {r.id: prove_read(sample, r).wrong for r in workload.reads}
    assert "items instead of" in wrong["AP-008"]


def test_unserved_pattern_is_in_the_result(workload: Workload, design: Design) -> None:
    bare = map_patterns(replace(design, items=tuple(replace(i, facets=i.facets[:1]) for i in design.items)), workload)
    with Embedded() as engine:
        answers = list(prove_patterns(SampleTable.create(workload, bare, engine, NOW)))
    problems = {a.pattern: a.remedy for a in answers if a.problem}
    assert "status" in problems["AP-008"]
    assert len(answers) == len(workload.patterns)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_data_can_be_made_for_every_workload_and_its_references_hold(path: Path) -> None:
    workload = read_file(path).workload
    made = DataGenerator(workload, NOW).make_all()
    assert set(made) == {e.name for e in workload.entities}
    for entity in workload.entities:
        assert made[entity.name]
        ids = [tuple(str(item[a.name]) for a in entity.id) for item in made[entity.name]]
        assert len(set(ids)) == len(ids)
        for attribute in entity.attributes:
            owner = workload.entity(attribute.references.partition(".")[0])
            if owner and len(owner.id) == 1 and owner is not entity:
                held = {str(i[owner.id[0].name]) for i in made[owner.name]}
                assert {str(i[attribute.name]) for i in made[entity.name] if attribute.name in i} <= held
    assert DataGenerator(workload, NOW).make_all() == made


def _key(sample: SampleTable, item: Values) -> dict[str, Any]:
    return sample.package.named("Thing", {name: item[name] for name in ("id", "日 付", "1st-id")})


def test_every_type_and_any_name_goes_through_the_schema_and_back() -> None:
    kinds = [Type(k) for k in Kind if k is not Kind.ENUM] + [Type(Kind.ENUM, values=("A", "B"))]
    names = [
        "class",
        "first name",
        "größe",
        "x-1",
        "a",
        "A",
        "_",
        "1st",
        "self",
        "cls",
        "名",
        "filter",
        "item",
        "limit",
        "order",
    ]
    attributes = [Attribute(n, t) for n, t in zip(names, kinds * 2, strict=False)]
    entity = Entity("Thing", attributes=(Attribute("id", id=True), *attributes))
    workload = Workload(entities=(entity,))
    entity = replace(entity, attributes=(*entity.attributes, Attribute("日 付", id=True), Attribute("1st-id", id=True)))
    workload = Workload(entities=(entity,))
    keys = "table: things\nslots: [{name: table, pk: [{name: pk}], sk: [{name: sk}]}]\n"
    keys += (
        "items: [{entity: Thing, tag: Thing, facets: [{slot: table, pk: ['T#{id}'], sk: ['T#{日 付}#{1st-id}']}]}]\n"
    )
    design, problems = read_design(keys, workload)
    assert design is not None, problems
    assert len(set(load_package(workload, design).fields["Thing"].values())) == len(entity.attributes)
    with Embedded() as engine:
        sample = SampleTable.create(workload, design, engine, NOW)
        for item in sample.items["Thing"]:
            record = sample.client.get(sample.package.classes["Thing"], **_key(sample, item))
            assert sample.package.values(record) == ("Thing", item)


SOCIAL = """\
# Social

## Entities

### User

- **Attributes**:
  - `username` (string, natural)
  - `followers` (integer, mutable)

### Follow

- **Attributes**:
  - `followed` (string, natural, → User)
  - `follower` (string, natural, → User)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Follow, User | Followers with their profiles | followed | Collection | - | No | Hot | Eventual | Join |
| AP-002 | Follow, User | The same, said exactly | followed | Collection | - | No | Hot | Eventual | Join via follower |
| AP-003 | Follow | How many | followed | Count | - | No | Hot | Eventual | No |
| AP-004 | User | Some users | username[] | Collection | - | No | Hot | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Follow, User | Follow | followed, follower | create Follow; update User by followed (followers += 1) | Yes | - | Warm |
"""
SOCIAL_KEYS = """\
table: social
slots: [{name: table, pk: [{name: pk}], sk: [{name: sk}]}]
items:
  - {entity: User, tag: User, facets: [{slot: table, pk: ["USER#{username}"], sk: ["PROFILE"]}]}
  - {entity: Follow, tag: Follow, facets: [{slot: table, pk: ["USER#{followed}"], sk: ["FOLLOWER#{follower}"]}]}
"""


def test_a_join_fetches_what_its_items_name_and_a_list_of_ids_each_of_them() -> None:
    reading = read_text(SOCIAL, "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    design, problems = read_design(SOCIAL_KEYS, reading.workload)
    assert design is not None, problems
    with Embedded() as engine:
        sample = SampleTable.create(reading.workload, map_patterns(design, reading.workload), engine, NOW)
        answers = {a.pattern: a for a in prove_patterns(sample)}
    assert [(a.pattern, a.wrong, a.problem) for a in answers.values() if not a.right] == []
    followers = answers["AP-003"].items
    assert answers["AP-001"].items == answers["AP-002"].items == 2 * followers > 2
    assert [c.operation for c in answers["AP-001"].calls] == ["Query", "BatchGetItem"]
    assert [(c.operation, c.items) for c in answers["AP-004"].calls] == [("BatchGetItem", 3)]
