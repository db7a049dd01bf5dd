"""The exam of designs: what it counts of an expert's solution, what it says of ours, and that nothing ends it early."""

from __future__ import annotations

import copy
import doctest
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.source import Fields
from designs import exam, experts, interlocking, large, report
from designs.exam import examine
from designs.experts import Answered, read_expert
from prejoin.engine import Embedded

ROOT = Path(__file__).parents[2]
SHOP = """
name: shop
entities:
  - {name: Customer, id: [customerId], attributes: {customerId: S, email: S}}
  - {name: Order, id: [orderId], attributes: {orderId: S, customerId: S, status: S, at: S}, parent: Customer, mutable: [status]}
access_patterns:
  - {id: A1, kind: read, entities: [Customer, Order], given: [customerId], returns: many}
  - {id: A2, kind: read, entities: [Order], given: [orderId], returns: one}
  - {id: A3, kind: read, entities: [Order], given: [status], sort: {attr: at, dir: desc}, returns: many}
  - {id: A4, kind: write, action: update, entities: [Order], given: [customerId, orderId, at], sets: [status]}
  - {id: A5, kind: read, entities: [Order], given: [], returns: many, out_of_scope: true}
expert_solution:
  table: {pk: PK, sk: SK}
  gsis: [{name: GSI1, pk: GSI1PK, sk: GSI1SK}, {name: GSI2, pk: GSI2PK, sk: GSI2SK}]
  lsis: [{name: LSI1, sk: at}]
  keys:
    Customer: [{item: customer, PK: "C#{customerId}", SK: A}, {item: email uniqueness guard, PK: "E#{email}", SK: A}]
    Order: {PK: "C#{customerId}", SK: "O#{status}#{orderId}", GSI1PK: "O#{orderId}", GSI1SK: A, GSI2PK: "{status}", GSI2SK: "{at}"}
  operations:
    - {ap: A1, op: Query, index: base}
    - {ap: A2, op: Query then GetItem, index: GSI1}
    - {ap: A3, op: Query x4, index: GSI2, filter: status}
    - {ap: A4, op: UpdateItem, index: base}
    - {ap: A5, op: Scan, index: extra_tables.Archive}
"""


def expert(**changed: Any) -> experts.Expert:
    data = yaml.safe_load(SHOP)
    data["expert_solution"] |= changed
    found = read_expert(Fields(data, "shop.yaml"), frozenset({"A5"}))
    assert found is not None
    return found


def sat(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder = tmp_path / "corpus"
    folder.mkdir(exist_ok=True)
    (folder / "shop.yaml").write_text(text, "utf-8")
    command = [sys.executable, ROOT / "benchmarks" / "designs", folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


# --- The expert -------------------------------------------------------------------------------------------------------


def test_structures_are_indexes_and_copies_and_guards_are_not_counted() -> None:
    found = expert()
    assert (found.gsis, found.lsis, found.copies, found.guards, found.structures) == (2, 1, 0, 1, 3)


def test_further_items_of_an_entity_are_copies() -> None:
    assert expert(keys={"Follow": [{"PK": "a"}, {"PK": "b"}, {"PK": "c"}]}).copies == 2
    assert expert(keys={"Follow": {"pk": ["a", "b"], "sk": []}}).copies == 0


def test_indexes_of_further_tables_count_where_something_in_scope_asks_them() -> None:
    archive = {"name": "Archive", "gsis": [{"name": "one"}, {"name": "two"}]}
    assert expert(extra_tables=[archive]).gsis == 2
    asked = [{"ap": "A1", "op": "Query", "index": "extra_tables.Archive.one"}]
    found = expert(extra_tables=[archive], operations=asked)
    assert (found.gsis, found.tables) == (4, 2)


@pytest.mark.parametrize(
    ("op", "answered"),
    [
        ("Query", Answered()),
        ("Query x5", Answered()),
        ("GetItem or Query with filter on ttl", Answered()),
        ("TransactWriteItems (4 items, then some)", Answered()),
        ("Query then Query per title", Answered(requests=3)),
        ("Query + BatchGetItem", Answered(requests=2)),
        ("Delete + Put (key change)", Answered(requests=2)),
        ("Scan of GSI1", Answered(served=False)),
        ("none", Answered(served=False)),
    ],
)
def test_an_operation_in_words_says_how_many_requests_it_takes(op: str, answered: Answered) -> None:
    assert expert(operations=[{"ap": "A1", "op": op}]).answered["A1"] == answered


def test_filter_of_the_pattern_is_not_counted_for_the_expert() -> None:
    data = yaml.safe_load(SHOP)
    assert expert().answered["A3"].filtered
    data["access_patterns"][2]["filter"] = {"status": "equals"}
    found = read_expert(Fields(data, "shop.yaml"), frozenset())
    assert found is not None
    assert not found.answered["A3"].filtered


def test_a_file_without_a_solution_has_no_expert() -> None:
    assert read_expert(Fields({"name": "x"}, "x.yaml"), frozenset()) is None


# --- The exam ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_table_has_structures_and_proofs(tmp_path: Path) -> None:
    done = sat(tmp_path, SHOP)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("| shop"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:5] == ["shop", "2", "4 (+1)", "2, 1 LSI", "0, 1 guard"]
    assert cells[6:8] == ["2", "0"]
    assert cells[9:12] == ["fewer", "4/4", "yes"]
    assert cells[-1] == "4/4"
    assert "1 with fewer than the expert" in done.stdout


@pytest.mark.slow
def test_the_same_as_json(tmp_path: Path) -> None:
    (row,) = json.loads(sat(tmp_path, SHOP, "--format", "json").stdout)
    assert row["structures"] == {"expert": 3, "ours": 2}
    assert row["ours"]["answered"]["A3"] == {"served": True, "requests": 1, "filtered": False}
    assert row["proofs"]["embedded"]["right"] == row["patterns"] == 4
    assert row["verdict"] == "fewer"


@pytest.mark.slow
def test_a_defect_that_saves_the_expert_an_index_is_named(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    data = yaml.safe_load(SHOP)
    data["expert_solution"] |= {"gsis": [], "lsis": []}
    path.write_text(yaml.safe_dump(data))
    result = examine(path, {})
    assert result.verdict == "more"
    assert any(defect.startswith("PJ515") and "`status`" in defect for defect in result.defects)
    assert "who saves by defects" in report.remarks(result)[0]


@pytest.mark.slow
def test_findings_and_unprofitable_copies_are_reported(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    result = examine(tmp_path / "shop.yaml", {})
    assert result.ours is not None
    assert result.expert is not None
    worse = replace(result.ours, copies=1, money=1e6, findings=("PJ550 a hot partition",))
    remarks = report.remarks(replace(result, ours=worse))
    assert "a copy, and the expert has none" in remarks
    assert "PJ550 a hot partition" in remarks
    assert "no: PJ550" in report.as_table([replace(result, ours=worse)], [])


@pytest.mark.slow
def test_unreadable_file_is_a_row_with_the_error(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "bad.yaml").write_text("entities: 3")
    done = sat(tmp_path, SHOP)
    assert done.returncode == 1
    assert "bad.yaml: entities: is not a list" in done.stdout
    assert "Traceback" not in done.stderr
    assert any(line.startswith("| shop ") for line in done.stdout.splitlines())


@pytest.mark.slow
def test_unresponsive_place_is_reported(tmp_path: Path) -> None:
    done = sat(tmp_path, SHOP, "--unproven", "--on", "nowhere=http://127.0.0.1:9")
    assert done.returncode == 0
    assert "not run, nowhere: ConnectionFailed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["no/such/folder"]])
def test_without_designs_it_says_what_it_needs(arguments: list[str]) -> None:
    command = [sys.executable, ROOT / "benchmarks" / "designs", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "corpus" in done.stderr


@pytest.mark.slow
def test_the_script_runs_it_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    command = [ROOT / "benchmarks" / "designs" / "run", "shop.yaml", "--unproven"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| shop " in done.stdout


VALUES = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", [], {}, ["x"], {"a": 1}, [None], [[1]], 10**20, "é#|`", "many"]
)


@pytest.mark.slow
@given(data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_any_file_content_gives_a_result(data: st.DataObject, tmp_path: Path) -> None:
    document = copy.deepcopy(yaml.safe_load(SHOP))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(list(_places(document))))
        value = document
        for step in place[:-1]:
            value = value[step]
        if data.draw(st.booleans()):
            del value[place[-1]]
        else:
            value[place[-1]] = data.draw(VALUES)
    path = tmp_path / "any.yaml"
    path.write_text(yaml.safe_dump(document), "utf-8")
    result = examine(path, {"embedded": Embedded})
    assert result.error or result.ours
    assert "not solved" not in result.error
    assert report.as_table([result], ["embedded"])
    assert json.loads(report.as_json([result]))


def _places(value: Any, above: tuple[Any, ...] = ()) -> Any:
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield (*above, step)
        yield from _places(inner, (*above, step))


# --- Large ones -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("linked", [False, True])
def test_a_large_workload_is_of_the_size_that_was_asked_and_all_of_it_is_served(linked: bool) -> None:
    workload = large.made(15, 40, linked=linked)
    assert (len(workload.entities), len(workload.patterns)) == (15, 40)
    assert workload == large.made(15, 40, linked=linked)
    ours, design = exam.solved(workload)
    assert all(one.served for one in ours.answered.values())
    assert exam.proven(workload, design, Embedded, "large").whole


@pytest.mark.parametrize("module", [exam, experts, interlocking, large], ids=lambda m: m.__name__)
def test_doctests_pass(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert found.failed == 0
