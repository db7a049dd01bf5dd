"""The words of keys: what is read together lies side by side, and in pages the parent is on the first."""

from __future__ import annotations

from typing import Any

import pytest
from tests.solutions import solve

from prejoin import Client
from prejoin.design.layout.key_words import KeyWords, in_this_order
from prejoin.design.model import Design
from prejoin.design.solver.candidates import Candidate
from prejoin.design.solver.placement import OWN, Placement, Selection
from prejoin.design.solver.search import problem_of
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.types import STRING
from prejoin.workload.files import read_text
from prejoin.workload.model import Attribute, Direction, Entity, Input, Read, Result, Sort, Workload


def album(*names: str, direction: Direction | None = None, paginated: bool = True) -> Read:
    """A read of an album with its parts."""
    sort = (Sort("partId", direction),) if direction else ()
    inputs = (Input("albumId"),)
    name = f"AP-{direction or paginated}"
    return Read(name, entities=names, inputs=inputs, result=Result.MANY, sort=sort, paginated=paginated)


def workload(*reads: Read) -> Workload:
    own = Attribute("albumId", STRING, id=True)
    part = (Attribute("albumId", STRING, references="Album"), Attribute("partId", STRING, id=True))
    parts = tuple(Entity(name, attributes=part) for name in ("Track", "Comment", "Accolade"))
    return Workload("Albums", entities=(Entity("Album", attributes=(own,)), *parts), reads=reads)


def words(design: Design) -> dict[str, str]:
    return {item.entity: item.facets[0].sk[0] for item in design.items}


def first_of(design: Design, asked: Workload, read: Read) -> str:
    """The entity that the first page of a read begins with, if a page is one item."""
    made = load_package(asked, design)
    with Embedded() as dynamodb:
        db = Client(made.schema, "albums", dynamodb)
        db.create_table()
        for entity in asked.entities:
            values = dict.fromkeys(made.fields[entity.name].values(), "a")
            db.insert(made.classes[entity.name](**values))
        backwards = bool(read.sort) and read.sort[0].direction is Direction.DESC
        classes = tuple(made.classes[name] for name in read.entities)
        key: dict[str, Any] = {made.fields["Album"]["albumId"]: "a"}
        page = db.collect(classes, limit=1, reverse=backwards, **key)
        return next(name for name, cls in made.classes.items() if isinstance(page.items[0], cls))


@pytest.mark.parametrize("direction", [None, Direction.ASC, Direction.DESC])
@pytest.mark.parametrize("child", ["Track", "Comment", "Accolade"])
def test_the_parent_is_on_the_first_page(child: str, direction: Direction | None) -> None:
    read = album("Album", child, direction=direction)
    asked = workload(read)
    design = solve(asked).design
    operation = design.operation(read.id)
    assert operation is not None
    assert operation.served
    assert first_of(design, asked, read) == "Album"


def test_type_that_sorts_first_has_no_prefix() -> None:
    assert words(solve(workload(album("Album", "Track"))).design)["Album"] == "ALBUM"


def test_type_that_is_not_paginated_has_no_prefix() -> None:
    assert words(solve(workload(album("Album", "Accolade", paginated=False))).design)["Album"] == "ALBUM"


def test_reads_from_both_ends_leave_the_words_alone() -> None:
    both = [album("Album", "Accolade", direction=direction) for direction in Direction]
    assert not any(word.startswith("#") for word in words(solve(workload(*both)).design).values())


DOCUMENT = """# Games

## Entities

### PlayerProfile

- **Attributes**:
  - `playerId` (ulid, generated)
  - `name` (string, mutable)

### Game

- **Attributes**:
  - `gameId` (ulid, generated)
  - `parentId` (ulid, optional, immutable, → Game)
  - `ownerId` (string, immutable)
  - `name` (string, immutable)
  - `active` (boolean, mutable)
  - `level` (integer, mutable)
  - `createdAt` (datetime, immutable)

### Score

- **Attributes**:
  - `playerId` (ulid, natural, → PlayerProfile)
  - `gameId` (ulid, natural, → Game)
  - `at` (datetime, immutable)
- **Relationships**:
  - Game 1:N Score via gameId

### Reading

- **Attributes**:
  - `deviceId` (string, natural)
  - `takenAt` (datetime, natural)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- |
"""


def key_of(entity: str, *reads: str, decisions: str = "", slot: str = "gsi1", copy: bool = False) -> str:
    """The key of an entity, or of its copy, in the design for these reads."""
    rows = "".join(f"| AP-{number:03} | {read} | 5/s |\n" for number, read in enumerate(reads, 1))
    document = read_text(f"{DOCUMENT}{rows}{decisions}", "md")
    assert not any(one.severity == "error" for one in document.diagnostics)
    design = solve(document.workload).design
    assert all(operation.served for operation in design.operations)
    item = next(one for one in design.items if one.entity == entity and bool(one.copy) == copy)
    facet = item.facet(slot)
    assert facet is not None
    return f"{facet.pk[0]} / {facet.sk[0]}"


def test_id_is_named_after_what_it_identifies() -> None:
    player = "PlayerProfile | playerId | Single | -"
    assert key_of("PlayerProfile", player, slot="table") == "PLAYER#{playerId} / PLAYER_PROFILE"
    owner = "Game | ownerId | Collection | createdAt DESC"
    assert key_of("Game", owner, slot="table") == "OWNER#{ownerId} / GAME#{createdAt}#{gameId}"


def test_constants_say_what_they_mean() -> None:
    active = "Game | ownerId, active = {} | Collection | createdAt DESC"
    assert key_of("Game", active.format("true")).startswith("OWNER#{ownerId}#ACTIVE / ")
    assert key_of("Game", active.format("false")).startswith("OWNER#{ownerId}#NOT_ACTIVE / ")
    assert key_of("Game", "Game | active = true | Collection | createdAt DESC").startswith("GAME_ACTIVE / ")
    assert key_of("Game", "Game | ownerId, level = 3 | Collection | createdAt DESC").startswith(
        "OWNER#{ownerId}#LEVEL_3 / "
    )


def test_copy_beside_its_original_is_named_after_its_order() -> None:
    reads = ("Game | gameId | Single | -", "Game | parentId | Collection | name ASC")
    pins = "\n## Decisions\n\n- no GSIs - as an example\n"
    found = key_of("Game", *reads, decisions=pins, slot="table", copy=True)
    assert found == "GAME#{parentId} / GAME_BY_NAME#{name}#{gameId}"


@pytest.mark.parametrize("turned", [False, True])
def test_parents_come_first_whatever_the_order_of_the_document(turned: bool) -> None:
    zoo = Entity("Zoo", attributes=(Attribute("zooId", STRING, id=True),))
    own = (Attribute("animalId", STRING, id=True), Attribute("zooId", STRING, references="Zoo", mutable=False))
    animal = Entity("Animal", attributes=own)
    asked = Workload("Zoos", entities=(animal, zoo) if turned else (zoo, animal))
    placed = Placement("Animal", OWN, 1, Candidate("Animal", ("animalId", "zooId")))
    words = KeyWords(problem_of(asked, ()), Selection((placed,), (), (), 1, 0, 0), "#")
    assert words.partition(placed) == "ZOO#{zooId}#ANIMAL#{animalId}"


def test_items_live_with_their_declared_parent() -> None:
    score = "Score | playerId, gameId | Single | -"
    assert key_of("Score", score, slot="table") == "GAME#{gameId} / SCORE#{playerId}"


def test_series_lives_under_its_owner() -> None:
    reading = "Reading | deviceId, takenAt | Single | -"
    assert key_of("Reading", reading, slot="table") == "DEVICE#{deviceId} / READING#{takenAt}"


def test_order_with_the_fewest_marks_is_chosen() -> None:
    """`Album` and `Track` are read together, and `Comment` would lie between them."""
    design = solve(workload(album("Album", "Track", paginated=False), *map(album, ("Comment", "Accolade")))).design
    assert {word.split("{")[0] for word in words(design).values()} == {"ACCOLADE#", "ALBUM", "#COMMENT#", "TRACK#"}


def test_three_words_against_the_alphabet_are_marked_not_numbered() -> None:
    assert in_this_order(["TRACK", "COMMENT", "ALBUM"], "#") == ["##TRACK", "#COMMENT", "ALBUM"]
    marked = in_this_order(["TRACK", "COMMENT", "ALBUM"], "#")
    assert marked == sorted(marked)


def test_reference_to_one_of_several_entities_has_a_neutral_word() -> None:
    """`ownerName → User | Organization` is `OWNER`, in the keys of all three."""
    owner = Attribute("ownerName", STRING, id=True, references="User", references_or=("Organization",))
    entities = (
        Entity("User", attributes=(Attribute("username", STRING, id=True, generated=False),)),
        Entity("Organization", attributes=(Attribute("orgName", STRING, id=True, generated=False),)),
        Entity("Repo", attributes=(owner, Attribute("repoName", STRING, id=True, generated=False))),
    )
    reads = tuple(
        Read(f"AP-{name}", entities=(name, "Repo"), inputs=(Input(given),), result=Result.MANY, paginated=True)
        for name, given in (("User", "username"), ("Organization", "orgName"))
    )
    design = solve(Workload("Code", entities=entities, reads=reads)).design
    assert [item.facets[0].pk for item in design.items] == [
        ("OWNER#{username}",),
        ("OWNER#{orgName}",),
        ("OWNER#{ownerName}",),
    ]


BUILDS = """# Builds

{tenant}## Entities

### Organization

- **Attributes**:
  - `orgId` (string, natural)
  - `taxId` (string, unique, immutable)

### Repository

- **Attributes**:
  - `repoName` (string, natural)
- **Cardinality**: ~40 total

### Run

- **Attributes**:
  - `repoName` (string, id, → Repository)
  - `runNo` (integer, natural)
  - `runnerId` (uuid, mutable, → Runner)
- **Cardinality**: ~50 per Repository

### Job

- **Attributes**:
  - `repoName` (string, id)
  - `runNo` (integer, id)
  - `jobName` (string, natural)
  - `runnerId` (uuid, mutable, → Runner)
- **Relationships**:
  - Run 1:N Job via repoName + runNo

### Runner

- **Attributes**:
  - `runnerId` (uuid, generated)
  - `state` (IDLE | BUSY, mutable)
- **Cardinality**: ~20 total

### Remark

- **Attributes**:
  - `remarkId` (ulid, generated)
  - `subject` (string, immutable, → Repository | Organization)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Repository | repoName | Single | - | No | 1/s | Eventual | No |
| AP-002 | Run, Job | repoName, runNo | Collection | - | No | 1/s | Strong | Collection |
| AP-003 | {together} | {given} | Collection | - | Yes (20) | 1/s | Eventual | {how} |
| AP-004 | Organization | orgId | Single | - | No | 1/s | Eventual | No |
| AP-005 | Organization | taxId | Single | - | No | 1/s | Eventual | No |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-100 | Job, Runner | repoName, runNo, jobName, runnerId | update Job (runnerId); update Runner (state = BUSY) | Yes | Runner.state = IDLE | 1/s |
"""


def partitions(tenant: str = "", together: str = "Remark", given: str = "subject", how: str = "No") -> dict[str, str]:
    text = BUILDS.replace("{tenant}", tenant).replace("{together}", together).replace("{given}", given)
    found = read_text(text.replace("{how}", how), "md")
    assert not [one for one in found.diagnostics if one.severity == "error"]
    items = solve(found.workload).design.items
    return {item.entity: item.facets[0].pk[0] for item in items} | {
        f"{item.entity} in an index": item.facets[1].pk[0] for item in items if item.facets[1:]
    }


def test_partitions_are_named_after_the_entity_that_an_id_is_of() -> None:
    found = partitions()
    assert found["Repository"] == "REPOSITORY#{repoName}"
    assert found["Organization"] == "ORGANIZATION#{orgId}"
    assert found["Organization in an index"] == "TAX_ID#{taxId}"


def test_partitions_of_tenants_are_named_after_the_entity_that_an_id_is_of() -> None:
    tenant = "> Tenant: orgId → Organization\n\n"
    assert partitions(tenant)["Run"] == "TENANT#{orgId}#REPOSITORY#{repoName}#RUN#{runNo:plain}"


def test_ids_of_several_entities_have_one_word_only_if_they_are_read_together() -> None:
    alone = partitions()
    assert (alone["Repository"], alone["Remark"]) == ("REPOSITORY#{repoName}", "SUBJECT#{subject}")
    both = partitions(together="Repository, Remark", given="Repository.repoName / Remark.subject", how="Collection")
    assert (both["Repository"], both["Remark"]) == ("SUBJECT#{repoName}", "SUBJECT#{subject}")


@pytest.mark.parametrize(
    ("name", "flag", "key"),
    [
        ("userId", "id", "USER#{userId}"),
        ("userId", "natural", "PREFERENCE#{userId}"),
        ("prefId", "id", "PREFERENCE#{prefId}"),
        ("code", "id", "PREFERENCE#{code}"),
    ],
)
def test_plain_id_may_be_of_something_outside(name: str, flag: str, key: str) -> None:
    generated = False if flag == "natural" else None
    preference = Entity("Preference", attributes=(Attribute(name, STRING, id=True, generated=generated),))
    read = Read("AP-001", entities=("Preference",), inputs=(Input(name),), result=Result.ONE)
    (item,) = solve(Workload("Preferences", entities=(preference,), reads=(read,))).design.items
    assert item.facets[0].pk == (key,)
