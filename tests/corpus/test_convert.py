"""The converter: each field of the corpus form, optional fields, and errors that name a field."""

from __future__ import annotations

import contextlib
import copy
import doctest
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples

from corpus import references, source, writes
from corpus.convert import convert, convert_file, convert_folder
from corpus.source import CorpusError, Fields
from prejoin.types import Kind
from prejoin.workload.document.write_document import UnwritableError, write_document
from prejoin.workload.files import read_text
from prejoin.workload.model import (
    Absence,
    Cardinality,
    ChangeOp,
    Combine,
    Direction,
    Level,
    Op,
    OutOfScope,
    Per,
    Presence,
    Read,
    RelationshipKind,
    Result,
    Uniqueness,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.shorthand import write_out

T = TypeVar("T")
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "convert_corpus.py"

SMALL = """
name: small
title: A small thing
author: Somebody
source: [a book, "https://example.org/page"]
kind: single_table
notes: Made up for a test
quality: invented
entities:
  - {name: User, id: [username], attributes: {username: S, email: S, score: N, followers: N}, unique: [email],
     mutable: [score], immutable: [email], count: 1000, size_bytes: 2048, field_bytes: {email: 50}}
  - {name: Photo, id: [username, photoId], attributes: {username: S, photoId: S, at: S, likeCount: N, tags: SS, raw: B},
     parent: User, relationship: "1:N, at most 100 per user", notes: "photoId is a ULID; at is a timestamp"}
  - {name: Like, id: [photoId, likingUsername], attributes: {photoId: S, likingUsername: S, expires: N, owner: S},
     relationship: "M:N User-Photo (hearts)", ttl: expires, optional: [owner], volume: "~20 per photo, ~1M total",
     derived: {owner: via photo}}
  - {name: Setting, singleton: true, attributes: {theme: S, flags: M}, enum: {theme: [DARK, LIGHT]}}
access_patterns:
  - {id: A1, name: photosOfUser, kind: read, entities: [Photo], given: [username], range: {attr: at, op: between},
     sort: {attr: at, dir: desc}, filter: {tags: contains}, limit: 10, returns: many, needs: [photoId, at],
     frequency: hot, paginated: true, description: newest first, notes: on the profile, stated: implied}
  - {id: A2, name: likersWithProfiles, kind: read, entities: [User, Like], given: [photoId], returns: many, weight: 3}
  - {id: A3, name: userWithPhotos, kind: read, entities: [User, Photo], given: [username], returns: many}
  - {id: A4, name: like, kind: write, action: transaction, entities: [Like, Photo], given: [photoId, likingUsername],
     sets: [likeCount], condition: "one like per user, user exists, at most 5 a day",
     rate: {daily: 5000, peak_per_s: 3}}
  - {id: A5, name: setScore, kind: write, action: update, entities: [User], given: [username], sets: [score],
     condition: "score < newScore"}
  - {id: A6, name: signUp, kind: write, action: create, entities: [User], given: [username],
     condition: username and email unique}
  - {id: A7, name: dropLikes, kind: write, action: delete, entities: [Like], given: [photoId]}
  - {id: A8, name: report, kind: read, entities: [User], given: [], returns: many, out_of_scope: true}
expert_solution: {table: {pk: PK, sk: SK}, secret: the answer}
observations: [the answer is good]
"""


def converted(text: str = SMALL) -> Workload:
    return convert(Fields(yaml.safe_load(text), "small.yaml"))


def changed(**fields: object) -> Workload:
    """The small file with its first read changed."""
    data = yaml.safe_load(SMALL)
    data["access_patterns"][0] |= fields
    return convert(Fields(data, "small.yaml"))


def read(workload: Workload, id_: str) -> Read:
    pattern = workload.pattern(id_)
    assert isinstance(pattern, Read)
    return pattern


def write(workload: Workload, id_: str) -> Write:
    pattern = workload.pattern(id_)
    assert isinstance(pattern, Write)
    return pattern


def carried(convert: Callable[[], T], where: str) -> T | None:
    """The result of a conversion; None if it refuses a field by name."""
    try:
        return convert()
    except CorpusError as refused:
        if not str(refused).startswith(where):
            raise
        return None


# --- What is carried --------------------------------------------------------------------------------------------------


def test_converted_document_has_every_pattern_and_no_errors() -> None:
    workload = converted()
    assert [p.id for p in workload.patterns] == ["A1", "A2", "A3", "A8", "A4", "A5", "A6", "A7"]
    document = write_document(workload)
    reading = read_text(document, "md")
    assert reading.workload == write_out(workload)
    assert [d for d in reading.diagnostics if d.severity == "error"] == []


def test_the_header_has_source_author_and_kind_and_the_solution_stays_out() -> None:
    workload = converted()
    assert workload.title == "A small thing"
    assert workload.header == {
        "Source": "a book; https://example.org/page",
        "Author": "Somebody",
        "Kind": "single_table",
        "Quality": "invented",
    }
    assert workload.notes == "Made up for a test."
    assert "answer" not in write_document(workload)


def test_types_and_flags_of_attributes() -> None:
    user, photo, like, setting = converted().entities
    email, score = user.attribute("email"), user.attribute("score")
    assert email is not None
    assert score is not None
    assert (email.unique, email.mutable, email.size) == (True, False, 50)
    assert (score.type.kind, score.mutable) == (Kind.NUMBER, True)
    assert [str(a.type) for a in photo.attributes] == [
        "string", "ulid", "datetime", "number", "set of string", "binary",
    ]  # fmt: skip
    assert [(a.name, a.generated) for a in photo.id] == [("username", None), ("photoId", True)]
    assert [(a.ttl, a.optional) for a in like.attributes] == [
        (False, False),
        (False, False),
        (True, False),
        (False, True),
    ]
    assert setting.singleton
    assert not setting.id
    assert setting.attributes[0].type.values == ("DARK", "LIGHT")


def test_references_are_found_by_name_by_role_and_through_composite_ids() -> None:
    _, photo, like, _ = converted().entities
    assert {a.name: a.references for e in (photo, like) for a in e.attributes if a.references} == {
        "username": "User",
        "photoId": "Photo.photoId",
        "likingUsername": "User",
    }
    held = like.attribute("photoId")
    assert held is not None
    assert held.type.kind is Kind.ULID


def test_an_id_that_begins_with_its_own_entity_is_not_a_role_of_another() -> None:
    session = references.Shape("Session", ("sessionId",), ("sessionId",))
    child = references.Shape("ChildSession", ("sessionId", "childSessionId"), ("sessionId", "childSessionId"))
    references.find_references([session, child])
    assert child.found == {"sessionId": "Session"}


def test_common_name_is_not_a_reference() -> None:
    country = references.Shape("Country", ("name",), ("name",))
    user = references.Shape("User", ("userId",), ("userId", "name", "companyName"))
    references.find_references([country, user])
    assert user.found == {}


def test_an_id_called_id_is_held_under_the_name_of_its_entity() -> None:
    user = references.Shape("User", ("id",), ("id",))
    team = references.Shape("Team", ("id",), ("id", "ownerUserId", "user_id", "avoid"))
    references.find_references([user, team])
    assert team.found == {"ownerUserId": "User", "user_id": "User"}


def test_relationships_are_exact_where_the_prose_is() -> None:
    _, photo, like, _ = converted().entities
    assert [(r.left, r.kind, r.right, r.via) for r in photo.relationships] == [
        ("User", RelationshipKind.ONE_TO_MANY, "Photo", ("username",))
    ]
    assert photo.cardinality == (Cardinality(100, "User", at_most=True),)
    between = like.relationships[0]
    assert (between.kind, between.via, between.text) == (RelationshipKind.MANY_TO_MANY, ("Like",), "(hearts)")
    assert like.cardinality == (Cardinality(20, "Photo"), Cardinality(1_000_000))


def test_prose_about_a_relationship_that_is_not_exact_is_kept() -> None:
    workload = converted(SMALL.replace("1:N, at most 100 per user", "1:N, sometimes shared"))
    assert workload.entities[1].verbatim == {"Relationship in words": "1:N, sometimes shared"}


def test_a_read_with_every_field() -> None:
    a1 = read(converted(), "A1")
    assert [(i.attribute, i.op, i.filter) for i in a1.inputs] == [
        ("username", Op.EQ, False),
        ("at", Op.BETWEEN, False),
        ("tags", Op.CONTAINS, True),
    ]
    assert (a1.result, a1.needs, a1.limit, a1.paginated) == (Result.MANY, ("photoId", "at"), 10, True)
    assert (a1.sort[0].attribute, a1.sort[0].direction) == ("at", Direction.DESC)
    assert (a1.name, a1.description, a1.verbatim) == (
        "photosOfUser",
        "newest first (on the profile)",
        {"Stated": "implied"},
    )
    assert a1.rate is not None
    assert a1.rate.level is Level.HOT


def test_join_lists_the_referring_entity_first() -> None:
    a2 = read(converted(), "A2")
    assert (a2.entities, a2.combine) == (("Like", "User"), Combine.JOIN)
    assert a2.rate is not None
    assert a2.rate.weight == 3


def test_entities_with_the_same_input_are_a_collection() -> None:
    assert read(converted(), "A3").combine is Combine.COLLECTION


def test_a_counter_beside_a_created_item_goes_up() -> None:
    a4 = write(converted(), "A4")
    create, update = a4.actions
    assert (create.verb, create.entity, update.verb, update.entity) == (Verb.CREATE, "Like", Verb.UPDATE, "Photo")
    assert [(c.attribute, c.op, c.value) for c in update.changes] == [("likeCount", ChangeOp.ADD, Value(const="1"))]
    assert a4.atomic is True
    assert a4.rate is not None
    assert (a4.rate.value, a4.rate.per, a4.rate.peak) == (5000, Per.DAY, 3)


def test_inexact_conditions_are_kept_in_words() -> None:
    a4, a5, a6 = (write(converted(), id_) for id_ in ("A4", "A5", "A6"))
    assert list(a4.checks) == [Absence(entity="Like"), Presence(entity="User")]
    assert a4.verbatim == {"Condition in words": "at most 5 a day"}
    assert (a5.checks[0].attribute, a5.checks[0].op, a5.checks[0].values) == (
        "score",
        Op.LT,
        (Value(param="newScore"),),
    )
    assert list(a6.checks) == [Uniqueness(attribute="username"), Uniqueness(attribute="email")]


def test_values_of_an_update_are_inputs() -> None:
    assert [i.attribute for i in write(converted(), "A5").inputs] == ["username", "score", "newScore"]


def test_a_delete_without_the_whole_id_deletes_several() -> None:
    workload = converted()
    assert workload.deletes[0].actions[0].verb is Verb.DELETE
    assert workload.deletes[0].actions[0].many


def test_out_of_scope_pattern_is_a_decision() -> None:
    assert [d.pin for d in converted().decisions] == [OutOfScope("A8")]


def test_an_id_that_changes_is_not_an_id() -> None:
    text = SMALL.replace("{name: User, id: [username]", "{name: User, id: [username, score]")
    user = converted(text).entities[0]
    assert [a.name for a in user.id] == ["username"]
    assert "`score`" in user.description


def test_expiry_filters_and_constants() -> None:
    workload = changed(
        filter={"tags": "not expired", "at": {"op": "gt", "value": "2024-01-01"}}, given={"username": "x"}
    )
    inputs = read(workload, "A1").inputs
    assert [(i.attribute, i.op, i.values) for i in inputs if i.filter] == [
        ("tags", Op.GT, (Value(now=0),)),
        ("at", Op.GT, (Value(const="2024-01-01"),)),
    ]
    assert inputs[0].values == (Value(const="x"),)


def test_prose_that_yaml_cuts_at_a_comma_is_put_together_again() -> None:
    text = SMALL.replace("description: newest first,", "description: newest first, then older ones,")
    assert read(converted(text), "A1").description == "newest first, then older ones (on the profile)"


# --- Conclusions ------------------------------------------------------------------------------------------------------


def described(*entities: str, patterns: str = "") -> Workload:
    """A workload of entities in flow form, and of patterns."""
    listed = ", ".join(entities)
    return converted(f"{{name: small, entities: [{listed}], access_patterns: [{patterns}]}}")


def generated(workload: Workload, entity: str) -> dict[str, bool | None]:
    found = workload.entity(entity)
    assert found is not None
    return {a.name: a.generated for a in found.id}


def test_unusual_id_is_generated_and_others_are_natural() -> None:
    workload = described(
        "{name: Order, id: [orderId], attributes: {orderId: S}}",
        "{name: OrderItem, id: [orderId, itemId], attributes: {orderId: S, itemId: S}, parent: Order}",
        "{name: Book, id: [isbn], attributes: {isbn: S}}",
        "{name: DeviceLog, id: [deviceId, at], attributes: {deviceId: S, at: S}}",
        "{name: Account, id: [accountId], attributes: {accountId: S}, unique: [accountId]}",
    )
    assert generated(workload, "Order") == {"orderId": True}
    assert generated(workload, "OrderItem") == {"orderId": None, "itemId": True}
    assert generated(workload, "Book") == {"isbn": False}
    assert generated(workload, "DeviceLog") == {"deviceId": False, "at": False}
    assert generated(workload, "Account") == {"accountId": False}


def test_entities_asked_for_together_hold_the_same_value() -> None:
    entities = (
        "{name: Office, id: [officeName], attributes: {officeName: S}}",
        "{name: Employee, id: [badge], attributes: {badge: S, officeName: S}}",
    )
    apart = described(*entities).entities[1].attribute("officeName")
    asked = "{id: A1, entities: [Office, Employee], given: [officeName], returns: many}"
    together = described(*entities, patterns=asked).entities[1].attribute("officeName")
    assert apart is not None
    assert together is not None
    assert (apart.references, together.references) == ("", "Office")


def test_child_has_the_attributes_of_its_parents_id() -> None:
    workload = described(
        "{name: Team, id: [teamName], attributes: {teamName: S}}",
        "{name: Player, id: [teamName, shirt], attributes: {teamName: S, shirt: N}, parent: Team}",
        "{name: Goal, id: [goalId], attributes: {goalId: S, teamName: S, shirt: N}, parent: Player}",
    )
    held = {a.name: a.references for a in workload.entities[2].attributes if a.references}
    assert held == {"teamName": "Team", "shirt": "Player.shirt"}


def test_entity_between_two_owns_neither_id() -> None:
    workload = described(
        "{name: Room, id: [roomId], attributes: {roomId: S}}",
        "{name: Member, id: [userId, roomId], attributes: {userId: S, roomId: S}, relationship: 'M:N User-Room'}",
        "{name: Comment, id: [userId, at], attributes: {userId: S, at: S}}",
    )
    assert [a.references for a in workload.entities[2].id] == ["", ""]


def test_each_end_of_an_edge_has_its_own_counter() -> None:
    workload = described(
        "{name: User, id: [username], attributes: {username: S, followerCount: N, followingCount: N}}",
        "{name: Follow, id: [followed, following], attributes: {followed: S, following: S}, relationship: 'M:N User-User'}",
        patterns="{id: W, name: follow, kind: write, action: transaction, entities: [Follow, User], "
        "given: [followed, following], sets: [followerCount, followingCount]}",
    )
    updates = [(a.changes[0].attribute, a.by) for a in write(workload, "W").actions if a.verb is Verb.UPDATE]
    assert updates == [("followerCount", ("followed",)), ("followingCount", ("following",))]


def test_pattern_on_another_table_is_out_of_scope() -> None:
    patterns = (
        "{id: A1, entities: [A], given: [k], stated: bonus challenge on the archive table}, "
        "{id: A2, entities: [A], given: [k], stated: seen in the base table}"
    )
    workload = described("{name: A, id: [k], attributes: {k: S}}", patterns=patterns)
    assert [d.pin for d in workload.decisions] == [OutOfScope("A1")]


# --- Leniency ---------------------------------------------------------------------------------------------------------


def test_unknown_fields_are_kept_under_distinct_names() -> None:
    data = yaml.safe_load(SMALL)
    data["entities"][0] |= {"sizes": ["small", "large"], "colour": "red"}
    data["access_patterns"][0] |= {"results": {"a": 1}, "seen_in": "a talk"}
    data["reviewed_by"] = "a friend"
    workload = convert(Fields(data, "small.yaml"))
    assert workload.entities[0].verbatim == {"Sizes in words": "small, large", "Colour": "red"}
    assert workload.reads[0].verbatim == {"Stated": "implied", "Results in words": "a: 1", "Seen in": "a talk"}
    assert workload.header["Reviewed by"] == "a friend"
    assert read_text(write_document(workload), "md").workload == write_out(workload)


def test_a_parent_that_is_not_described_is_kept_as_a_label() -> None:
    photo = converted(SMALL.replace("parent: User", "parent: Person")).entities[1]
    assert photo.verbatim["Parent"] == "Person"


def test_ranges_and_filters_may_be_written_as_the_document_writes_them() -> None:
    a1 = read(changed(range="at last 7 days", filter="likeCount > 3"), "A1")
    assert [(i.attribute, i.op, i.filter) for i in a1.inputs[1:]] == [("at", Op.GE, False), ("likeCount", Op.GT, True)]
    assert a1.inputs[1].values == (Value(now=-604_800),)


def test_unspecified_update_may_change_all_but_the_id() -> None:
    workload = converted(SMALL.replace("sets: [score],", "").replace("mutable: [score], ", ""))
    assert [c.attribute for c in write(workload, "A5").actions[0].changes] == ["score", "followers"]


def test_verb_may_come_from_the_kind_and_a_type_may_have_a_remark() -> None:
    text = SMALL.replace("kind: write, action: delete", "kind: delete").replace("score: N,", "score: N (0 to 100),")
    workload = converted(text)
    assert [p.id for p in workload.deletes] == ["A7"]
    score = workload.entities[0].attribute("score")
    assert score is not None
    assert (score.type.kind, score.text) == (Kind.NUMBER, "0 to 100")


def test_minimal_file_is_converted() -> None:
    workload = converted(
        "{entities: [{name: A, id: [k], attributes: [k, v]}], access_patterns: [{id: 1, entities: [A], given: k}]}"
    )
    assert workload.entities[0].attributes[1].name == "v"
    assert (workload.reads[0].id, workload.reads[0].result) == ("1", Result.ONE)


def test_a_file_without_a_name_is_named_after_itself(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("{title: T, entities: [{name: A, id: [k], attributes: {k: S}}], access_patterns: []}")
    assert convert_file(path)[0] == "mine"


# --- Refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("op: between", "op: near", "access_patterns[0] (A1): range: op: `near` is not an operator"),
        ("dir: desc", "dir: up", "access_patterns[0] (A1): sort: dir: `up` is not a direction"),
        ("returns: many, needs", "returns: some, needs", "(A1): returns: `some` is not one, many or count"),
        ("tags: contains", "tags: like this", "(A1): filter.tags: op: `like this` is not an operator"),
        ("limit: 10", "limit: ten", "(A1): limit: 'ten' is not a number"),
        ("kind: read, entities: [Photo]", "kind: guess, entities: [Photo]", "(A1): kind: `guess`"),
        ("[Photo], given: [username], range", "[Foto], given: [username], range", "no entity `Foto`"),
        ("sets: [score]", "sets: [skore]", "(A5): sets: no entity of it has `skore`"),
        ("action: delete", "action: shred", "(A7): action: `shred`"),
        ("tags: SS", "tags: TAGS", "entities[1] (Photo): attributes.tags: `TAGS` is not a type"),
        ("mutable: [score]", "mutable: [skore]", "(User): mutable: `skore` is not an attribute of User"),
        ("range: {attr: at, op: between}", "range: at nearly", "(A1): range: `nearly` is not understood after `at`"),
        ("{id: A2,", "{id: A1,", "access_patterns: `A1` is there twice"),
        ("given: [photoId], returns", "given: [yes], returns", "(A2): given: True is not a name"),
        ("attributes: {theme: S", "attributes: {on: S", "True is not a text; put it in quotes"),
        ("{name: Setting, ", "{", "entities[3]: name: is missing"),
        ("id: A3, ", "", "access_patterns[2]: id: is missing"),
    ],
)  # fmt: skip
def test_unsupported_field_is_refused_with_file_and_name(old: str, new: str, message: str) -> None:
    assert SMALL.count(old) == 1
    with pytest.raises(CorpusError) as refused:
        converted(SMALL.replace(old, new))
    assert str(refused.value).startswith("small.yaml: ")
    assert message in str(refused.value)


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "C:\\x", "a\nb", "x" * 200])
def test_invalid_folder_name_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    data = yaml.safe_load(SMALL) | {"name": name}
    (tmp_path / "in" / ".yaml").write_text("")
    (tmp_path / "in" / "-x.yaml").write_text(yaml.safe_dump(data))
    reported: list[str] = []
    assert not convert_folder(tmp_path / "in", tmp_path / "out", reported.append)
    assert any("-x.yaml: name:" in line for line in reported)
    assert sorted(p.name for p in tmp_path.rglob("*.md")) == []


@pytest.mark.parametrize("entity", ["A | B", "A`B", "A\nB", "**Size**: 3", "# A"])
def test_names_that_markdown_cannot_carry_are_carried_or_refused_never_bent(entity: str, tmp_path: Path) -> None:
    data = yaml.safe_load("{name: n, entities: [{name: A, id: [k], attributes: {k: S}}], access_patterns: []}")
    data["entities"][0]["name"] = entity
    data["access_patterns"] = [{"id": "P", "kind": "read", "entities": [entity], "given": ["k"], "returns": "one"}]
    path = tmp_path / "n.yaml"
    path.write_text(yaml.safe_dump(data))
    found = carried(lambda: convert_file(path), "n.yaml: ")
    if found:
        _, workload, document = found
        assert read_text(document, "md").workload == write_out(workload)
        assert workload.entities[0].name == entity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not YAML"),
        ("- 1", "holds no mapping"),
        ("name: x\nname: y", "`name` is there twice"),
        ("!!python/object/apply:os.system [ls]", "is not YAML"),
        ("name: x", "entities: is missing"),
        ("\x00", "is not YAML"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(CorpusError, match=r"^bad\.yaml: ") as refused:
        convert_file(path)
    assert message in str(refused.value)


@pytest.mark.slow
def test_script_writes_convertible_files_and_reports_others(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "good.yaml").write_text(SMALL)
    (folder / "bad.yaml").write_text("entities: 3")
    done = subprocess.run(
        [sys.executable, SCRIPT, folder, tmp_path / "out"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "error: bad.yaml: entities: is not a list" in done.stderr
    assert (tmp_path / "out" / "small" / "access-patterns.md").read_text("utf-8") == write_document(converted())
    (folder / "bad.yaml").unlink()
    again = subprocess.run(
        [sys.executable, SCRIPT, folder, tmp_path / "out"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0
    assert subprocess.run([sys.executable, SCRIPT], capture_output=True, check=False).returncode == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_file_with_anything_changed_is_carried_or_refused_never_a_traceback(data: st.DataObject) -> None:
    document = copy.deepcopy(yaml.safe_load(SMALL))
    place = data.draw(st.sampled_from(["", "entities", "access_patterns"]))
    target = document if not place else data.draw(st.sampled_from(document[place]))
    target[data.draw(st.sampled_from([*target, "rate", "sort", "range", "new field"]))] = data.draw(JSON)
    workload = carried(lambda: convert(Fields(document, "small.yaml")), "small.yaml: ")
    if workload:
        with contextlib.suppress(UnwritableError):  # said by name in `convert_file`
            assert read_text(write_document(workload), "md").workload == write_out(workload)


@pytest.mark.parametrize("module", [source, references, writes], ids=lambda m: m.__name__)
def test_the_examples_in_the_converter_are_true(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


LATER = """
name: later
tenant: tenantId, except Plan
entities:
  - {name: User, id: [username], attributes: {username: S, name: S}, default: {name: nobody}}
  - {name: Team, id: [teamName], attributes: {teamName: S, name: S}}
  - {name: Repo, id: [repoId], attributes: {repoId: S, owner: S, kind: S, priority: S}, immutable: [owner],
     references: {owner: [User, Team]}, enum: {kind: [FORK, OWN], priority: [HIGH, LOW]}}
  - {name: Visit, id: [repoId, day], attributes: {repoId: S, day: date, visits: N}, retention: 90 days}
  - {name: Plan, id: [planName], attributes: {planName: S, price: N}}
access_patterns:
  - {id: AP1, kind: read, entities: [Repo], given: [owner], filter: "kind = OWN or priority = HIGH", returns: many}
  - {id: AP2, kind: read, entities: [Visit], given: [repoId], filter: {visits: {op: ">", value: 10, keeps: 5}}}
  - {id: AP3, kind: write, action: upsert, entities: [Visit], given: [repoId, day], sets: [visits], name: count a visit}
  - {id: AP4, kind: write, action: upsert, entities: [Plan], given: [planName]}
  - {id: AP5, kind: read, entities: [Plan], given: [planName], returns: one}
"""


def test_all_constructs_of_the_document_are_converted() -> None:
    workload = convert(Fields(yaml.safe_load(LATER), "later"))
    text = write_document(workload)
    assert [d for d in read_text(text, "md").diagnostics if d.severity == "error"] == []
    assert read_text(text, "md").workload.entities == workload.entities
    assert workload.tenant is not None
    assert workload.tenant.exempt == ("Plan",)
    attributes = {(e.name, a.name): a for e in workload.entities for a in e.attributes}
    owner = attributes["Repo", "owner"]
    assert (owner.references, owner.references_or) == ("User.username", ("Team.teamName",))
    assert attributes["User", "name"].default == "nobody"
    assert {e.name: e.retention for e in workload.entities if e.retention} == {"Visit": 90 * 86_400}
    reads = {read.id: read for read in workload.reads}
    kind, priority = (i for i in reads["AP1"].inputs if i.filter)
    assert (kind.attribute, kind.either, priority.attribute, priority.either) == ("kind", True, "priority", False)
    assert reads["AP2"].inputs[-1].keeps == 5.0
    verbs = {write.id: [action.verb for action in write.actions] for write in workload.writes}
    assert verbs == {"AP3": [Verb.UPSERT], "AP4": [Verb.PUT]}


@pytest.mark.parametrize(
    ("field", "value"), [("retention", "a while"), ("references", {"day": "Nobody"}), ("default", {"colour": "red"})]
)
def test_unsupported_values_are_refused_by_name(field: str, value: object) -> None:
    data = yaml.safe_load(LATER)
    data["entities"][3][field] = value
    with pytest.raises(CorpusError, match=field):
        convert(Fields(data, "later"))
