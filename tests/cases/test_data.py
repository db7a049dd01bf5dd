"""The data of a proof: in proportion, consistent, the same for a seed, and difficult on request."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.proof.league import NOW, league_workload

from prejoin.cases.data import DataGenerator, usual_child_count
from prejoin.cases.items import identities
from prejoin.types import Kind
from prejoin.workload.files import read_file
from prejoin.workload.model import Attribute, Cardinality, Entity, Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_difficult_data_is_consistent(path: Path) -> None:
    """Ids differ, references exist, and every value has its type."""
    workload = read_file(path).workload
    made = DataGenerator(workload, NOW, edge_values=True).make_all()
    assert DataGenerator(workload, NOW, edge_values=True).make_all() == made
    for entity in workload.entities:
        assert made[entity.name]
        taken = [one for item in made[entity.name] for one in identities(entity, item)]
        assert len(set(taken)) == len(taken)
        for attribute in entity.attributes:
            values = [item[attribute.name] for item in made[entity.name] if attribute.name in item]
            assert attribute.optional or len(values) == len(made[entity.name])
            if attribute.type.kind is Kind.ENUM:
                assert set(values) <= set(attribute.type.values)
            owner = workload.entity(attribute.references.partition(".")[0])
            if owner and len(owner.id) == 1 and owner is not entity:
                assert set(values) <= {item[owner.id[0].name] for item in made[owner.name]}


def test_first_item_has_every_optional_attribute() -> None:
    """Otherwise a read of several optional attributes might find nothing, and prove nothing."""
    attributes = tuple(Attribute(f"a{at}", optional=at > 0, id=at == 0) for at in range(12))
    workload = Workload(entities=(Entity("Thing", attributes=attributes),))
    for seed in range(20):
        first, *others = DataGenerator(workload, NOW, seed=seed).make_all()["Thing"]
        assert first.keys() == {one.name for one in attributes}
        assert any(len(other) < len(attributes) for other in others)


def test_number_of_items_is_that_of_the_document_up_to_a_limit() -> None:
    counts = [usual_child_count(Cardinality(n)) for n in (1, 2, 3, 10, 30, 200, 10**6)]
    assert counts == sorted(counts)
    assert counts[:3] == [1, 2, 3]
    made = DataGenerator(league_workload(), NOW).make_all()
    assert len(made["Event"]) > len(made["Member"]) > len(made["Team"])


def test_parents_have_unequally_many_and_some_none() -> None:
    made = DataGenerator(league_workload(), NOW).make_all()
    per_team = [sum(m["teamId"] == team["teamId"] for m in made["Member"]) for team in made["Team"]]
    assert 0 in per_team
    assert len(set(per_team)) > 2


def test_two_roles_of_one_entity_are_two_items() -> None:
    workload = read_file(ROOT / "tests/corpus/debrie_instagram/access-patterns.md").workload
    roles = [
        (e.name, [a.name for a in e.attributes if a.references == one])
        for e in workload.entities
        for one in {a.references for a in e.attributes if a.references}
    ]
    twice = [(name, names) for name, names in roles if len(names) > 1]
    assert twice
    made = DataGenerator(workload, NOW).make_all()
    for name, names in twice:
        assert all(len({item[n] for n in names}) == len(names) for item in made[name])


def test_difficult_values_occur() -> None:
    made = DataGenerator(league_workload(), NOW, edge_values=True).make_all()
    texts = {m[name] for m in made["Member"] for name in ("login", "email", "note") if name in m}
    texts |= {t["teamId"] for t in made["Team"]}
    assert any("#" in text for text in texts)
    assert any(not text.isascii() for text in texts)
    assert any(ord(char) > 0xFFFF for text in texts for char in text)
    assert any(one != other and other.startswith(one) for one in texts if one for other in texts)
    assert any(one != other and one.casefold() == other.casefold() for one in texts for other in texts)
    scores = [m["score"] for m in made["Member"]]
    assert min(scores) < 0
    assert len(set(scores)) < len(scores)
    assert any(isinstance(score, Decimal) for score in scores)
    times = [e["at"] for e in made["Event"]]
    assert len(set(times)) < len(times)
    assert any(at.astimezone(UTC).time() == datetime.min.time() for at in times)
    assert max(times) <= NOW


def test_another_seed_makes_other_data() -> None:
    assert (
        DataGenerator(league_workload(), NOW, 1, True).make_all()
        != DataGenerator(league_workload(), NOW, 2, True).make_all()
    )
