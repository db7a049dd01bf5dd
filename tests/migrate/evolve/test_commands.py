"""`prejoin evolve`: the steps of the guide on a file, output, exit statuses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from prejoin import Client, Embedded
from prejoin.design.document.write_document import write_document
from prejoin.migrate.evolve.items import evolution_of
from prejoin.migrate.evolve.plan import open_version
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from tests.cli.conftest import Prejoin, prejoin  # noqa: F401 - a fixture
from tests.migrate.evolve.shop import NEW, OLD, few, many

GUIDE = (Path(__file__).parents[3] / "docs/guides/migrate/evolve.md").read_text(encoding="utf-8")


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders with a document and a design, and a file with a table of the first."""
    for name, text, version in (("old", OLD, few("OLD")), ("new", NEW, many("NEW"))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "access-patterns.md").write_text(text, encoding="utf-8")
        (folder / "table-design.md").write_text(write_document(version.design, version.workload), encoding="utf-8")
    fill(tmp_path / "shop.db", few("OLD"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(file: Path, version: CodeVersion, email: str = "{}@x") -> None:
    package = version.package
    with Embedded(str(file)) as engine:
        client = Client(package.schema, "shop", engine)
        client.create_table()
        for number in range(10):
            values = {"userId": f"u{number}", "email": email.format(number), "name": "N"}
            client.insert(package.record("User", values))


def test_steps_of_the_guide_run_and_fill_the_table(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    planned = prejoin("evolve", "plan", "old", "new", "--db", "shop.db", "-o", "steps", "--format", "json")
    assert planned.status == 0, planned.err
    result = planned.json["result"]
    assert [step["kind"] for step in result["steps"]] == ["index", "deploy", "backfill", "deploy", "clean"]
    assert result["estimate"]["items"] == 10
    assert result["estimate"]["write_units"] > 10
    assert result["estimate"]["clean_write_units"] > 0
    assert (projects / "steps/1-add-gsi2/template.yaml").read_text(encoding="utf-8").count("IndexName") == 2
    assert "write_only=True" in (projects / "steps/2-prepare/shop/schema.py").read_text(encoding="utf-8")
    place = ("old", "new", "--db", "shop.db")
    early = prejoin("evolve", "backfill", *place, "--yes")
    assert (early.status, "PJ776" in early.err) == (4, True)
    assert "added gsi2" in prejoin("evolve", "indexes", *place).err
    filled = prejoin("evolve", "backfill", *place, "--yes", "--format", "json").json["result"]
    assert filled["written"] == {"default": 10, "index keys": 10, "missing": 10}
    again = prejoin("evolve", "backfill", *place, "--yes", "--format", "json").json["result"]
    assert again["written"] == {}
    assert prejoin("evolve", "clean", *place, "--yes").status == 0
    package = many("NEW").package
    with Embedded("shop.db") as engine:
        method = package.methods["AP-005"]
        found = package.call(Client(package.schema, "shop", engine), method, {"email": "7@x"})
    assert found.user_id == "u7"


@pytest.mark.slow
def test_commands_of_the_guide_run(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    commands = re.findall(r"^prejoin (.+?)(?:  |$)", GUIDE.split("```")[1], re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        ran = prejoin(*shlex.split(command))
        assert ran.status == 0, (command, ran.err)
    code = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert code is not None
    exec(code[1], {})


def test_plan_prints_steps_and_code_versions(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("evolve", "plan", "old", "new")
    assert "`old` and `prepare`" in ran.out
    assert "`prejoin evolve backfill`" in ran.out
    assert "name the table" in ran.err


def test_items_that_need_a_decision_are_named(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    fill(projects / "same.db", few("OLD"), "same@x")
    place = ("old", "new", "--db", "same.db", "--state", "other")
    prejoin("evolve", "indexes", *place)
    ran = prejoin("evolve", "backfill", *place, "--yes")
    assert ran.status == 1
    assert "PJ775" in ran.err
    assert ran.out.count("taken: User unique email") == 9


def test_clean_is_refused_before_the_backfill(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("evolve", "clean", "old", "new", "--db", "shop.db", "--yes")
    assert (ran.status, "PJ776" in ran.err) == (4, True)


def test_steps_ask_which_code_runs(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("evolve", "clean", "old", "new", "--db", "shop.db")
    assert ran.status == 4
    assert "not confirmed: `new` runs everywhere" in ran.err


def test_designs_with_errors_are_refused(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    (projects / "new/table-design.md").write_text("# Shop\n", encoding="utf-8")
    ran = prejoin("evolve", "plan", "old", "new")
    assert ran.status == 1
    assert "new has errors; nothing was planned" in ran.err


@pytest.mark.parametrize(
    ("folders", "said"),
    [(("old", "nowhere"), "there is no folder or file `nowhere`"), (("new", "./new"), "OLD and NEW are both `new`")],
)
def test_folders_that_cannot_be_meant(
    projects: Path,
    prejoin: Prejoin,  # noqa: F811
    folders: tuple[str, str],
    said: str,
) -> None:
    ran = prejoin("evolve", "backfill", *folders, "--db", "shop.db", "--yes")
    assert (ran.status, said in ran.err) == (2, True)


@pytest.mark.slow
def test_interrupted_step_leaves_the_table_to_other_machines(
    projects: Path,
    prejoin: Prejoin,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = ("old", "new", "--db", "shop.db")
    prejoin("evolve", "indexes", *place)
    transition = plan_transition(open_version("old", "old"), open_version("new", "new"))
    with (
        pytest.raises(KeyboardInterrupt),
        Embedded("shop.db") as engine,
        evolution_of(transition, Client(transition.old.package.schema, "shop", engine)) as evolution,
    ):
        evolution.passes.save("backfill, pass 1", None, 4)
        raise KeyboardInterrupt
    shown = prejoin("evolve", "status", "new", "--db", "shop.db")
    assert "stopped  backfill, pass 1: at 36%; the same command continues" in shown.out
    progress = prejoin("evolve", "status", "new", "--db", "shop.db", "--format", "json").json["result"]["progress"]
    assert (progress["read"], progress["share"]) == (4, 4 / 11)  # the state is an item, too
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert prejoin("evolve", "backfill", *place, "--yes").status == 0


def test_plan_tells_of_items_that_the_backfill_would_report(
    projects: Path,
    prejoin: Prejoin,  # noqa: F811
) -> None:
    text = NEW.replace("`name` (string, mutable)", "`name` (A | B, mutable)")
    (projects / "new/access-patterns.md").write_text(text, encoding="utf-8")
    ran = prejoin("evolve", "plan", "old", "new", "--db", "shop.db", "-o", "steps")
    assert ran.status == 0, ran.err
    assert "10 items of the sample of 10 need a decision" in ran.err
    assert "for clean" not in ran.err
    assert "(2-prepare)" in ran.out


def test_results_are_said_as_actions(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    place = ("old", "new", "--db", "shop.db")
    prejoin("evolve", "indexes", *place)
    ran = prejoin("evolve", "backfill", *place, "--yes")
    for action in ("written with a default", "written with new index keys", "missing copies or guards written"):
        assert f"10 {action}" in ran.err


def test_way_back_is_planned_before_anything_is_backfilled(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    """All items are those of OLD then, which is no reason to think that the folders are exchanged."""
    prejoin("evolve", "indexes", "old", "new", "--db", "shop.db")
    aborted = prejoin("evolve", "abort", "old", "new", "--db", "shop.db", "--yes")
    assert "if that is `old` or the former `prepare`, leave out `prepare` and `switch`" in aborted.err
    planned = prejoin("evolve", "plan", "new", "old", "--db", "shop.db", "-o", "back")
    assert planned.status == 0, planned.err
    assert "this is the way back" in planned.err
    assert "deploy only what follows the code that runs now" in planned.err
