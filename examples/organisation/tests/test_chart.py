"""The chart: a complete scenario on the command line, and the rules of a company."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from prejoin import Call, Client, Embedded, NotFound, TransactionCancelled

from chart import main
from charts import ChartError, Charts, id_of
from organisation.entities import Division, Employee, Team
from organisation.repository import OrganisationRepository
from organisation.schema import SCHEMA, TABLE

HERE = Path(__file__).resolve().parents[1]
ROWS = list(csv.DictReader((HERE / "company.csv").read_text("utf-8").splitlines()))
COMPANY = """\
ACME
├── Engineering
│   ├── Apps
│   │   ├── Fay Moreau, app developer
│   │   └── Gus Petrov, apprentice
│   ├── Leads
│   │   └── Ben Lindqvist, head of engineering
│   └── Platform
│       ├── Dao Nguyen, platform engineer
│       └── Eli Stern, platform engineer
├── Management
│   └── Board
│       └── Ada Okoro, chief executive
└── Sales
    ├── East
    │   └── Hana Sato, account manager
    ├── Leads
    │   └── Carla Ruiz, head of sales
    └── West
        └── Ivo Kovač, account manager
"""


@pytest.fixture
def charts(prejoin_engine: Embedded) -> Charts:
    return charts_on(prejoin_engine, [])


def charts_on(engine: Embedded, calls: list[Call]) -> Charts:
    db = Client(SCHEMA, TABLE, engine, observe=calls.append)
    db.create_table()
    charts = Charts(OrganisationRepository(db))
    charts.load("acme", ROWS)
    return charts


def show(charts: Charts) -> str:
    return "\n".join([*charts.company("acme").lines(), ""])


@pytest.mark.parametrize("over_http", [False, True])
def test_scenario_on_the_command_line(
    over_http: bool, prejoin_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--endpoint", prejoin_url] if over_http else ["--db", str(tmp_path / "organisation.db")]

    def say(*words: str) -> str:
        status = main([*where, *words])
        output = capsys.readouterr()
        assert status == (1 if output.err else 0)
        return output.out + output.err

    assert say("load", "acme", str(HERE / "company.csv")) == "9 people\n"
    assert say("show", "acme") == COMPANY
    assert say("move", "fay@acme.example", "engineering", "platform", "--manager", "dao@acme.example") == ""
    assert say("reports", "dao@acme.example").splitlines() == [
        "Dao Nguyen, platform engineer",
        "└── Fay Moreau, app developer",
        "    └── Gus Petrov, apprentice",
    ]
    assert say("leave", "fay@acme.example").startswith("Gus Petrov reports to Fay Moreau: ")
    assert say("leave", "gus@acme.example") == ""
    assert say("show", "acme", "--division", "engineering").splitlines()[1] == "├── Apps"
    assert say("show", "nobody") == "there is no company nobody\n"


def test_second_load_changes_nothing(charts: Charts) -> None:
    charts.load("acme", ROWS)
    assert show(charts) == COMPANY


def test_chart_reads_one_request_and_one_per_team(prejoin_engine: Embedded) -> None:
    calls: list[Call] = []
    charts = charts_on(prejoin_engine, calls)
    calls.clear()
    charts.company("acme")
    assert [call.operation for call in calls] == ["Query"] * 8
    assert calls[0].key.startswith("ORGANISATION#acme")


def test_chart_of_several_pages_is_complete(charts: Charts) -> None:
    for number in range(600):
        charts.repository.db.insert(
            Team(org_id="acme", division_id="sales", team_id=f"t{number:03}", name=f"T{number:03}")
        )
    sales = charts.company("acme").below[-1]
    assert len(sales.below) == 603


def test_indirect_reports_are_found(charts: Charts) -> None:
    lines = list(charts.reports(charts.person("ada@acme.example")).lines())
    assert len(lines) == 9
    assert lines[-1] == "    └── Ivo Kovač, account manager"


def test_reporting_cycle_is_refused(charts: Charts) -> None:
    ben, gus = charts.person("ben@acme.example"), charts.person("gus@acme.example")
    with pytest.raises(ChartError, match="Gus Petrov reports to Ben Lindqvist"):
        charts.move(ben, "engineering", "leads", gus)
    assert show(charts) == COMPANY


def test_move_changes_team_and_manager(charts: Charts) -> None:
    fay, hana = charts.person("fay@acme.example"), charts.person("hana@acme.example")
    charts.move(fay, "sales", "east", hana)
    repository = charts.repository
    assert [one.name for one in repository.people_of_team("acme", "sales", "east")] == ["Fay Moreau", "Hana Sato"]
    assert [one.name for one in repository.people_of_team("acme", "engineering", "apps")] == ["Gus Petrov"]
    assert [one.name for one in repository.who_reports_to_manager(hana.employee_id)] == ["Fay Moreau"]
    assert "Fay Moreau" not in [one.name for one in repository.who_reports_to_manager(id_of("ben@acme.example"))]


def test_missing_team_is_refused(charts: Charts) -> None:
    with pytest.raises(ChartError, match="there is no team south in sales"):
        charts.move(charts.person("fay@acme.example"), "sales", "south", None)
    stranger = Employee(
        employee_id=id_of("x"), org_id="acme", division_id="sales", team_id="south", name="X", title="x"
    )
    with pytest.raises(TransactionCancelled) as caught:
        charts.repository.hire(stranger)
    assert [type(one) for one in caught.value.failures] == [NotFound]


def test_division_does_not_include_others(charts: Charts) -> None:
    charts.repository.add_division(Division(org_id="acme", division_id="sales-east", name="Sales East"))
    assert [node.label for node in charts.division("acme", "sales").below] == ["East", "Leads", "West"]
    assert [one.name for one in charts.repository.divisions_of_organisation("acme")] == [
        "Engineering",
        "Management",
        "Sales",
        "Sales East",
    ]
