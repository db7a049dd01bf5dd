"""`design --move`: another key for an entity of a table in use, in a design that `evolve plan` accepts at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from prejoin import Client, Embedded
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Item
from prejoin.migrate.evolve.move_design import design_moved, read_moves
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from prejoin.pipeline.design.design_table import DesignRequest, DesignResult, read_decisions
from prejoin.pipeline.document import Document
from prejoin.pipeline.errors import InputError, InvalidArgumentError
from tests.cli.conftest import Prejoin, prejoin  # noqa: F401 - a fixture
from tests.migrate.evolve.application import Application
from tests.migrate.evolve.shop import (
    FEW,
    MORE,
    MOVED,
    OLD,
    ORDER_BY_STATUS,
    USER,
    USER_BY_EMAIL,
    index,
    version,
    workload,
)
from tests.migrate.evolve.test_while_in_use import Worker, evolve

WITH_MORE = OLD.replace("\n### Writes", f"{MORE}\n### Writes")
TOGETHER = OLD.replace(
    "\n### Writes", "| AP-006 | User, Order | User with orders | userId | Collection | - | 5/s |\n\n### Writes"
)
SHARED = Design("shop", (FEW.slots[0], index("gsi1"), index("gsi2")), (USER_BY_EMAIL, ORDER_BY_STATUS))
"""Users and orders in the same index."""
BESIDE_USER = Design(
    "shop",
    (FEW.slots[0], index("gsi1")),
    (
        replace(USER, facets=(*USER.facets, Facet("gsi1", ("USER#{userId}",), ("A",)))),
        Item("Order", "Order", FEW.items[1].facets),
    ),
)
"""Users and orders in the same partition of an index, for a read of both."""
IN_USE = {"few": (OLD, FEW), "shared index": (WITH_MORE, SHARED), "read together": (TOGETHER, BESIDE_USER)}
KEYS = {
    "another word": "Order to O#{orderId} / O",
    "another sort key": "Order to ORDER#{orderId} / ORDER#{placedAt}",
    "below the user": "Order to USER#{userId} / PURCHASE#{orderId}",
    "below the user, by time": "Order to USER#{userId} / PURCHASE#{placedAt}#{orderId}",
    "a partition without a word": "Order to {orderId} / O",
}


def moved(text: str, design: Design, *moves: str, decisions: tuple[str, ...] = ()) -> DesignResult:
    of_text = workload(text)
    pins = read_decisions(decisions, of_text)
    request = DesignRequest(Document.of(of_text), pins, design, prove=False, alternatives=0)
    return design_moved(request, read_moves(moves, request.workload, design))


def transition(text: str, design: Design, result: DesignResult) -> Transition:
    after = CodeVersion("NEW", result.workload, map_patterns(result.design, result.workload))
    return plan_transition(version("OLD", text, design), after)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("in_use", IN_USE)
def test_plan_accepts_the_design_and_all_patterns_are_served(in_use: str, key: str) -> None:
    text, design = IN_USE[in_use]
    result = moved(text, design, KEYS[key])
    item, user = result.design.item("Order"), result.design.item("User")
    assert item
    assert user
    assert item.tag == "Order2"
    table_key = item.facets[0]
    assert f"Order to {table_key.pk[0]} / {table_key.sk[0]}" == KEYS[key]
    assert result.unserved == ()
    found = transition(text, design, result)
    assert found.moved == ("Order",)
    # Users stay where they are, but for an index that both are read from.
    was = design.item("User")
    assert was
    assert user.facets[0] == was.facets[0]
    if in_use != "read together":
        assert user.facets == was.facets


VISITS = """# Clinic

## Entities

### Visit

- `visitId` (string, generated)
- `patient` (string, immutable)
- `ward` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Consistency | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Visit | visitId | Single | Strong | 5/s |
| AP-002 | Visit | ward | Collection | Strong | 5/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- |
| AP-010 | Visit | Visit | create Visit | 1/s |
"""
VISIT = Item("Visit", "Visit", (Facet(TABLE, ("VISIT#{visitId}",), ("VISIT",)),))
BY_WARD = Item("Visit", "Visit.by-ward", (Facet(TABLE, ("WARD#{ward}",), ("VISIT#{visitId}",)),), copy="by-ward")


def test_copy_with_the_same_key_keeps_its_type() -> None:
    """Consistent reads by other attributes than those of the key are served by copies."""
    design = Design("clinic", FEW.slots[:1], (VISIT, BY_WARD))
    result = moved(VISITS, design, "Visit to PATIENT#{patient} / V#{visitId}")
    assert result.unserved == ()
    by_ward = result.design.item("Visit", "by-ward")
    assert by_ward
    assert (by_ward.tag, by_ward.facets) == (BY_WARD.tag, BY_WARD.facets)
    # A copy now has the key that the entity had, where old items are for a time: it has another word there.
    by_id = result.design.item("Visit", "by-visitId")
    assert by_id
    assert (by_id.tag, by_id.facets[0].sk) == ("Visit2.by-visitId", ("VISIT2",))
    assert transition(VISITS, design, result).moved == ("Visit",)


def test_copy_gets_another_name_with_another_key() -> None:
    kept = replace(BY_WARD, facets=(Facet(TABLE, ("W#{ward}",), ("{visitId}",)),))
    design = Design("clinic", FEW.slots[:1], (VISIT, kept))
    result = moved(VISITS, design, "Visit to PATIENT#{patient} / V#{visitId}")
    assert result.unserved == ()
    assert {item.copy for item in result.design.items} == {"", "by-visitId", "by-ward-2"}
    assert transition(VISITS, design, result).moved == ("Visit",)


@pytest.mark.parametrize(
    "key", ["another word", *(pytest.param(key, marks=pytest.mark.slow) for key in list(KEYS)[1:])]
)
def test_no_version_misses_an_item_while_it_moves(key: str, tmp_path: Path) -> None:
    text, design = IN_USE["shared index"]
    found = transition(text, design, moved(text, design, KEYS[key]))
    application = Application(Embedded(), 5)
    worker = Worker(application, tmp_path)
    result = evolve(found, application, worker)
    assert (result.undecided, worker.kills > 0, application.checked > 200) == ([], True, True)
    client = Client(found.new.package.schema, "shop", application.engine)
    assert list(audit(client)) == []
    assert client.drift() == []


def test_index_that_the_new_key_replaces_is_left_out() -> None:
    by_id = ("| AP-003", "| AP-013", "| AP-014", "| AP-020")
    text = "".join(line for line in OLD.splitlines(keepends=True) if not line.startswith(by_id))
    result = moved(text, FEW, "Order")
    assert result.design.indexes == ()
    item = result.design.item("Order")
    assert item
    assert item.facets[0].pk == ("USER#{userId}",)
    assert [slot.name for slot in transition(text, FEW, result).removed] == ["gsi1"]


@pytest.mark.parametrize("decision", ["Order in 4 shards", "Order in buckets of a day"])
def test_move_is_accepted_beside_a_decision_on_shards_or_buckets(decision: str) -> None:
    text = WITH_MORE
    result = moved(text, SHARED, "Order to O#{orderId} / O", decisions=(decision,))
    assert result.unserved == ()
    assert transition(text, SHARED, result).moved == ("Order",)


def test_each_move_gets_the_next_type_and_free_words() -> None:
    once = moved(OLD, FEW, "Order to O#{orderId} / O").design
    twice = moved(OLD, replace(once, operations=(), decisions=()), "Order to P#{orderId} / P")
    item = twice.design.item("Order")
    assert item
    assert item.tag == "Order3"
    assert [(facet.slot, *facet.pk, *facet.sk) for facet in item.facets] == [
        (TABLE, "P#{orderId}", "P"),
        ("gsi1", "USER#{userId}", "ORDER#{placedAt}#{orderId}"),
    ]
    assert moved(OLD, MOVED, "Order to P#{orderId} / P").design.items[1].tag == "Order3"


def test_several_entities_move_at_once() -> None:
    result = moved(OLD, FEW, "Order to O#{orderId} / O", "User to U#{userId} / U")
    assert {item.tag for item in result.design.items} == {"Order2", "User2"}
    assert set(transition(OLD, FEW, result).moved) == {"User", "Order"}


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ("Ordr", "there is no entity `Ordr`"),
        ("Order to", "names no entity"),
        ("Order to O#{orderId}", "is not a key of this table"),
        ("Order to O#{orderId} / O / P", "is not a key of this table"),
        ("Order to O#{number} / O", "there is no attribute `number`"),
        ("Order to ORDER#{orderId} / ORDER", "has this key already"),
        ("Order", "the designer would choose the same key"),
    ],
)
def test_wrong_move_is_refused(move: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        moved(OLD, FEW, move)


@pytest.mark.parametrize(
    ("move", "code"),
    [
        ("Order to O#{status} / O#{orderId}", "PJ515"),
        ("Order to O#{userId} / O", "PJ517"),
        ("User to ORDER#{userId} / ORDER", "PJ510"),
        # Items of both keys in the query of AP-002.
        ("Order to USER#{userId} / ORDER#{orderId}", "PJ774"),
    ],
)
def test_key_that_cannot_work_is_refused(move: str, code: str) -> None:
    below_user = replace(FEW.items[1], facets=(Facet(TABLE, ("USER#{userId}",), ("ORDER#{placedAt}#{orderId}",)),))
    by_id = replace(below_user, facets=(*below_user.facets, Facet("gsi1", ("ORDER#{orderId}",), ("ORDER",))))
    design = FEW if move.startswith("User") else replace(FEW, items=(USER, by_id))
    with pytest.raises(InputError) as error:
        moved(OLD, design, move)
    assert code in {diagnostic.code for source in error.value.sources for diagnostic in source.diagnostics}
    assert "nothing was designed" in str(error.value.note)


def test_decision_of_the_document_is_the_key() -> None:
    text = OLD + "\n## Decisions\n\n- Order has key `O#{orderId}` and `O`\n"
    item = moved(text, FEW, "Order").design.item("Order")
    assert item
    assert item.facets[0].pk == ("O#{orderId}",)
    with pytest.raises(InvalidArgumentError, match="exclude each other"):
        moved(text, FEW, "Order to P#{orderId} / P")


def test_command_writes_a_design_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prejoin: Prejoin) -> None:  # noqa: F811
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "access-patterns.md").write_text(OLD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    keep = ("design", "new/access-patterns.md", "--keep", "old/table-design.md", "--yes")
    assert prejoin("design", "old/access-patterns.md", "--yes", "--no-proof").status == 0
    done = prejoin(*keep, "--move", "Order to O#{orderId} / O")
    assert done.status == 0, done.err
    assert "evolve plan old new` plans the change" in " ".join(done.out.split())
    file = tmp_path / "new/table-design.md"
    text = file.read_text(encoding="utf-8")
    assert "> Keeps: ../old/table-design.md" in text
    assert "> Moves: Order from `ORDER#{orderId} / ORDER`" in text
    assert prejoin("evolve", "plan", "old", "new").status == 0
    assert "PJ629" not in prejoin("check", "new/table-design.md").out
    for command in (keep, ("design", "new/access-patterns.md", "--yes"), ("build", "new/access-patterns.md", "--yes")):
        assert prejoin(*command).status == 0
        assert file.read_text(encoding="utf-8") == text
    file.write_text(text.replace("Status: DRAFT", "Status: APPROVED"), encoding="utf-8")
    assert prejoin("build", "new/access-patterns.md", "--yes").status == 0
    assert "- **Type**: `Order2`" in file.read_text(encoding="utf-8")
    assert prejoin("design", "new/access-patterns.md", "--move", "Order").status == 2
