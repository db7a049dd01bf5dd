"""Attributes change while the application runs: every version of the code reads the right value at every moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, CodecError, InputError, history
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.plan import steps_of
from prejoin.migrate.evolve.transition import Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from tests.migrate.evolve.application import Interleaved, Killed
from tests.migrate.evolve.club import Club, club

REQUIRED = "`nick` (string, mutable)"
DEFAULT = '`nick` (string, mutable, default="a")'
OTHER_DEFAULT = '`nick` (string, mutable, default="b")'
OPTIONAL = "`nick` (string, optional, mutable)"
NONE = ""
FORMS = {
    "optional to default": (OPTIONAL, DEFAULT),
    "optional to required": (OPTIONAL, REQUIRED),
    "default to required": (DEFAULT, REQUIRED),
    "default to optional": (DEFAULT, OPTIONAL),
    "default to another default": (DEFAULT, OTHER_DEFAULT),
    "required to default": (REQUIRED, DEFAULT),
    "required to optional": (REQUIRED, OPTIONAL),
    "optional added": (NONE, OPTIONAL),
    "default added": (NONE, DEFAULT),
    "optional dropped": (OPTIONAL, NONE),
    "default dropped": (DEFAULT, NONE),
}
TYPES = {
    "enum to string": ("`nick` (a | b, mutable)", "`nick` (string, mutable)"),
    "enum grows": ("`nick` (a | b, mutable)", "`nick` (a | b | c, mutable)"),
}
NARROWER = {
    "string to enum": ("`nick` (string, mutable)", "`nick` (a | b, mutable)"),
    "enum shrinks": ("`nick` (a | b | c, mutable)", "`nick` (a | b, mutable)"),
    "enum changes": ("`nick` (a | b | c, mutable)", "`nick` (a | b | d, mutable)"),
}


def evolve(transition: Transition, application: Club, folder: Path) -> StepResult:
    """Runs all steps while the application runs, with deployments during which two versions run, and kills."""
    worker = Worker(transition, application, folder)
    application.run(transition.old)
    for _ in range(30):
        application.act()
    running = transition.old
    worker.run(Evolution.add_indexes)
    has_backfilled = False
    for version in transition.versions:
        if version is not transition.prepare and not has_backfilled and transition.needs_backfill:
            application.run(running)
            result = worker.run(Evolution.backfill)
            has_backfilled = True
            if result.undecided:
                return result
        application.run(running, version)
        for _ in range(15):
            application.act()
        application.run(version)
        running = version
    for _ in range(15):
        application.act()
    result = worker.run(Evolution.clean)
    assert worker.kills > 0
    return result


class Worker:
    """Runs steps of an evolution, and repeats each after a kill."""

    def __init__(self, transition: Transition, application: Club, folder: Path) -> None:
        self.transition = transition
        self.application = application
        self.folder = folder
        self.kills = 0

    def run(self, step: Any) -> StepResult:
        while True:
            transport = Interleaved(self.application, 0.15 / (1 + self.kills / 4))  # type: ignore[arg-type]
            client = Client(self.transition.old.package.schema, "club", transport)
            try:
                with evolution_of(self.transition, client, state=self.folder) as evolution:
                    result: StepResult = step(evolution)
                    return result
            except Killed:
                self.kills += 1


def stored(application: Club) -> dict[str, Any]:
    """The items of members, by their ids."""
    client = Client(application.transition.new.package.schema, "club", application.engine)
    items = client.call("Scan")["Items"]
    return {item["memberId"]["S"]: item for item in items if item["entityType"]["S"] == "Member"}


REFUSED = [("default to optional", "index"), ("default to optional", "copy")]
"""Changes of an attribute in a key that need two steps."""
CASES = [(change, place) for change in FORMS for place in ("", "index", "copy") if (change, place) not in REFUSED]


@pytest.mark.everyday(6)
@pytest.mark.parametrize(("change", "place"), CASES)
def test_every_version_reads_the_right_value(change: str, place: str, tmp_path: Path) -> None:
    was, now = FORMS[change]
    transition = plan_transition(club("OLD", was, place), club("NEW", now, place))
    application = Club(transition, ("nick" if was else "", "nick" if now else ""), seed=len(change))
    if "default=" in was:
        for number in range(20):
            application.add_old_item(f"old{number}", "a")
    if change == "optional to required":
        application.gives_none = False
    result = evolve(transition, application, tmp_path)
    assert result.undecided == []
    assert application.checked > 300
    assert list(audit(Client(transition.new.package.schema, "club", application.engine))) == []
    items = stored(application)
    assert len(items) > 5
    for name, item in items.items():
        value = application.members[name]["nick"]
        expected = None if not now else "a" if value is None and "optional" not in now else value
        assert item.get("nick", {}).get("S") == expected
    client = Client(transition.new.package.schema, "club", application.engine)
    bystander = client.call("GetItem", {"Key": {"pk": {"S": "TEAM#t0"}, "sk": {"S": "TEAM"}}})["Item"]
    assert bystander == application.bystander


@pytest.mark.parametrize("change", FORMS)
def test_way_back_is_planned(change: str) -> None:
    was, now = FORMS[change]
    old, new = club("OLD", was), club("NEW", now)
    steps = steps_of(plan_transition(new, old, plan_transition(old, new).change))
    assert steps[-1].kind == "clean"


def test_items_without_a_required_attribute_are_all_reported(tmp_path: Path) -> None:
    """Each is named, or counted if there are many, and NEW may not be deployed until none is left."""
    transition = plan_transition(club("OLD", OPTIONAL), club("NEW", REQUIRED))
    application = Club(transition, ("nick", "nick"), seed=1)
    client = Client(transition.old.package.schema, "club", application.engine)
    record = transition.old.package.record
    client.put_many(
        record("Member", {"memberId": f"m{number:04}", "team": "t", "score": 1, "nick": "a" if number % 4 else None})
        for number in range(6000)
    )
    with evolution_of(transition, client, state=tmp_path) as evolution:
        result = evolution.backfill()
    assert (len(result.undecided), result.undecided_count) == (1000, 1500)
    assert "unfit: Member MEMBER#" in str(result.undecided[0])
    assert "it has no nick" in str(result.undecided[0])
    with (
        pytest.raises(Exception, match="the backfill is not finished"),
        evolution_of(transition, client, state=tmp_path) as evolution,
    ):
        evolution.clean()
    prepare = Client(transition.prepare.package.schema, "club", application.engine)
    for number in range(0, 6000, 4):
        with prepare.update(transition.prepare.package.classes["Member"], member_id=f"m{number:04}") as member:
            member.nick = "b"
    for step in (Evolution.backfill, Evolution.clean):
        with evolution_of(transition, client, state=tmp_path) as evolution:
            assert step(evolution).undecided_count == 0


def test_version_before_a_required_attribute_always_writes_it() -> None:
    transition = plan_transition(club("OLD", OPTIONAL), club("NEW", REQUIRED))
    assert [step.kind for step in steps_of(transition)] == ["deploy", "backfill", "deploy", "clean"]
    application = Club(transition, ("nick", "nick"), seed=1)
    package = transition.prepare.package
    client = Client(package.schema, "club", application.engine)
    cls = package.classes["Member"]
    for write in (client.insert, client.put):
        with pytest.raises(CodecError, match=r"Member\.nick is None, and the next design"):
            write(cls(member_id="1", team="t", score=1))
    with pytest.raises(CodecError, match=r"Member\.nick is None"):
        client.put_many([cls(member_id="1", team="t", score=1)])
    client.insert(cls(member_id="1", team="t", score=1, nick="a"))
    with pytest.raises(CodecError, match=r"Member\.nick is None"), client.update(cls, member_id="1") as member:
        member.nick = None
    assert any("has to give it" in note for note in transition.notes)


def test_dropping_a_default_fills_items_before_the_new_code() -> None:
    transition = plan_transition(club("OLD", DEFAULT), club("NEW", REQUIRED))
    steps = [(step.kind, step.what, step.running) for step in steps_of(transition)]
    assert steps == [
        ("backfill", "", "`OLD`"),
        ("deploy", "NEW", "`OLD` and `NEW`"),
        ("clean", "", "`NEW`"),
    ]


def test_repeated_backfill_keeps_what_new_left_out(tmp_path: Path) -> None:
    """A default becomes optional: once NEW runs, an item without the attribute stays as it is."""
    transition = plan_transition(club("OLD", DEFAULT), club("NEW", OPTIONAL))
    application = Club(transition, ("nick", "nick"), seed=1)
    application.add_old_item("m0", "a")
    client = Client(transition.new.package.schema, "club", application.engine)
    with evolution_of(transition, client, state=tmp_path) as evolution:
        assert evolution.backfill().written == {"default": 1}
    client.insert(transition.new.package.record("Member", {"memberId": "m1", "team": "t", "score": 1}))
    for step in (Evolution.backfill, Evolution.clean):
        with evolution_of(transition, client, state=tmp_path) as evolution:
            assert step(evolution).written == {}
    assert {name: item.get("nick") for name, item in stored(application).items()} == {"m0": {"S": "a"}, "m1": None}


def test_plan_names_the_attribute_that_is_deleted() -> None:
    transition = plan_transition(club("OLD", OPTIONAL), club("NEW", NONE))
    assert "delete the attribute nick of Member" in steps_of(transition)[-1].text


@pytest.mark.parametrize(
    ("place", "deleted"),
    [
        ("index", "the attribute nick of Member and the keys of Member in gsi2"),
        ("guard", "the attribute nick of Member and the guards of Member's nick"),
        ("copy", "the attribute nick of Member and the copy Member/by-nick"),
        ("", "the attribute nick of Member"),
    ],
)
def test_plan_names_all_that_is_deleted_and_nothing_else(place: str, deleted: str) -> None:
    transition = plan_transition(club("OLD", OPTIONAL, place), club("NEW", NONE))
    text = f"delete {deleted}; verify the rest, and record `NEW` as the design of the table"
    assert steps_of(transition)[-1].text == text


@pytest.mark.parametrize(("change", "place"), REFUSED)
def test_default_in_a_key_does_not_become_optional_at_once(change: str, place: str) -> None:
    was, now = FORMS[change]
    with pytest.raises(InputError, match="is part of a key") as refusal:
        plan_transition(club("OLD", was, place), club("NEW", now, place))
    assert "drop the default in a change before this one" in str(refusal.value)
    for before, after in ((DEFAULT, REQUIRED), (REQUIRED, OPTIONAL)):
        assert steps_of(plan_transition(club("OLD", before, place), club("NEW", after, place)))


# --- Types ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["", "index"])
@pytest.mark.parametrize("change", TYPES)
def test_wider_type_is_read_by_every_version(change: str, place: str, tmp_path: Path) -> None:
    was, now = TYPES[change]
    transition = plan_transition(club("OLD", was, place), club("NEW", now, place))
    application = Club(transition, ("nick", "nick"), seed=len(change))
    application.values = ["a", "b"]
    assert evolve(transition, application, tmp_path).undecided == []
    assert application.checked > 300


@pytest.mark.parametrize("change", NARROWER)
def test_narrower_type_needs_every_item_to_fit(change: str, tmp_path: Path) -> None:
    was, now = NARROWER[change]
    transition = plan_transition(club("OLD", was), club("NEW", now))
    application = Club(transition, ("nick", "nick"), seed=len(change))
    application.values = ["a", "b"]
    client = Client(transition.old.package.schema, "club", application.engine)
    values = {"memberId": "x", "team": "t9", "score": 1, "nick": "c"}
    client.insert(transition.old.package.record("Member", values))
    result = evolve(transition, application, tmp_path)
    assert [finding.key["pk"]["S"] for finding in result.undecided] == ["MEMBER#x"]
    prepare = Client(transition.prepare.package.schema, "club", application.engine)
    cls = transition.prepare.package.classes["Member"]
    with pytest.raises(CodecError, match="accepts only a, b"), prepare.update(cls, member_id="x") as member:
        member.nick = "c"
    with prepare.update(cls, member_id="x") as member:
        member.nick = "a"
    with evolution_of(transition, client, state=tmp_path) as evolution:
        assert evolution.backfill().undecided == []


def test_integer_becomes_decimal(tmp_path: Path) -> None:
    was, now = "`nick` (integer, mutable)", "`nick` (decimal, mutable)"
    transition = plan_transition(club("OLD", was), club("NEW", now))
    application = Club(transition, ("nick", "nick"), seed=3)
    application.values = [1, 2, 3]  # type: ignore[list-item]
    assert evolve(transition, application, tmp_path).undecided == []
    with pytest.raises(InputError, match="part of a key"):
        plan_transition(club("OLD", was, "index"), club("NEW", now, "index"))
    with pytest.raises(InputError, match="make it a decimal"):
        plan_transition(club("OLD", was), club("NEW", "`nick` (number, mutable)"))
    with pytest.raises(InputError, match="with another name"):
        plan_transition(club("OLD", now), club("NEW", was))


# --- Histories ------------------------------------------------------------------------------------------------------

HISTORY = "\n- `version` (integer, mutable)\n- **History**: 5 versions"


def test_earlier_versions_get_the_default_too(tmp_path: Path) -> None:
    transition = plan_transition(club("OLD", DEFAULT + HISTORY), club("NEW", REQUIRED + HISTORY))
    application = Club(transition, ("nick", "nick"), seed=1)
    old = Client(transition.old.package.schema, "club", application.engine)
    old.insert(transition.old.package.record("Member", {"memberId": "m0", "team": "t", "score": 1, "version": 0}))
    key = {"pk": {"S": "MEMBER#m0"}, "sk": {"S": "MEMBER"}}
    with old.update(transition.old.package.classes["Member"], member_id="m0", read=True) as member:
        member.score = 2
    for item in old.call("Scan")["Items"]:
        if "object" in item:
            version_key = {name: item[name] for name in ("pk", "sk")}
            old.call("UpdateItem", {"Key": version_key, "UpdateExpression": "REMOVE #o.nick", **OBJECT})
    old.call("UpdateItem", {"Key": key, "UpdateExpression": "REMOVE nick"})
    for step in (Evolution.backfill, Evolution.clean):
        with evolution_of(transition, old, state=tmp_path) as evolution:
            assert step(evolution).undecided == []
    new = Client(transition.new.package.schema, "club", application.engine)
    versions = history(new, transition.new.package.classes["Member"], member_id="m0")
    assert {one.nick for one in versions} == {"a"}
    assert [one.score for one in versions] == [1]  # the backfill itself makes no version
    member = new.get(transition.new.package.classes["Member"], member_id="m0")
    assert (member.nick, member.score, member.version) == ("a", 2, 2)


OBJECT = {"ExpressionAttributeNames": {"#o": "object"}}


def test_history_that_may_not_fit_is_refused_with_a_way() -> None:
    with pytest.raises(InputError, match="give it a default in NEW"):
        plan_transition(club("OLD", OPTIONAL + HISTORY), club("NEW", REQUIRED + HISTORY))
