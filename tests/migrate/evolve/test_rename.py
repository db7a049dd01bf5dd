"""Attributes are renamed while the application runs: no value is lost, whoever writes it under which name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, CodecError, InputError, history
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.plan import steps_of
from prejoin.migrate.evolve.rename_work import RenameAction, decide
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from tests.migrate.evolve.club import Club, club
from tests.migrate.evolve.test_attributes import Worker, evolve, stored

FORMS = {
    "required": ("`nick` (string, mutable)", "`alias` (string, mutable, renamed from nick)"),
    "optional": ("`nick` (string, optional, mutable)", "`alias` (string, optional, mutable, renamed from nick)"),
    "default": (
        '`nick` (string, mutable, default="a")',
        '`alias` (string, mutable, default="a", renamed from nick)',
    ),
    "enum": ("`nick` (a | b | c, mutable)", "`alias` (a | b | c, mutable, renamed from nick)"),
}


def renaming(form: str = "required", place: str = "") -> Transition:
    was, now = FORMS[form]
    return plan_transition(club("OLD", was, place), club("NEW", now, place))


def run(transition: Transition, step: Any, application: Club, folder: Path) -> StepResult:
    client = Client(transition.old.package.schema, "club", application.engine)
    with evolution_of(transition, client, state=folder) as evolution:
        result: StepResult = step(evolution)
        return result


def client_of(version: CodeVersion, application: Club) -> Client:
    return Client(version.package.schema, "club", application.engine)


def insert(version: CodeVersion, application: Club, member: str, /, **values: Any) -> None:
    record = version.package.record("Member", {"memberId": member, "team": "t0", "score": 1, **values})
    client_of(version, application).insert(record)


def change(version: CodeVersion, application: Club, member: str, field: str, value: str) -> None:
    with client_of(version, application).update(version.package.classes["Member"], member_id=member) as draft:
        setattr(draft, field, value)


@pytest.mark.everyday(3)
@pytest.mark.parametrize("place", ["", "index", "copy"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("direction", ["forward", "back"])
def test_every_version_reads_the_right_value(form: str, place: str, direction: str, tmp_path: Path) -> None:
    was, now = FORMS[form]
    old, new = club("OLD", was, place), club("NEW", now, place)
    names = ("nick", "alias")
    if direction == "back":
        old, new, names = new, old, ("alias", "nick")
    transition = plan_transition(old, new)
    assert [version.name for version in transition.versions][:2] == ["prepare", "switch"]
    application = Club(transition, names, seed=len(form) + len(place))
    result = evolve(transition, application, tmp_path)
    assert result.undecided == []
    assert application.checked > 300
    client = client_of(transition.new, application)
    assert list(audit(client)) == []
    items = stored(application)
    assert len(items) > 5
    for name, item in items.items():
        assert names[0] not in item
        assert not any(attribute.startswith("~") for attribute in item)
        assert item.get(names[1], {}).get("S") == application.members[name]["nick"]
    bystander = client.call("GetItem", {"Key": {"pk": {"S": "TEAM#t0"}, "sk": {"S": "TEAM"}}})["Item"]
    assert bystander == application.bystander


@pytest.mark.parametrize("version", ["switch", "prepare"])
def test_without_the_versions_between_the_application_fails(version: str, tmp_path: Path) -> None:
    transition = renaming()
    without = {"switch": replace(transition, needs_switch=False), "prepare": replace(transition, needs_prepare=False)}
    transition = without[version]
    with pytest.raises((CodecError, AssertionError)):
        evolve(transition, Club(transition, ("nick", "alias"), seed=1), tmp_path)


def test_unique_value_stays_unique_under_its_new_name(tmp_path: Path) -> None:
    transition = renaming(place="guard")
    application = Club(transition, ("nick", "alias"), seed=1)
    for number in range(9):
        insert(transition.old, application, f"m{number}", nick=f"n{number}")
    for step in (Evolution.backfill, Evolution.clean):
        assert run(transition, step, application, tmp_path).undecided == []
    with pytest.raises(Exception, match="another Member has alias 'n3' already"):
        insert(transition.new, application, "m10", alias="n3")


def test_plan_says_what_is_copied_and_deleted() -> None:
    steps = {step.kind: step.text for step in steps_of(renaming())}
    assert "copy Member.nick to alias" in steps["backfill"]
    assert "delete the attribute nick of Member" in steps["clean"]


# --- Code that knows one name ---------------------------------------------------------------------------------------


def test_forgotten_job_of_old_is_carried_over_and_a_conflict_is_reported(tmp_path: Path) -> None:
    transition = renaming()
    application = Club(transition, ("nick", "alias"), seed=1)
    for member in ("same", "by-old", "by-new", "by-both", "to-the-same"):
        insert(transition.old, application, member, nick="first")
    assert run(transition, Evolution.backfill, application, tmp_path).written["renamed"] == 5
    insert(transition.old, application, "of-old", nick="late")
    insert(transition.new, application, "of-new", alias="new")
    change(transition.old, application, "by-old", "nick", "late")
    change(transition.new, application, "by-new", "alias", "new")
    for member, late in (("by-both", "late"), ("to-the-same", "new")):
        change(transition.old, application, member, "nick", late)
        change(transition.new, application, member, "alias", "new")
    result = run(transition, Evolution.clean, application, tmp_path)
    assert [finding.key["pk"]["S"] for finding in result.undecided] == ["MEMBER#by-both"]
    assert "nick and alias were both changed" in str(result.undecided[0])
    values = {name: (item.get("nick", {}).get("S"), item["alias"]["S"]) for name, item in stored(application).items()}
    assert values == {
        "same": (None, "first"),
        "by-old": (None, "late"),
        "of-old": (None, "late"),
        "by-new": (None, "new"),
        "of-new": (None, "new"),
        "by-both": ("late", "new"),
        "to-the-same": (None, "new"),
    }
    change(transition.switch, application, "by-both", "alias", "decided")
    assert run(transition, Evolution.clean, application, tmp_path).undecided == []
    assert stored(application)["by-both"]["alias"] == {"S": "decided"}


def test_repeated_backfill_keeps_what_new_wrote(tmp_path: Path) -> None:
    transition = renaming()
    application = Club(transition, ("nick", "alias"), seed=1)
    insert(transition.old, application, "m0", nick="first")
    run(transition, Evolution.backfill, application, tmp_path)
    change(transition.new, application, "m0", "alias", "new")
    insert(transition.new, application, "m1", alias="new")
    result = run(transition, Evolution.backfill, application, tmp_path)
    assert (result.undecided, result.written) == ([], {})
    assert run(transition, Evolution.clean, application, tmp_path).undecided == []
    assert {name: item["alias"]["S"] for name, item in stored(application).items()} == {"m0": "new", "m1": "new"}


def test_way_back_half_way_keeps_what_new_wrote(tmp_path: Path) -> None:
    transition = renaming()
    application = Club(transition, ("nick", "alias"), seed=1)
    for member in ("m0", "m1"):
        insert(transition.old, application, member, nick="first")
    run(transition, Evolution.backfill, application, tmp_path)
    change(transition.new, application, "m0", "alias", "new")
    insert(transition.new, application, "m2", alias="new")
    back = abort_on(client_of(transition.old, application), transition, tmp_path)
    assert back is not None
    for step in (Evolution.backfill, Evolution.clean):
        assert run(back, step, application, tmp_path).undecided == []
    values = {name: item["nick"]["S"] for name, item in stored(application).items()}
    assert values == {"m0": "new", "m1": "first", "m2": "new"}
    assert not any("alias" in item for item in stored(application).values())


def test_kills_do_no_harm_when_a_step_is_repeated(tmp_path: Path) -> None:
    transition = renaming("optional", "index")
    application = Club(transition, ("nick", "alias"), seed=7)
    worker = Worker(transition, application, tmp_path)
    application.run(transition.old)
    for _ in range(30):
        application.act()
    application.run(transition.prepare)
    for _ in range(3):
        assert worker.run(Evolution.backfill).undecided == []
    application.run(transition.prepare, transition.switch)
    for _ in range(20):
        application.act()


V: dict[str, Any] = {"S": "v"}
W: dict[str, Any] = {"S": "w"}
X: dict[str, Any] = {"S": "x"}
NULL: dict[str, Any] = {"NULL": True}


@pytest.mark.parametrize(
    ("old", "new", "mark", "before", "at_end"),
    [
        (None, None, None, RenameAction.NOTHING, RenameAction.NOTHING),
        (None, None, NULL, RenameAction.NOTHING, RenameAction.REMOVE_OLD),
        (V, None, None, RenameAction.COPY, RenameAction.COPY),
        (None, V, None, RenameAction.NOTHING, RenameAction.NOTHING),
        (V, V, None, RenameAction.COPY, RenameAction.REMOVE_OLD),
        (V, W, None, RenameAction.CONFLICT, RenameAction.CONFLICT),
        (V, V, V, RenameAction.NOTHING, RenameAction.REMOVE_OLD),
        (W, V, V, RenameAction.COPY, RenameAction.COPY),
        (None, V, V, RenameAction.COPY, RenameAction.COPY),
        (V, W, V, RenameAction.NOTHING, RenameAction.REMOVE_OLD),
        (V, None, V, RenameAction.NOTHING, RenameAction.REMOVE_OLD),
        (W, X, V, RenameAction.CONFLICT, RenameAction.CONFLICT),
        (W, W, V, RenameAction.COPY, RenameAction.REMOVE_OLD),
        (W, None, NULL, RenameAction.COPY, RenameAction.COPY),
        (None, W, NULL, RenameAction.NOTHING, RenameAction.REMOVE_OLD),
    ],
)
def test_what_is_done_with_two_names(old: Any, new: Any, mark: Any, before: RenameAction, at_end: RenameAction) -> None:
    assert decide(old, new, mark, at_end=False) is before
    assert decide(old, new, mark, at_end=True) is at_end


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            "`nick` (string, mutable)",
            "`alias` (string, optional, mutable, renamed from nick)",
            "rename it in one change",
        ),
        ("`nick` (set of string)", "`alias` (set of string, renamed from nick)", "is a set"),
        ("`nick` (string, mutable)", "`alias` (string, mutable)", "write `renamed from nick`"),
        ("`nick` (string, mutable)", "`alias` (integer, mutable)", "make it optional"),
    ],
)
def test_other_renames_are_refused_with_a_way(was: str, now: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_transition(club("OLD", was), club("NEW", now))


# --- Histories ------------------------------------------------------------------------------------------------------

_HISTORY = "\n- `version` (integer, mutable)\n- **History**: 5 versions"


@pytest.mark.parametrize("form", ["required", "default"])
def test_earlier_versions_are_renamed_and_filled(form: str, tmp_path: Path) -> None:
    was, now = (attribute + _HISTORY for attribute in FORMS[form])
    transition = plan_transition(club("OLD", was), club("NEW", now))
    application = Club(transition, ("nick", "alias"), seed=1)
    insert(transition.old, application, "m0", nick="first", version=0)
    cls = transition.old.package.classes["Member"]
    for nick in ("second", "third"):
        with client_of(transition.old, application).update(cls, member_id="m0", read=True) as member:
            member.nick = nick
    for step in (Evolution.backfill, Evolution.clean):
        assert run(transition, step, application, tmp_path).undecided == []
    new = client_of(transition.new, application)
    versions = history(new, transition.new.package.classes["Member"], member_id="m0")
    assert [one.alias for one in versions] == ["second", "first"]  # the backfill itself makes no version
    member = new.get(transition.new.package.classes["Member"], member_id="m0")
    assert (member.alias, member.version) == ("third", 3)
    items = client_of(transition.new, application).call("Scan")["Items"]
    assert not any("nick" in item.get("object", {}).get("M", {}) for item in items)
