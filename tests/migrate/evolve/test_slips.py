"""Slips that happen to people: no item is deleted that is not a twin, and the command says what is wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from prejoin import Client, Embedded, UnfitTable
from prejoin.design.document.write_document import write_document
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import evolution_of
from prejoin.migrate.evolve.plan import open_version
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from tests.cli.conftest import Prejoin, prejoin  # noqa: F401 - a fixture
from tests.migrate.evolve.club import club
from tests.migrate.evolve.shop import OLD, few, moved

COUNT = 12
FORWARD = ("old", "new", "--db", "shop.db")
EXCHANGED = ("new", "old", "--db", "shop.db")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders with designs that have another key for orders, and a file with a table of the first."""
    for name, version in (("old", few("OLD")), ("new", moved("NEW"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "access-patterns.md").write_text(OLD, encoding="utf-8")
        text = write_document(version.design, version.workload)
        (tmp_path / name / "table-design.md").write_text(text, encoding="utf-8")
    with Embedded(str(tmp_path / "shop.db")) as engine:
        Client(few("OLD").package.schema, "shop", engine).create_table()
    insert(tmp_path, few("OLD"), range(COUNT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def insert(folder: Path, version: CodeVersion, numbers: range) -> None:
    with Embedded(str(folder / "shop.db")) as engine:
        client = Client(version.package.schema, "shop", engine)
        for number in numbers:
            placed = datetime(2026, 5, 4, 12, 0, number, tzinfo=UTC)
            order = {"orderId": f"o{number}", "userId": "u", "placedAt": placed, "status": "OPEN", "total": number}
            client.insert(version.package.record("Order", order))


def items(folder: Path) -> dict[str, set[str]]:
    """The ids of the orders by the type of their items."""
    with Embedded(str(folder / "shop.db")) as engine:
        stored = Client(few("OLD").package.schema, "shop", engine).call("Scan")["Items"]
    found: dict[str, set[str]] = {}
    for item in stored:
        if "orderId" in item:
            found.setdefault(item["entityType"]["S"], set()).add(item["orderId"]["S"])
    return found


def ids(count: int) -> set[str]:
    return {f"o{number}" for number in range(count)}


@pytest.mark.parametrize("step", ["indexes", "backfill", "clean"])
def test_exchanged_folders_of_an_untouched_table(folder: Path, prejoin: Prejoin, step: str) -> None:  # noqa: F811
    ran = prejoin("evolve", step, *EXCHANGED, "--yes")
    assert (ran.status, "PJ777" in ran.err) == (4, True)
    assert "`new`" in ran.err
    assert items(folder) == {"Order": ids(COUNT)}


def test_way_back_in_the_middle(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *FORWARD)
    assert prejoin("evolve", "backfill", *FORWARD, "--yes").status == 0
    insert(folder, moved("NEW"), range(COUNT, COUNT + 3))  # code of the new design was deployed already
    for step in ("backfill", "clean"):
        exchanged = prejoin("evolve", step, *EXCHANGED, "--yes")
        assert (exchanged.status, "prejoin evolve abort old new" in exchanged.err) == (4, True)
    assert prejoin("evolve", "abort", *FORWARD, "--yes").status == 0
    assert "going back" in prejoin("evolve", "status", "old", "--db", "shop.db").out
    assert prejoin("evolve", "backfill", *FORWARD, "--yes").status == 4
    assert prejoin("evolve", "clean", *EXCHANGED, "--yes").status == 4  # not before the backfill
    assert prejoin("evolve", "backfill", *EXCHANGED, "--yes").status == 0
    assert items(folder)["Order"] == ids(COUNT + 3)
    assert prejoin("evolve", "clean", *EXCHANGED, "--yes").status == 0
    assert items(folder) == {"Order": ids(COUNT + 3)}
    log = prejoin("evolve", "log", "old", "--db", "shop.db", "--format", "json").json["result"]["log"]
    assert [one["result"] for one in log] == ["taken back"]


def test_backfill_again_after_new_code_wrote(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *FORWARD)
    prejoin("evolve", "backfill", *FORWARD, "--yes")
    insert(folder, moved("NEW"), range(COUNT, COUNT + 4))
    assert prejoin("evolve", "backfill", *FORWARD, "--yes", "--state", "elsewhere").status == 0
    assert items(folder)["Order2"] == ids(COUNT + 4)
    assert prejoin("evolve", "clean", *FORWARD, "--yes", "--state", "elsewhere").status == 0
    assert items(folder) == {"Order2": ids(COUNT + 4)}


@pytest.mark.parametrize("is_finished", [False, True])
def test_forgotten_job_of_the_old_design(folder: Path, prejoin: Prejoin, is_finished: bool) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *FORWARD)
    prejoin("evolve", "backfill", *FORWARD, "--yes")
    if is_finished:
        assert prejoin("evolve", "clean", *FORWARD, "--yes").status == 0
        with Embedded("shop.db") as engine:  # the index of the old design is gone
            client = Client(few("OLD").package.schema, "shop", engine)
            client.add_indexes()
    insert(folder, few("OLD"), range(COUNT, COUNT + 3))
    ran = prejoin("evolve", "clean", *FORWARD, "--yes")
    assert ran.status == 0, ran.err
    assert "3 carried over" in ran.err
    assert items(folder) == {"Order2": ids(COUNT + 3)}


def test_both_designs_changed_an_item(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *FORWARD)
    prejoin("evolve", "backfill", *FORWARD, "--yes")
    for version, total in ((few("OLD"), 100), (moved("NEW"), 200)):
        with Embedded("shop.db") as engine:
            client = Client(version.package.schema, "shop", engine)
            with client.update(version.package.classes["Order"], order_id="o1", read=True) as order:
                order.total = total
    for step in ("backfill", "clean"):
        ran = prejoin("evolve", step, *FORWARD, "--yes")
        assert (ran.status, "PJ775" in ran.err or "PJ776" in ran.err) == (1 if step == "backfill" else 4, True)
    assert items(folder) == {"Order": ids(COUNT), "Order2": ids(COUNT)}


def test_finished_change_and_another_design(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    for step in ("indexes", "backfill", "clean"):
        assert prejoin("evolve", step, *FORWARD, "--yes").status == 0
    status = prejoin("evolve", "status", "new", "--db", "shop.db")
    assert "new" in status.out
    assert "no change is under way" in status.err
    assert prejoin("evolve", "abort", *FORWARD, "--yes").status == 4


@pytest.mark.slow
@pytest.mark.parametrize("is_finished", [True, False])
def test_steps_before_clean_do_nothing_once_it_has_begun(
    folder: Path,
    prejoin: Prejoin,  # noqa: F811
    is_finished: bool,
) -> None:
    for step in ("indexes", "backfill"):
        assert prejoin("evolve", step, *FORWARD, "--yes").status == 0
    if is_finished:
        assert prejoin("evolve", "clean", *FORWARD, "--yes").status == 0
    else:
        begin_clean(folder)
    stored = items(folder)
    before = prejoin("evolve", "status", "new", "--db", "shop.db")
    for step in ("indexes", "backfill"):
        ran = prejoin("evolve", step, *FORWARD, "--yes")
        assert ran.status == 0, ran.err
        assert "nothing was done" in ran.err
        assert "next: `prejoin evolve clean old new`" in ran.err
        assert "deploy" not in ran.err
    after = prejoin("evolve", "status", "new", "--db", "shop.db")
    assert (after.out, after.err) == (before.out, before.err)
    assert items(folder) == stored
    assert prejoin("evolve", "clean", *FORWARD, "--yes").status == 0
    assert items(folder) == {"Order2": ids(COUNT)}


def begin_clean(folder: Path) -> None:
    """Leaves the table as a `clean` that was killed before it deleted the first item."""
    with Embedded(str(folder / "shop.db")) as engine:
        transition = plan_transition(open_version("old", folder / "old"), open_version("new", folder / "new"))
        client = Client(transition.old.package.schema, "shop", engine)
        with evolution_of(transition, client, folder) as evolution:
            evolution.change.is_cleaning = True


@pytest.mark.slow
def test_plan_says_where_the_table_is(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    assert "this change is under way" not in prejoin("evolve", "plan", *FORWARD).err
    prejoin("evolve", "indexes", *FORWARD)
    assert "this change is under way (finished: indexes)" in prejoin("evolve", "plan", *FORWARD).err
    assert "in another change, from `old` to `new`" in prejoin("evolve", "plan", *EXCHANGED).err
    prejoin("evolve", "backfill", *FORWARD, "--yes")
    prejoin("evolve", "abort", *FORWARD, "--yes")
    assert "on its way back to `old`" in prejoin("evolve", "plan", *FORWARD).err
    assert "this is the way back from the change to `new`" in prejoin("evolve", "plan", *EXCHANGED).err
    prejoin("evolve", "backfill", *EXCHANGED, "--yes")
    prejoin("evolve", "clean", *EXCHANGED, "--yes")
    done = prejoin("evolve", "plan", *EXCHANGED, "--format", "json").json["result"]["notes"]
    assert done == ["the table has the design of `old` already: these steps are done"]


@pytest.mark.slow
def test_code_of_the_other_design_is_refused(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    """Its queries would find nothing, without an error."""
    assert fits(folder) == {"old": True, "new": False}  # the index is missing
    prejoin("evolve", "indexes", *FORWARD)
    prejoin("evolve", "backfill", *FORWARD, "--yes")
    assert fits(folder) == {"old": True, "new": True}
    prejoin("evolve", "clean", *FORWARD, "--yes")
    assert fits(folder) == {"old": False, "new": True}
    prejoin("evolve", "indexes", *EXCHANGED)
    assert fits(folder)["new"]
    prejoin("evolve", "backfill", *EXCHANGED, "--yes")
    assert fits(folder) == {"old": True, "new": True}
    prejoin("evolve", "clean", *EXCHANGED, "--yes")
    with Embedded(str(folder / "shop.db")) as engine:
        client = Client(moved("new").package.schema, "shop", engine)
        client.add_indexes()
        (difference,) = [one for one in client.drift() if one.of_another_design]
    assert (difference.what, difference.kind) == ("Order2", "item keys")


def fits(folder: Path) -> dict[str, bool]:
    """Whether code of each design accepts the table."""
    accepts = {}
    with Embedded(str(folder / "shop.db")) as engine:
        for version in (few("old"), moved("new")):
            client = Client(version.package.schema, "shop", engine, verify=True)
            try:
                client.get(version.package.classes["Order"], order_id="o1")
                accepts[version.name] = True
            except UnfitTable:
                accepts[version.name] = False
    return accepts


@pytest.mark.slow
def test_refusals_name_the_command_with_its_folders(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    assert "`prejoin evolve indexes old new`" in prejoin("evolve", "backfill", *FORWARD, "--yes").err
    prejoin("evolve", "indexes", *FORWARD)
    assert "`prejoin evolve backfill old new`" in prejoin("evolve", "clean", *FORWARD, "--yes").err
    prejoin("evolve", "backfill", *FORWARD, "--yes")
    assert "`prejoin evolve abort old new`" in prejoin("evolve", "abort", *EXCHANGED, "--yes").err
    prejoin("evolve", "clean", *FORWARD, "--yes")
    assert "`prejoin evolve plan new old`" in prejoin("evolve", "abort", *FORWARD, "--yes").err


def test_clean_says_what_it_deletes_before_it_asks(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("evolve", "clean", *FORWARD)
    assert "it will remove the index gsi1, then delete the items of Order under their key in `old`" in ran.err


def test_way_back_of_a_change_of_which_only_code_was_deployed(tmp_path: Path) -> None:
    """`prepare` of another name was deployed, and no command was run: what it wrote is removed."""
    transition = plan_transition(
        club("old", "`nick` (string, mutable)"), club("new", "`alias` (string, mutable, renamed from nick)")
    )
    prepare = transition.prepare.package
    with Embedded() as engine:
        client = Client(prepare.schema, "club", engine)
        client.create_table()
        client.insert(prepare.record("Member", {"memberId": "m", "team": "t", "score": 1, "nick": "Al"}))
        back = abort_on(client, transition, tmp_path)
        assert back is not None
        for step in ("backfill", "clean"):
            with evolution_of(back, client, tmp_path) as evolution:
                assert getattr(evolution, step)().undecided == []
        (member,) = [item for item in client.call("Scan")["Items"] if "memberId" in item]
    assert (member["nick"], "alias" in member) == ({"S": "Al"}, False)


def test_way_back_of_a_change_that_only_new_code_makes(tmp_path: Path) -> None:
    transition = plan_transition(club("old", "`nick` (string, optional, mutable)"), club("new", ""))
    with Embedded() as engine:
        client = Client(transition.old.package.schema, "club", engine)
        client.create_table()
        assert abort_on(client, transition, tmp_path) is None


def test_change_that_wrote_nothing_is_forgotten(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    early = prejoin("evolve", "backfill", *FORWARD, "--yes")
    assert (early.status, "PJ776" in early.err) == (4, True)
    assert "no change is under way" in prejoin("evolve", "abort", *FORWARD, "--yes").err
    assert items(folder) == {"Order": ids(COUNT)}


def test_way_back_is_planned_while_all_items_are_those_of_old(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    """A change that was turned round before its backfill: the folders are not exchanged, though no item is of NEW."""
    prejoin("evolve", "indexes", *FORWARD)
    assert prejoin("evolve", "abort", *FORWARD, "--yes").status == 0
    planned = prejoin("evolve", "plan", *EXCHANGED, "-o", "back")
    assert planned.status == 0, planned.err
    assert "this is the way back" in planned.err


def test_change_is_planned_once_more_when_all_items_are_those_of_new(folder: Path, prejoin: Prejoin) -> None:  # noqa: F811
    for step in ("indexes", "backfill", "clean"):
        assert prejoin("evolve", step, *FORWARD, "--yes").status == 0
    planned = prejoin("evolve", "plan", *FORWARD)
    assert planned.status == 0, planned.err
