"""`prejoin design`: output, questions, files, contradictions, and JSON for scripts."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from prejoin.cli.commands.schema import envelope_schema
from prejoin.design.cost.objective import complexity
from prejoin.design.files import read_design_file
from prejoin.design.solver.program.integer_program import IntegerProgram, OutOfTimeError, TimeLimit
from prejoin.design.solver.solve import Solution, solve
from prejoin.diagnostics import has_errors
from prejoin.pipeline.design import design_table
from prejoin.workload.files import read_file
from prejoin.workload.model import AtMost, Workload
from tests.cli.conftest import Prejoin
from tests.cli.terminal import Terminal
from tests.solutions import USERS

TEAMS = Path(__file__).parents[2] / "examples" / "teams" / "access-patterns.md"


@pytest.fixture
def teams(here: Path) -> Path:
    """A small document in an otherwise empty folder."""
    shutil.copy(TEAMS, here / "access-patterns.md")
    return here / "access-patterns.md"


def designed(folder: Path) -> Path:
    return folder / "table-design.md"


# --- Writing --------------------------------------------------------------------------------------------------------


def test_without_a_terminal_it_is_printed_and_written_only_with_yes(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("design")
    assert ran.status == 0
    assert "11 of 11 patterns served" in ran.out
    assert "Proven" in ran.out
    assert "nothing was written; `--yes` writes table-design.md" in ran.err
    assert not designed(teams.parent).exists()
    ran = prejoin("design", "--yes")
    assert "wrote table-design.md" in ran.err
    reading = read_design_file(designed(teams.parent), read_file(teams).workload)
    assert not has_errors(reading.diagnostics)
    assert reading.kept.source == "access-patterns.md"
    assert [v.result for v in reading.kept.validation[:2]] == ["11 of 11", "11 of 11"]
    assert prejoin("check", "table-design.md").status == 0


def test_page_shows_collections_keys_indexes_and_price(prejoin: Prejoin, teams: Path) -> None:
    out = prejoin("design", "--no-proof").out
    for title in ("Read together", "Partition key", "Holds", "Operation", "A month"):
        assert title in out
    assert "USER#{userId}  table  User, Assignment" in out
    assert "Not proven: `--no-proof` was given." in out


@pytest.mark.slow
def test_repeated_design_is_identical(prejoin: Prejoin, teams: Path) -> None:
    prejoin("design", "--yes")
    first = designed(teams.parent).read_bytes()
    assert "table-design.md is up to date" in prejoin("design", "--yes").err
    designed(teams.parent).unlink()
    prejoin("design", "--yes")
    assert designed(teams.parent).read_bytes() == first


@pytest.mark.slow
def test_prose_in_the_design_is_kept(prejoin: Prejoin, teams: Path) -> None:
    prejoin("design", "--yes")
    path = designed(teams.parent)
    path.write_text(path.read_text("utf-8") + "\n## Rollout\n\nOn Monday, by Ann.\n", "utf-8")
    assert prejoin("design", "--yes", "--at-most", "1 GSIs").status == 0
    assert "On Monday, by Ann." in path.read_text("utf-8")


def test_other_file_is_not_replaced(prejoin: Prejoin, teams: Path) -> None:
    designed(teams.parent).write_text("# My notes\n\nDo not lose them.\n", "utf-8")
    ran = prejoin("design", "--yes")
    assert ran.status == 4
    assert "exists and is not a table design" in ran.err
    assert designed(teams.parent).read_text("utf-8") == "# My notes\n\nDo not lose them.\n"


@pytest.mark.slow
def test_a_design_with_other_keys_is_compared_before_it_is_replaced(prejoin: Prejoin, teams: Path) -> None:
    prejoin("design", "--yes")
    path = designed(teams.parent)
    path.write_text(path.read_text("utf-8").replace("Status: DRAFT", "Status: APPROVED"), "utf-8")
    ran = prejoin("design", "--no-proof", "--at-most", "1 GSIs")
    assert "table-design.md has other keys. This design changes:\n  `gsi2` is gone" in ran.err
    assert "table-design.md is APPROVED: `--keep table-design.md`" in ran.err
    assert "> Status: APPROVED" in path.read_text("utf-8")
    prejoin("design", "--no-proof", "--at-most", "1 GSIs", "--yes")
    assert "> Status: DRAFT" in path.read_text("utf-8")


@pytest.mark.everyday(1)
@pytest.mark.parametrize("name", ["keys.yaml", "keys.json", "sub/../keys.md"])
def test_the_name_of_the_output_says_its_form(prejoin: Prejoin, teams: Path, name: str) -> None:
    (teams.parent / "sub").mkdir()
    assert prejoin("design", "--no-proof", "--yes", "-o", name).status == 0
    found = read_design_file(teams.parent / name, read_file(teams).workload)
    assert not has_errors(found.diagnostics)
    assert [item.entity for item in found.design.items]


def test_the_document_can_be_standard_input_and_the_design_standard_output(prejoin: Prejoin, here: Path) -> None:
    ran = prejoin("design", "-", "-o", "-", "--no-proof", stdin=TEAMS.read_bytes())
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("# ")
    assert "## Item Collections" in ran.out
    assert list(here.iterdir()) == []


# --- Decisions ------------------------------------------------------------------------------------------------------


def test_decisions_are_obeyed_and_saved_on_request(prejoin: Prejoin, teams: Path) -> None:
    before = teams.read_text("utf-8")
    ran = prejoin("design", "--no-proof", "--at-most", "1 GSIs", "--yes", "--format", "json")
    assert ran.json["result"]["score"]["indexes"] == 1
    assert ran.json["result"]["decided"] == ["at most 1 GSIs"]
    assert teams.read_text("utf-8") == before
    ran = prejoin("design", "--no-proof", "--at-most", "1 GSIs", "--yes", "--remember")
    assert "added to the Decisions of access-patterns.md: at most 1 GSIs" in ran.err
    assert teams.read_text("utf-8").replace("- at most 1 GSIs\n", "") == before
    assert AtMost("GSIs", 1) in [d.pin for d in read_file(teams).workload.decisions]


def test_form_of_index_keys_is_a_decision(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("design", "--no-proof", "--index-keys", "natural", "--format", "json")
    assert ran.json["result"]["decided"] == ["natural index keys"]
    keys = [[key["name"] for key in slot["pk"]] for slot in ran.json["result"]["design"]["slots"]]
    assert ["email"] in keys


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("make it nice", "`make it nice` is not a decision that the designer obeys"),
        ("Usr lives under Team", "did you mean `User`?"),
    ],
)
def test_invalid_decision_is_a_usage_error(prejoin: Prejoin, teams: Path, sentence: str, message: str) -> None:
    ran = prejoin("design", "--decide", sentence)
    assert ran.status == 2
    assert message in ran.err


def test_decisions_that_contradict_each_other_are_named_and_nothing_is_written(prejoin: Prejoin, teams: Path) -> None:
    key = "Assignment has key `TEAM#{teamId}` and `{userId}`"
    call = ("design", "--decide", "Assignment lives under User", "--decide", key, "--yes")
    ran = prejoin(*call)
    assert ran.status == 1
    assert "error PJ030: these cannot all hold: the decision: Assignment lives under User; the decision: Ass" in ran.err
    assert not designed(teams.parent).exists()
    (found,) = prejoin(*call, "--format", "json").json["result"]["conflicts"]
    assert {one["kind"] for one in found} == {"decision"}
    ran = prejoin("design", "--decide", "User lives under Team")
    assert "error PJ030: this cannot hold: the decision: User lives under Team" in ran.err


@pytest.mark.slow
def test_unserved_pattern_is_reported_with_a_remedy(prejoin: Prejoin, teams: Path) -> None:
    call = ("design", "--no-proof", "--at-most", "0 GSIs", "--at-most", "0 copies")
    ran = prejoin(*call)
    assert ran.status == 1
    assert "is not served" in ran.out
    assert "To serve it:" in ran.out
    assert "  - the decision: no GSIs" in ran.out
    assert "not served: AP-0" in ran.err
    result = prejoin(*call, "--format", "json").json
    lost = [one["pattern"] for one in result["result"]["unserved"]]
    assert lost
    assert [d["message"].split()[0] for d in result["diagnostics"] if d["code"] == "PJ031"] == lost
    assert all(d["line"] for d in result["diagnostics"] if d["code"] == "PJ031")
    assert result["result"]["conflicts"]


@pytest.mark.slow
def test_out_of_scope_pattern_is_not_a_failure(prejoin: Prejoin, teams: Path) -> None:
    limits = ("--at-most", "0 GSIs", "--at-most", "0 copies")
    found = prejoin("design", "--no-proof", *limits, "--format", "json").json["result"]["unserved"]
    aside = [word for one in found for word in ("--decide", f"{one['pattern']} is out of scope")]
    ran = prejoin("design", "--no-proof", *limits, *aside)
    assert ran.status == 0, ran.err
    assert "out of scope" in ran.out


# --- Questions ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_question_about_the_keys_is_answered_without_running_them(prejoin: Prejoin, teams: Path) -> None:
    asked = prejoin("design", "--why", "Assignment", "--format", "json")
    assert "proof" not in asked.json["result"]
    assert prejoin("design", "--why", "Assignment", "--yes").status == 0
    assert "not run" not in (teams.parent / "table-design.md").read_text("utf-8")


def test_questions_are_answered_and_nothing_is_written(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("design", "--no-proof", "--why", "Assignment", "--drop", "AP-003", "--alternatives")
    assert ran.status == 0
    assert ran.out.startswith("Assignment: `")
    assert "\nwithout AP-003: " in ran.out
    assert "the table: at most 1 GSI" in ran.out
    assert prejoin("design", "--no-proof", "--explain").out.startswith("The table\n=========\n")
    assert not designed(teams.parent).exists()


@pytest.mark.parametrize("question", [("--explain",), ("--why", "Assignment"), ("--drop", "AP-003")])
def test_questions_say_whether_the_proof_ran(prejoin: Prejoin, teams: Path, question: tuple[str, ...]) -> None:
    ran = prejoin("design", "--no-proof", *question)
    assert "Not proven: `--no-proof` was given." in ran.err
    if question[0] == "--why":
        assert "Proven: 11 patterns run " in prejoin("design", *question).err


@pytest.mark.parametrize(
    ("question", "most"), [(("--explain",), None), (("--why", "Assignment"), None), (("--why", "AP-003"), 1)]
)
def test_questions_solve_nothing_twice_and_nothing_that_they_do_not_show(
    prejoin: Prejoin, teams: Path, monkeypatch: pytest.MonkeyPatch, question: tuple[str, ...], most: int | None
) -> None:
    solved: list[str] = []
    remembered = design_table.solve  # by all tests of this run

    def counted(workload: Workload, *more: Any, **options: Any) -> Solution:
        solved.append(repr(workload))
        return remembered(workload, *more, **options)

    for module in USERS:
        monkeypatch.setattr(module, "solve", counted)
    assert prejoin("design", "--no-proof").status == 0
    of_design = len(solved)
    solved.clear()
    assert prejoin("design", "--no-proof", *question).status == 0
    assert len(set(solved)) == len(solved) < of_design
    assert most is None or len(solved) == most  # the explanation of a pattern has no alternatives


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("--why", "Asignment"), "did you mean `Assignment`?"),
        (("--drop", "AP-03"), "there is no access pattern `AP-03`"),
    ],
)
def test_unknown_topic_suggests_a_similar_one(
    prejoin: Prejoin, teams: Path, call: tuple[str, ...], message: str
) -> None:
    ran = prejoin("design", "--no-proof", *call)
    assert ran.status == 2
    assert message in ran.err


# --- Growth ---------------------------------------------------------------------------------------------------------

ZOO = ("--entity", "Animal: animalId (uuid, id), species (string), bornAt (datetime)", "--read", "Animal by species")
MORE = (
    "--entity",
    "Keeper: keeperId (uuid, id), name (string)",
    "--read",
    "Keeper by name",
    "--read",
    "Animal by bornAt",
)


def test_approved_design_stays_and_migration_steps_are_listed(prejoin: Prejoin, here: Path) -> None:
    prejoin("init", *ZOO)
    prejoin("design", "--yes")
    before = prejoin("design", "--no-proof", "--format", "json").json["result"]["design"]
    prejoin("init", "grown.md", "--from", "access-patterns.md", *MORE)
    ran = prejoin("design", "grown.md", "--keep", "table-design.md", "--yes")
    assert ran.status == 0, ran.err
    assert "  - create the index `gsi2`, with the keys gsi2pk and gsi2sk (ALL)" in ran.out
    assert "  - Keeper is new" in ran.out
    assert "Animal items that may exist, write gsi2pk and gsi2sk in each" in ran.out
    again = prejoin("design", "grown.md", "--keep", "table-design.md", "--format", "json").json["result"]
    assert again["growth"] == {}
    after = {(i["entity"], f["slot"]): f for i in again["design"]["items"] for f in i["facets"]}
    for item in before["items"]:
        for facet in item["facets"]:
            assert after[item["entity"], facet["slot"]] == facet


def test_unreadable_design_to_keep_is_reported(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("design", "--keep", "nowhere.md")
    assert ran.status == 1
    assert "nowhere.md cannot be read" in ran.err
    (teams.parent / "broken.md").write_text("# Nothing\n", "utf-8")
    ran = prejoin("design", "--keep", "broken.md")
    assert ran.status == 1
    assert "broken.md cannot be kept; nothing was designed" in ran.err


# --- Unusual documents ------------------------------------------------------------------------------------------------


def test_a_document_with_errors_is_not_designed(prejoin: Prejoin, wrong: Path) -> None:
    ran = prejoin("design", "wrong.md", "--yes")
    assert (ran.status, ran.out) == (1, "")
    assert "`strng` is not a type" in ran.err
    assert "the document has errors; nothing was designed" in ran.err
    assert not designed(wrong.parent).exists()


def test_without_a_document_it_says_so(prejoin: Prejoin, here: Path) -> None:
    ran = prejoin("design")
    assert ran.status == 2
    assert "there is no `access-patterns.md` here" in ran.err


def test_one_entity_that_is_only_written_is_a_table_too(prejoin: Prejoin, here: Path) -> None:
    (here / "access-patterns.md").write_text(
        "# Notes\n\n## Entities\n\n### Note\n\n- **Attributes**:\n  - `noteId` (uuid, id)\n\n## Access Patterns\n\n"
        "### Writes\n\n| ID | Entity | Description | Input Parameters | Items Written |\n| --- | --- | --- | --- | --- |\n"
        "| AP-020 | Note | Write a note | noteId | create Note |\n",
        "utf-8",
    )
    ran = prejoin("design", "--yes")
    assert ran.status == 0, ran.err
    assert "1 of 1 patterns served" in ran.out
    assert prejoin("check", "table-design.md", "--strict").status == 0


def test_frontier_is_printed_with_commands_and_drawn_with_yes(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("design", "--no-proof", "--frontier")
    assert ran.out.startswith("Complexity  GSIs  Copies  A month  Decisions")
    assert "(chosen)" in ran.out
    assert not designed(teams.parent).exists()
    ran = prejoin("design", "--no-proof", "--frontier", "--yes", "--format", "json")
    assert ran.json["result"]["chart"] == "table-design-frontier.svg"
    assert "designs to choose from" in (teams.parent / "table-design-frontier.svg").read_text("utf-8")
    chosen = [one for one in ran.json["result"]["frontier"] if one["chosen"]]
    assert [one["command"] for one in chosen] == ["prejoin design access-patterns.md"]


# --- For scripts --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_json_holds_all_of_it(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("design", "--format", "json")
    assert (ran.status, ran.err) == (0, "")
    jsonschema.Draft202012Validator(envelope_schema()).validate(ran.json)
    result = ran.json["result"]
    assert {
        "design", "bill", "explanation", "unserved", "conflicts", "fit", "proof", "growth", "score", "exact", "search", "bound",
        "seconds", "decided", "document", "output",
    } <= set(result)  # fmt: skip
    assert result["proof"]["right"] is True
    assert len(result["proof"]["patterns"]) == 11
    assert result["exact"] is False, "there may be keys beyond the candidates"
    assert result["search"]["ended"] is True
    assert result["search"]["candidates"] > 0
    assert result["bound"]["complexity"] == 2.5, "two indexes and a guard"
    assert result["output"] is None
    assert {o["pattern"] for o in result["design"]["operations"]} == {p["pattern"] for p in result["bill"]["patterns"]}
    assert result["bill"]["total"] == pytest.approx(result["bill"]["requests"] + result["bill"]["storage"])


# --- On a terminal --------------------------------------------------------------------------------------------------------


def test_a_design_is_approved_after_questions_and_decisions(teams: Path) -> None:
    terminal = Terminal("design", "--no-proof", folder=teams.parent, NO_COLOR="1")
    terminal.expect("Entities in one partition")
    terminal.expect("Write it to table-design.md? [y/n")
    terminal.send("why Assignment\n")
    terminal.expect("The sort key has `teamId`")
    terminal.send("why Nothing\n")
    terminal.expect("There is no entity, index, copy or access pattern `Nothing`")
    terminal.send("pin make it nice\n")
    terminal.expect("This is not a decision: `make it nice` is not a decision")
    terminal.send("pin User has key `A#{userId}` and `X`\n")
    terminal.expect("Changes")
    terminal.expect("User in the table is at `A#{userId} / X`")
    terminal.send("User lives under Team\n")  # `pin` may be left out
    terminal.expect("This contradicts other statements, so nothing has changed.")
    terminal.send("undo\n")
    terminal.expect("was `A#{userId} / X`")
    terminal.send("at most 1 GSIs\n")
    terminal.expect("`gsi2` is gone")
    terminal.expect("Decided: at most 1 GSIs.")
    terminal.send("nonsense\n")
    terminal.expect("`help` lists the commands.")
    terminal.send("help\n")
    terminal.expect("forbid copies for Order")
    assert not designed(teams.parent).exists()
    terminal.send("y\n")
    terminal.expect("Add to the Decisions of access-patterns.md: at most 1 GSIs? [y/n]")
    terminal.send("y\n")
    terminal.expect("wrote table-design.md")
    assert terminal.status() == 0
    assert AtMost("GSIs", 1) in [d.pin for d in read_file(teams).workload.decisions]
    assert len(read_design_file(designed(teams.parent), read_file(teams).workload).design.indexes) == 1


@pytest.mark.slow
def test_edits_during_the_questions_are_kept(teams: Path) -> None:
    terminal = Terminal("design", "--no-proof", folder=teams.parent, NO_COLOR="1")
    terminal.expect("[y/n")
    terminal.send("drop AP-003\n")
    terminal.expect("without AP-003: ")
    terminal.send("alternatives\n")
    terminal.expect("month")
    terminal.send("minimise money\n")
    terminal.expect("Decided")
    teams.write_text(teams.read_text("utf-8") + "- Edited by Ann.\n", "utf-8")
    terminal.send("y\n")
    terminal.expect("Add to the Decisions")
    terminal.send("y\n")
    terminal.expect("access-patterns.md has changed meanwhile")
    assert terminal.status() == 0
    assert "Edited by Ann." in teams.read_text("utf-8")
    assert "- minimise money\n" in teams.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "statuses"),
    [("\x03", {130, -signal.SIGINT}), ("n\n", {0}), ("\x04", {0})],  # a second Ctrl-C may come while Python ends
)
def test_quitting_changes_nothing(teams: Path, keys: str, statuses: set[int]) -> None:
    before = teams.read_bytes()
    terminal = Terminal("design", "--no-proof", folder=teams.parent, NO_COLOR="1")
    terminal.expect("[y/n")
    terminal.send("forbid copies\n")
    terminal.expect("`undo` removes it.")
    terminal.expect("help] ")
    terminal.send(keys)
    assert terminal.status(again=keys) in statuses
    assert teams.read_bytes() == before
    assert [path.name for path in teams.parent.iterdir()] == ["access-patterns.md"]


# --- Answers in JSON, time limit, progress --------------------------------------------------------------------------


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("call", "keys"),
    [
        (("--why", "Assignment"), {"why"}),
        (("--drop", "AP-003"), {"dropped"}),
        (("--alternatives",), {"alternatives"}),
        (("--frontier",), {"frontier"}),
        (("--explain",), {"explanation"}),
        (("--why", "User", "--why", "Team", "--drop", "AP-003"), {"why", "dropped"}),
    ],
)
def test_json_output_has_only_the_answer(prejoin: Prejoin, teams: Path, call: tuple[str, ...], keys: set[str]) -> None:
    result = prejoin("design", *call, "--format", "json").json["result"]
    assert set(result) == {"document", "decided"} | keys
    defs = envelope_schema()["$defs"]
    schema = {"$ref": "#/$defs/DesignAnswers", "$defs": defs}
    jsonschema.validate(result, schema)
    for one in result.get("why", ()):
        assert one["topic"] in call
        assert one["text"].startswith(one["topic"])
    for one in result.get("dropped", ()):
        assert one["text"].startswith("without AP-003: ")


def test_written_answer_names_its_file(prejoin: Prejoin, teams: Path) -> None:
    result = prejoin("design", "--why", "User", "--yes", "--format", "json").json["result"]
    assert result["output"] == "table-design.md"
    assert designed(teams.parent).exists()


def test_time_limit_gives_the_best_design_found_or_none(prejoin: Prejoin, teams: Path) -> None:
    whole = prejoin("design", "--no-proof", "--format", "json").json["result"]
    assert whole["reproducible"] is True
    ran = prejoin("design", "--no-proof", "--time-limit", "600", "--format", "json")
    assert ran.json["result"]["design"] == whole["design"]
    assert ran.json["result"]["reproducible"] is True
    ran = prejoin("design", "--no-proof", "--time-limit", "0.0001", "--format", "json")
    (diagnostic,) = [one for one in ran.json["diagnostics"] if one["code"] == "PJ036"]
    if ran.status == 0:  # a selection was found in the extra time for the first one
        assert (diagnostic["severity"], ran.json["result"]["reproducible"], ran.json["result"]["exact"]) == (
            "warning",
            False,
            False,
        )
    else:
        assert (ran.status, diagnostic["severity"], diagnostic["message"]) == (
            1,
            "error",
            "no design was found in 0.0001 s",
        )


def test_program_keeps_its_choice_when_the_time_is_over() -> None:
    limit = TimeLimit(1000)
    program = IntegerProgram(limit)
    bread, cake = program.choice(), program.choice()
    program.at_least(1, {bread: 1, cake: 1})
    assert program.minimise({bread: 1, cake: 5}) == 1
    limit._end = limit.seconds = 0  # as if the time had elapsed
    assert program.minimise({bread: 7}) == 7
    assert (program.chosen, limit.struck) == ({bread}, True)
    with pytest.raises(OutOfTimeError):
        late = IntegerProgram(TimeLimit(0))
        late.at_least(1, {late.choice(): 1})
        late.minimise({})


def test_long_design_in_a_pipe_tells_how_far_it_is(
    prejoin: Prejoin, teams: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prejoin.cli.progress.PIPE_PATIENCE", 0.001)
    monkeypatch.setattr("prejoin.pipeline.design.design_table.solve", solve)  # it is slow
    ran = prejoin("design", "--no-proof", "--format", "json")
    assert ran.json["ok"]
    assert re.search(r"^\d+ s: choosing keys", ran.err, re.MULTILINE)


@pytest.mark.slow
def test_bound_of_a_design_cut_short_holds(teams: Path) -> None:
    """At any time limit, no bound is above the result of the whole search."""
    workload = read_file(teams).workload
    best = complexity(workload, solve(workload).design)
    seen = set()
    for after in range(40):

        class Counting(TimeLimit):
            """A limit that expires after a number of checks, so that the test is the same on every machine."""

            looks = 0

            @property
            def left(self) -> float:
                self.looks += 1
                return 1000.0 if self.looks <= after else -1.0  # noqa: B023

        limit = Counting(1000)
        found = solve(workload, limit=limit)
        assert found.chosen.least <= best <= complexity(workload, found.design) or found.chosen.unserved
        assert found.chosen.is_complete is not limit.struck
        seen.add(limit.struck)
    assert True in seen
