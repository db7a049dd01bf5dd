"""A value becomes unique that several items have: the plan names them, a rule decides which one has the guard."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prejoin import Changes, Client, ConditionFailed, Embedded, NotFound, NotUnique, audit
from prejoin.design.document.write_document import write_document
from prejoin.migrate.evolve import duplicates as module
from prejoin.migrate.evolve import passes
from prejoin.migrate.evolve.duplicates import DuplicateDecisions, duplicates_in, read_rule
from prejoin.migrate.evolve.items import evolution_of
from prejoin.migrate.evolve.transition import Transition, plan_transition
from prejoin.pipeline.errors import InvalidArgumentError
from tests.cli.conftest import Prejoin, prejoin  # noqa: F401 - a fixture
from tests.migrate.evolve.application import Killed
from tests.migrate.evolve.shop import MANY, NEW, OLD, few, many
from tests.migrate.evolve.shop import version as shop_version

PLACE = ("old", "new", "--db", "shop.db")
EMAILS = {"u0": "x", "u1": "x", "u2": "x", "u3": "y", "u4": "y", "u5": "z", "u6": "w"}
"""Two groups of users with the same email, and two others."""
NAMES = {"u0": "C", "u1": "A", "u2": "B", "u3": "D", "u4": "D", "u5": "F", "u6": "G"}
"""The oldest of the first group is u1; those of the second are equally old."""


def user_key(user: str) -> dict[str, Any]:
    return {"pk": {"S": f"USER#{user}"}, "sk": {"S": "USER"}}


def guard_key(email: str) -> dict[str, Any]:
    return {"pk": {"S": f"UNIQUE#User#email#{email}"}, "sk": {"S": "UNIQUE"}}


def fill(client: Client, found: Transition) -> None:
    client.create_table()
    for user, email in EMAILS.items():
        client.insert(found.old.package.record("User", {"userId": user, "email": email, "name": NAMES[user]}))


def owners(client: Client) -> dict[str, str]:
    """The users that have a guard, by their emails."""
    stored = client.call("Scan", {"ConsistentRead": True})["Items"]
    guards = [item for item in stored if item["entityType"]["S"] == "User unique email"]
    return {
        item["pk"]["S"].removeprefix("UNIQUE#User#email#"): item["owner"]["M"]["pk"]["S"].removeprefix("USER#")
        for item in guards
    }


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders with a document and a design, and a file with a table of the first."""
    found = plan_transition(few("OLD"), many("NEW"))
    for name, text, version in (("old", OLD, found.old), ("new", NEW, found.new)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "access-patterns.md").write_text(text, encoding="utf-8")
        (folder / "table-design.md").write_text(write_document(version.design, version.workload), encoding="utf-8")
    with Embedded(str(tmp_path / "shop.db")) as engine:
        fill(Client(found.old.package.schema, "shop", engine), found)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def owners_in_file() -> dict[str, str]:
    with Embedded("shop.db") as engine:
        return owners(Client(few("OLD").package.schema, "shop", engine))


def lines(file: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


# --- Before the change ----------------------------------------------------------------------------------------------


def test_plan_names_all_items_that_share_a_value(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("evolve", "plan", *PLACE)
    assert ran.status == 0
    assert "same value: User unique email UNIQUE#User#email#x / UNIQUE: USER#u0 / USER, USER#u1 / USER, " in ran.out
    assert ran.out.count("same value: ") == 2
    assert "5 of 7 items share 2 values that the new design makes unique" in ran.err
    found = prejoin("evolve", "plan", *PLACE, "--format", "json").json["result"]["duplicates"]
    assert {name: found[name] for name in ("read", "groups", "items")} == {"read": 7, "groups": 2, "items": 5}
    assert found["listed"][1] == {
        "unique": "User unique email",
        "guard": guard_key("y"),
        "count": 2,
        "items": [user_key("u3"), user_key("u4")],
    }
    assert owners_in_file() == {}


def test_plan_counts_more_than_it_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LISTED", 4)
    monkeypatch.setattr(module, "_BATCH", 2)
    found = plan_transition(few("OLD"), many("NEW"))
    with Embedded() as engine:
        client = Client(found.old.package.schema, "shop", engine)
        fill(client, found)
        report = duplicates_in(client, found)
    assert (report.read, report.groups, report.items) == (7, 2, 5)
    assert [(group.count, len(group.items)) for group in report.listed] == [(3, 3), (2, 1)]
    assert str(report.listed[1]).endswith(": USER#u3 / USER and 1 more")


def test_plan_reads_no_table_if_nothing_becomes_unique(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    shutil.copytree("old", "same")
    ran = prejoin("evolve", "plan", "old", "same", "--db", "shop.db", "--format", "json")
    assert ran.json["result"]["duplicates"] is None


# --- Rules ----------------------------------------------------------------------------------------------------------


def test_backfill_names_both_items_of_each_pair_and_is_not_done(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *PLACE)
    ran = prejoin("evolve", "backfill", *PLACE, "--yes", "--duplicates-report", "open.jsonl")
    assert ran.status == 1
    assert "3 items need a decision" in ran.err
    held = owners_in_file()
    pairs = {
        f"taken: User unique email UNIQUE#User#email#{email} / UNIQUE: USER#{held[email]} / USER has it, and "
        f"USER#{user} / USER has the same value: change or delete one of them"
        for user, email in EMAILS.items()
        if held[email] != user
    }
    assert len(pairs) == 3
    assert {line for line in ran.out.splitlines() if line.startswith("taken")} == pairs
    assert {(line["key"]["pk"]["S"], line["decided"]) for line in lines("open.jsonl")} == {
        (f"USER#{user}", False) for user, email in EMAILS.items() if held[email] != user
    }
    result = prejoin("evolve", "backfill", *PLACE, "--yes", "--format", "json").json["result"]
    assert [(one["holder"], one["by"]) for one in result["undecided"] if one["key"] == guard_key("y")] in (
        [(user_key("u3"), user_key("u4"))],
        [(user_key("u4"), user_key("u3"))],
    )
    refused = prejoin("evolve", "clean", *PLACE, "--yes")
    assert (refused.status, "the backfill is not finished" in refused.err) == (4, True)


def test_all_open_pairs_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(passes, "MOST_SHOWN", 2)
    found = plan_transition(few("OLD"), many("NEW"))
    with Embedded() as engine:
        client = Client(found.old.package.schema, "shop", engine)
        fill(client, found)
        with evolution_of(found, client, state=tmp_path) as evolution:
            evolution.add_indexes()
            result = evolution.backfill()
    assert (len(result.undecided), result.undecided_count) == (2, 3)


def test_the_oldest_keeps_its_value_and_the_others_are_listed(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *PLACE)
    options = ("--yes", "--duplicates", "keep-oldest:name", "--duplicates-report", "rest.jsonl")
    for moved in (True, False):
        ran = prejoin("evolve", "backfill", *PLACE, *options, "--format", "json")
        assert ran.status == 0, ran.err
        assert owners_in_file() == {"x": "u1", "y": "u3", "z": "u5", "w": "u6"}
        assert (ran.json["result"]["kept"], ran.json["result"]["undecided_count"]) == (3, 0)
        assert moved or ran.json["result"]["written"] == {}
        assert sorted(line["key"]["pk"]["S"] for line in lines("rest.jsonl")) == ["USER#u0", "USER#u2", "USER#u4"]
        assert {line["owner"]["pk"]["S"] for line in lines("rest.jsonl")} == {"USER#u1", "USER#u3"}
    assert not Path("rest.jsonl.part").exists()
    cleaned = prejoin("evolve", "clean", *PLACE, "--yes")
    assert cleaned.status == 0, cleaned.err
    assert "3 items without a guard" in cleaned.err
    assert "applied" in prejoin("evolve", "log", "new", "--db", "shop.db").out
    with Embedded("shop.db") as engine:
        client = Client(many("NEW").package.schema, "shop", engine)
        assert [finding.kind for finding in audit(client)] == ["taken"] * 3
        stored = {item["userId"]["S"]: item["email"]["S"] for item in client.call("Scan")["Items"] if "userId" in item}
    assert stored == EMAILS


def test_later_change_without_a_backfill_passes_over_them(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *PLACE)
    for step in ("backfill", "clean"):
        assert prejoin("evolve", step, *PLACE, "--yes", "--duplicates", "keep-first").status == 0
    held = owners_in_file()
    without_language = NEW.replace('- `language` (string, mutable, default="en")\n', "")
    next_version = shop_version("next", without_language, MANY)
    (projects / "next").mkdir()
    (projects / "next/access-patterns.md").write_text(without_language, encoding="utf-8")
    page = write_document(next_version.design, next_version.workload)
    (projects / "next/table-design.md").write_text(page, encoding="utf-8")
    later = ("new", "next", "--db", "shop.db", "--yes")
    steps = prejoin("evolve", "plan", *later[:-1], "--format", "json").json["result"]["steps"]
    assert [step["kind"] for step in steps] == ["deploy", "clean"]
    refused = prejoin("evolve", "clean", *later)
    assert (refused.status, "or decide with `--duplicates`" in refused.err) == (1, True)
    assert prejoin("evolve", "clean", *later, "--duplicates", "keep-first").status == 0
    assert owners_in_file() == held


def test_first_come_first_served_moves_no_guard(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *PLACE)
    assert prejoin("evolve", "backfill", *PLACE, "--yes").status == 1
    held = owners_in_file()
    ran = prejoin("evolve", "backfill", *PLACE, "--yes", "--duplicates", "keep-first")
    assert ran.status == 0, ran.err
    assert "nothing was written" in ran.err
    assert owners_in_file() == held
    # Without the rule, the same items are open again.
    assert prejoin("evolve", "backfill", *PLACE, "--yes").status == 1
    assert prejoin("evolve", "clean", *PLACE, "--yes").status == 4


def test_a_list_decides_for_the_guards_in_it(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    prejoin("evolve", "indexes", *PLACE)
    prejoin("evolve", "backfill", *PLACE, "--yes", "--duplicates-report", "open.jsonl")
    of_x = [line | {"owner": user_key("u2")} for line in lines("open.jsonl") if line["guard"] == guard_key("x")]
    Path("rule.jsonl").write_text("\n".join(msgspec.json.encode(line).decode() for line in of_x), encoding="utf-8")
    ran = prejoin("evolve", "backfill", *PLACE, "--yes", "--duplicates", "rule.jsonl", "--format", "json")
    assert (ran.status, owners_in_file()["x"]) == (1, "u2")
    result = ran.json["result"]
    assert (result["kept"], result["undecided_count"]) == (2, 1)
    of_y = {"guard": guard_key("y"), "owner": user_key("u4")}
    with Path("rule.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"\n{msgspec.json.encode(of_y).decode()}\n")
    ran = prejoin("evolve", "backfill", *PLACE, "--yes", "--duplicates", "rule.jsonl")
    assert ran.status == 0, ran.err
    assert owners_in_file() == {"x": "u2", "y": "u4", "z": "u5", "w": "u6"}


def test_rules_that_cannot_decide_are_refused(projects: Path, prejoin: Prejoin) -> None:  # noqa: F811
    found = plan_transition(few("OLD"), many("NEW"))
    twice = [{"guard": guard_key("x"), "owner": user_key(user)} for user in ("u0", "u1")]
    Path("twice").write_text("\n".join(msgspec.json.encode(line).decode() for line in twice), encoding="utf-8")
    Path("text").write_text("u0\n", encoding="utf-8")
    for text, problem in {
        "keep-oldest:birthday": "no entity with a unique value has the attribute 'birthday'",
        "keep-newest": "is no rule, and no file of owners",
        "text": "is no rule, and no file of owners",
        "twice": "line 2 gives UNIQUE#User#email#x / UNIQUE to another item",
    }.items():
        with pytest.raises(InvalidArgumentError, match=problem):
            read_rule(text, found)
    assert prejoin("evolve", "backfill", *PLACE, "--yes", "--duplicates", "text").status == 2
    nowhere = prejoin("evolve", "backfill", *PLACE, "--yes", "--duplicates-report", "nowhere/rest.jsonl")
    assert (nowhere.status, "there is no folder nowhere" in nowhere.err) == (2, True)
    assert owners_in_file() == {}


# --- While the application writes -----------------------------------------------------------------------------------


class Writers:
    """A transport beside which code of two versions changes users, and which is killed sometimes."""

    concurrent = False

    def __init__(self, engine: Embedded, clients: list[Client], classes: list[Any], seed: int) -> None:
        self.engine = engine
        self.clients = clients
        self.classes = classes
        self.random = random.Random(seed)
        self.users = {user: (email, NAMES[user]) for user, email in EMAILS.items()}
        self.kill = 0.03
        self.refused = 0

    def send(self, operation: str, body: bytes) -> bytes:
        if self.random.random() < 0.3:
            self.act()
        if self.random.random() < self.kill:
            raise Killed
        return self.engine.send(operation, body)

    def close(self) -> None:
        pass

    def act(self) -> None:
        """Writes with code of one version, and notes what was written."""
        client, cls = self.random.choice(list(zip(self.clients, self.classes, strict=True)))
        user = f"u{self.random.randrange(9)}"
        email = self.random.choice("xyzvw")
        name = self.random.choice("ABCDEFG")
        verb = self.random.choice(("insert", "email", "name", "delete"))
        try:
            match verb:
                case "insert":
                    client.insert(cls(user_id=user, email=email, name=name))
                    self.users[user] = email, name
                case "email":
                    client.apply(cls, Changes({"email": email}), user_id=user, read=True)
                    self.users[user] = email, self.users[user][1]
                case "name":
                    client.apply(cls, Changes({"name": name}), user_id=user, read=True)
                    self.users[user] = self.users[user][0], name
                case _:
                    client.delete(cls, user_id=user, read=True)
                    self.users.pop(user, None)
        except (ConditionFailed, NotFound) as error:
            self.refused += isinstance(error, NotUnique)


def users(client: Client) -> Iterator[tuple[str, tuple[str, str]]]:
    for item in client.call("Scan", {"ConsistentRead": True})["Items"]:
        if item["entityType"]["S"] == "User":
            yield item["userId"]["S"], (item["email"]["S"], item["name"]["S"])


@pytest.mark.everyday(1)
@pytest.mark.parametrize("seed", range(40))
def test_guards_are_right_after_a_backfill_beside_writers(seed: int, tmp_path: Path) -> None:
    """Code of OLD and `prepare` writes during the backfill. When OLD has ended, one more run makes all guards right."""
    found = plan_transition(few("OLD"), many("NEW"))
    engine = Embedded()
    old = Client(found.old.package.schema, "shop", engine)
    fill(old, found)
    prepare = Client(found.prepare.package.schema, "shop", engine)
    classes = [found.old.package.classes["User"], found.prepare.package.classes["User"]]
    writers = Writers(engine, [old, prepare], classes, seed)
    client = Client(found.old.package.schema, "shop", writers)
    with evolution_of(found, old, state=tmp_path) as evolution:
        evolution.add_indexes()
    for is_last in (False, False, True):
        if is_last:
            writers.clients, writers.classes = [prepare], classes[1:]
        while True:
            try:
                with evolution_of(found, client, state=tmp_path) as evolution:
                    evolution.duplicates = DuplicateDecisions(read_rule("keep-oldest:name", found), tmp_path / "rest")
                    evolution.backfill()
                break
            except Killed:
                continue
    assert dict(users(old)) == writers.users
    # An owner may have given up its value since the backfill met the others of its group.
    assert all(writers.users[user][0] == email for email, user in owners(old).items())
    with evolution_of(found, old, state=tmp_path) as evolution:
        evolution.duplicates = DuplicateDecisions(read_rule("keep-oldest:name", found), tmp_path / "rest")
        result = evolution.backfill()
    assert result.undecided == []
    assert set(owners(old)) == {email for email, _ in writers.users.values()}
    for email, owner in owners(old).items():
        group = [(name, user) for user, (of, name) in writers.users.items() if of == email]
        assert (writers.users[owner][1], owner) == min(group)
    rest = [msgspec.json.decode(line) for line in (tmp_path / "rest").read_text(encoding="utf-8").splitlines()]
    assert len(rest) == result.kept == len(writers.users) - len(owners(old))
    assert all(line["decided"] for line in rest)
