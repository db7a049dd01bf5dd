"""Items that nobody could make again stay: earlier versions, shards of counters, parts of contents, items of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, Embedded, RefusedError, history
from prejoin.migrate.evolve import passes
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.table.codec.values import Json
from tests.migrate.evolve.shop import few, many
from tests.migrate.evolve.walks.studio import TABLE_NAME, Studio

TENANT = {"tenantId": "t"}


def client_of(version: CodeVersion, engine: Embedded) -> Client:
    return Client(version.package.schema, TABLE_NAME, engine)


def evolve(transition: Transition, engine: Embedded, folder: Path) -> list[StepResult]:
    """Runs all steps; none leaves a question open."""
    results: list[StepResult] = []
    for step in (Evolution.add_indexes, Evolution.backfill, Evolution.clean):
        with evolution_of(transition, client_of(transition.old, engine), folder) as evolution:
            results.append(step(evolution))
        assert results[-1].undecided == []
    return results


def items_of(engine: Embedded, tag: str, version: CodeVersion) -> list[Json]:
    items = client_of(version, engine).call("Scan")["Items"]
    return [item for item in items if item.get("entityType") == {"S": tag}]


def note_with_versions(version: CodeVersion, engine: Embedded) -> None:
    """A note that was changed four times: the history of three versions is full."""
    client = client_of(version, engine)
    client.create_table()
    client.insert(version.package.record("Note", {**TENANT, "noteId": "n", "text": "0", "version": 0}))
    for number in range(1, 5):
        with client.update(version.package.classes["Note"], read=True, tenant_id="t", note_id="n") as note:
            note.text = str(number)


# --- Histories ------------------------------------------------------------------------------------------------------

CHANGES = {
    "rename": (Studio(), Studio(text="`words` (string, mutable, renamed from text)")),
    "default": (Studio(), Studio(note='`color` (string, mutable, default="red")')),
    "optional": (
        Studio(note="`color` (string, mutable, optional)"),
        Studio(note='`color` (string, mutable, default="red")'),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_backfill_makes_no_version_and_deletes_none(change: str, tmp_path: Path) -> None:
    first, second = CHANGES[change]
    transition = plan_transition(first.version("OLD"), second.version("NEW"))
    engine = Embedded()
    note_with_versions(transition.old, engine)
    evolve(transition, engine, tmp_path)
    client, cls = client_of(transition.new, engine), transition.new.package.classes["Note"]
    name = "words" if change == "rename" else "text"
    note = client.get(cls, tenant_id="t", note_id="n")
    assert (getattr(note, name), note.version) == ("4", 5)
    versions = history(client, cls, tenant_id="t", note_id="n")
    assert [getattr(version, name) for version in versions] == ["3", "2", "1"]


def test_earlier_version_has_the_value_of_the_code_that_ran_beside(tmp_path: Path) -> None:
    """Code of OLD changes one name; `prepare`, which runs beside it, puts that into the history under both names."""
    transition = plan_transition(*(studio.version(name) for studio, name in zip(CHANGES["rename"], "ON", strict=True)))
    engine = Embedded()
    client_of(transition.old, engine).create_table()
    note = {**TENANT, "noteId": "n", "text": "1", "version": 0}
    client_of(transition.prepare, engine).insert(transition.prepare.package.record("Note", note))
    for version, text in ((transition.old, "2"), (transition.prepare, "3")):
        cls = version.package.classes["Note"]
        with client_of(version, engine).update(cls, read=True, tenant_id="t", note_id="n") as draft:
            draft.text = text
    evolve(transition, engine, tmp_path)
    cls = transition.new.package.classes["Note"]
    versions = history(client_of(transition.new, engine), cls, tenant_id="t", note_id="n")
    assert [version.words for version in versions] == ["2", "1"]


def test_history_that_the_new_design_does_not_have_stays(tmp_path: Path) -> None:
    with_history, without = Studio().version("OLD"), Studio(has_history=False).version("NEW")
    engine = Embedded()
    note_with_versions(with_history, engine)
    before = items_of(engine, "Note history", with_history)
    assert len(before) == 3
    evolve(plan_transition(with_history, without), engine, tmp_path)
    assert items_of(engine, "Note history", with_history) == before


# --- Items of others ------------------------------------------------------------------------------------------------


def test_items_of_entities_and_programs_that_no_design_has_stay(tmp_path: Path) -> None:
    with_remarks, without = Studio(has_remarks=True).version("OLD"), Studio(by_status="index").version("NEW")
    engine = Embedded()
    client = client_of(with_remarks, engine)
    client.create_table()
    remark = {**TENANT, "artistId": "a", "remarkId": "r", "words": "w"}
    client.insert(with_remarks.package.record("Remark", remark))
    others: list[Json] = [
        {"pk": {"S": "LOCK"}, "sk": {"S": "1"}, "entityType": {"S": "lock"}},
        {"pk": {"S": "SETTINGS"}, "sk": {"S": "1"}, "gsi2pk": {"S": "x"}},
    ]
    for item in others:
        client.call("PutItem", {"Item": item})
    before = client.call("Scan")["Items"]
    evolve(plan_transition(with_remarks, without), engine, tmp_path)
    after = [item for item in client.call("Scan")["Items"] if item["pk"] != {"S": "PREJOIN#EVOLVE"}]
    assert after == before


# --- Processes ------------------------------------------------------------------------------------------------------


def test_step_that_gave_up_begins_with_the_first_pass_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transition = plan_transition(few("OLD"), many("NEW"))
    engine = Embedded()
    old = Client(transition.old.package.schema, "shop", engine)
    old.create_table()
    old.insert(transition.old.package.record("User", {"userId": "u", "email": "e", "name": "n"}))
    steps: list[Any] = [Evolution.add_indexes, Evolution.backfill]
    monkeypatch.setattr(passes, "MOST_PASSES", 1)  # the first pass repairs, and the second one would verify
    with pytest.raises(RefusedError, match="again and again"):
        for step in steps:
            with evolution_of(transition, old, tmp_path) as evolution:
                step(evolution)
    with evolution_of(transition, old, tmp_path) as evolution:
        assert evolution.backfill().undecided == []


def test_process_that_adds_an_index_which_another_one_has_added_stops(tmp_path: Path) -> None:
    transition = plan_transition(few("OLD"), many("NEW"))
    engine = Embedded()

    class Slow:
        """A transport whose process sleeps before it adds an index, while another one does all of that."""

        concurrent = False
        is_asleep = False

        def send(self, operation: str, body: bytes) -> bytes:
            if operation == "UpdateTable" and not self.is_asleep:
                self.is_asleep = True
                state = Client(transition.old.package.schema, "shop", engine)
                key = {"pk": {"S": "PREJOIN#EVOLVE"}, "sk": {"S": "STATE"}}
                state.call("DeleteItem", {"Key": key})  # its lease is over
                with evolution_of(transition, state, tmp_path) as evolution:
                    evolution.add_indexes()
            return engine.send(operation, body)

        def close(self) -> None:
            pass

    client = Client(transition.old.package.schema, "shop", Slow())
    client.create_table()
    with pytest.raises(RefusedError, match="another process works"), evolution_of(transition, client, tmp_path) as work:
        work.add_indexes()


EXCHANGED = {
    "renamed": (Studio(email="`mail` (string, mutable, renamed from email)"), "the items of the table have email"),
    "moved": (Studio(moved=("Session",)), "the table has items of `first`"),
}


@pytest.mark.parametrize("step", [Evolution.backfill, Evolution.clean])
@pytest.mark.parametrize("change", EXCHANGED)
def test_exchanged_folders_are_refused_beside_entities_that_do_not_change(
    change: str, step: Any, tmp_path: Path
) -> None:
    studio, said = EXCHANGED[change]
    first, second = Studio().version("first"), studio.version("second")
    engine = Embedded()
    client = client_of(first, engine)
    client.create_table()
    artist = {**TENANT, "artistId": "a", "name": "n", "email": "e", "trackCount": 0}
    client.insert(first.package.record("Artist", artist))
    client.insert(first.package.record("Session", {**TENANT, "sessionId": "s", "device": "d", "expiresAt": 4 * 10**9}))
    before = client.call("Scan")["Items"]
    with pytest.raises(RefusedError, match=f"{said}.*: the folders are exchanged"):  # noqa: SIM117
        with evolution_of(plan_transition(second, first), client, tmp_path) as evolution:
            step(evolution)
    assert client.call("Scan")["Items"] == before


def test_abort_removes_what_prepare_wrote_before_the_backfill(tmp_path: Path) -> None:
    transition = plan_transition(Studio().version("first"), Studio(moved=("Session",)).version("second"))
    engine = Embedded()
    client = client_of(transition.old, engine)
    client.create_table()
    with evolution_of(transition, client, tmp_path) as evolution:
        evolution.add_indexes()
    session = {**TENANT, "sessionId": "s", "device": "d", "expiresAt": 4 * 10**9}
    client_of(transition.prepare, engine).insert(transition.prepare.package.record("Session", session))
    back = abort_on(client, transition, tmp_path)
    assert back is not None
    evolve(back, engine, tmp_path)
    assert items_of(engine, "Session2", transition.old) == []
    (item,) = items_of(engine, "Session", transition.old)
    assert "~twin" not in item
