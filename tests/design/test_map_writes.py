"""Writes mapped to requests: what is written with an item, what is read first, and what cannot be found."""

from __future__ import annotations

import pytest
from tests.design.texts import changes_of, sort_text
from tests.proof.league import league_design, league_workload

from prejoin.design.files import read_design
from prejoin.design.mapping.addressing import unknown
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Call, Design, Did, Operation
from prejoin.design.solver.needs import find_needs
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload, Write
from prejoin.workload.program.resolved_write import resolve_write

ENTITIES = """\
# Posts

## Entities

### User

- **Attributes**:
  - `userId` (string, natural)
  - `email` (string, unique, mutable)
  - `postCount` (integer, mutable)
  - `followers` (integer, mutable)
  - `following` (integer, mutable)

### Post

- **Attributes**:
  - `postId` (string, generated)
  - `userId` (string, immutable, → User)
  - `at` (datetime, immutable)
  - `status` (DRAFT | PUBLISHED, mutable)
  - `text` (string, mutable)

### Follow

- **Attributes**:
  - `followed` (string, natural, → User)
  - `follower` (string, natural, → User)

## Access Patterns

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
KEYS = """\
table: posts
slots:
  - {{name: table, pk: [{{name: pk}}], sk: [{{name: sk}}]}}
  - {{name: gsi1, pk: [{{name: gsi1pk}}], sk: [{{name: gsi1sk}}]}}
items:
  - {{entity: User, tag: User, facets: [{{slot: table, pk: ["USER#{{userId}}"], sk: ["USER"]}}]}}
  - entity: Post
    tag: Post
    facets:
      - {{slot: table, {base}}}
      - {{slot: gsi1, pk: ["POSTS"], sk: ["{{at}}#{{postId}}"], when: [{{attribute: status, values: [PUBLISHED]}}]}}
{copies}  - {{entity: Follow, tag: Follow, facets: [{{slot: table, pk: ["USER#{{followed}}"], sk: ["F#{{follower}}"]}}]}}
guards: [{{entity: User, attributes: [email]}}]
"""
BY_ID = 'pk: ["POST#{postId}"], sk: ["POST"]'
UNDER_USER = 'pk: ["USER#{userId}"], sk: ["POST#{at}#{postId}"]'
COPY = '  - {entity: Post, tag: Post, copy: all, facets: [{slot: table, pk: ["ALL"], sk: ["{at}#{postId}"], %s}]}\n'


def mapped(row: str, base: str = BY_ID, copies: str = "") -> Operation:
    """The operation of a write, said in a row of the document."""
    found = made(row, base, copies)[1].operation("W")
    assert found is not None
    return found


def made(row: str, base: str = BY_ID, copies: str = "") -> tuple[Workload, Design]:
    reading = read_text(f"{ENTITIES}| W | {row} |\n", "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    design, problems = read_design(KEYS.format(base=base, copies=copies), reading.workload)
    assert design is not None, problems
    return reading.workload, map_patterns(design, reading.workload)


def did(operation: Operation) -> list[tuple[str, str]]:
    return [(a.action.value, str(a.item)) for request in operation.requests for a in request.actions]


def calls(operation: Operation) -> list[str]:
    return [request.call.value for request in operation.requests]


def test_an_update_that_knows_the_key_is_one_call() -> None:
    found = mapped("Post | Edit | postId, text | update Post (text) | No | - | Warm")
    assert calls(found) == ["UpdateItem"]
    assert found.assumes == ()


def test_an_index_key_is_read_first_where_the_write_does_not_give_what_it_is_made_of() -> None:
    found = mapped("Post | Publish | postId | update Post (status = PUBLISHED) | No | - | Warm")
    assert calls(found) == ["GetItem", "UpdateItem"]
    assert found.requests[0].consistent
    assert (found.requests[0].pk, sort_text(found.requests[0])) == ("POST#{postId}", "= POST")
    given = mapped("Post | Publish | postId, at | update Post (status = PUBLISHED) | No | - | Warm")
    assert calls(given) == ["UpdateItem"]


@pytest.mark.parametrize(("name", "requests"), [("Text", ["UpdateItem"]), ("Post", ["GetItem", "UpdateItem"])])
def test_input_named_like_the_entity_is_an_object_unless_an_attribute_has_the_name(
    name: str, requests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.ENTITIES", ENTITIES.replace("`text`", f"`{name}`"))
    found = mapped("Post | Publish | postId, Post | update Post (status = PUBLISHED) | No | - | Warm")
    assert calls(found) == requests


def test_upsert_knows_the_immutable_attributes_that_it_sets() -> None:
    row = "Post | Save | postId, userId, at, text | upsert Post (userId, at, text, status = DRAFT) | No | - | Warm"
    found = mapped(row, UNDER_USER)
    assert calls(found) == ["UpdateItem"]
    assert (found.requests[0].pk, sort_text(found.requests[0])) == ("USER#{userId}", "= POST#{at}#{postId}")


def test_an_item_that_leaves_a_sparse_index_loses_its_keys() -> None:
    found = mapped("Post | Withdraw | postId, at | update Post (status = DRAFT) | No | - | Warm")
    assert "REMOVE gsi1pk" in changes_of(found.requests[0].actions[0])
    assert not any("SET gsi1" in change for change in changes_of(found.requests[0].actions[0]))


def test_items_whose_key_the_write_does_not_give_are_found_by_a_query_first() -> None:
    found = mapped("Post | Edit | userId, text | update Post[] (text) | No | - | Warm", UNDER_USER)
    assert [(r.call, r.slot, r.pk) for r in found.requests[:1]] == [(Call.QUERY, "table", "USER#{userId}")]
    assert calls(found) == ["Query", "UpdateItem"]


def test_a_key_that_nothing_finds_is_a_problem_with_a_remedy() -> None:
    found = mapped("Post | Edit | postId, text | update Post (text) | No | - | Warm", UNDER_USER)
    assert not found.served
    assert "made of at, userId, which it does not give, and no key finds it by postId" in found.problem
    assert "give at, userId as well" in found.remedy


def test_no_filter_finds_an_item_that_is_not_identified() -> None:
    """It would read all posts of the user, at the price of one."""
    found = mapped("Post | Withdraw | userId, text | update Post (status = DRAFT) | No | - | Warm", UNDER_USER)
    assert "no key finds it by text, userId" in found.problem


def test_many_that_nothing_finds_are_a_problem_and_one_whose_id_is_not_given_is_assumed_to_be_known() -> None:
    many = mapped("Post | Clear | userId | delete Post[] | No | - | Warm")
    assert "no key finds it by userId" in many.problem
    one = mapped("Post, User | Count | text | update User (postCount += 1) | No | - | Warm")
    assert one.served
    assert one.assumes == ("the caller knows userId of the User",)


def test_a_condition_that_says_what_is_there_tells_whether_a_copy_is_there() -> None:
    sparse = COPY % "when: [{attribute: status, values: [PUBLISHED]}]"
    row = "Post | Publish | postId | update Post (status = PUBLISHED) | No | status = DRAFT | Warm"
    assert did(mapped(row, copies=sparse)) == [("Update", "Post"), ("Put", "Post/all")]
    back = "Post | Withdraw | postId | update Post (status = DRAFT) | No | status = PUBLISHED | Warm"
    assert did(mapped(back, copies=sparse)) == [("Update", "Post"), ("Delete", "Post/all")]


def test_a_copy_that_stays_where_it_is_is_updated_and_one_that_holds_nothing_of_it_is_not_touched() -> None:
    row = "Post | Edit | postId, at, text | update Post (text) | No | - | Warm"
    found = mapped(row, copies=COPY % "when: []")
    assert did(found) == [("Update", "Post"), ("Update", "Post/all")]
    assert calls(found) == ["TransactWriteItems"]
    narrow = (COPY % "when: []").replace("copy: all,", "copy: all, attributes: [status],")
    assert did(mapped(row, copies=narrow)) == [("Update", "Post")]


def test_a_put_of_what_is_guarded_or_copied_is_read_first_and_takes_the_guard() -> None:
    found = mapped("User | Save | userId, email | put User | No | - | Warm")
    assert calls(found) == ["GetItem", "TransactWriteItems"]
    assert did(found) == [("Put", "User"), ("Put", "User!email")]


def test_a_unique_value_that_changes_is_exchanged_after_the_old_one_was_read() -> None:
    found = mapped("User | Rename | userId, email | update User (email) | No | - | Warm")
    assert calls(found) == ["GetItem", "TransactWriteItems"]
    assert did(found) == [("Update", "User"), ("Delete", "User!email"), ("Put", "User!email")]


def test_two_updates_of_one_entity_are_of_two_items_where_two_inputs_name_them() -> None:
    row = "Follow, User | Follow | followed, follower | create Follow; update User (followers += 1); "
    row += "update User (following += 1) | Yes | - | Warm"
    workload, design = made(row)
    actions = resolve_write(workload, _write(workload)).actions
    assert [action.by for action in actions] == [(), ("followed",), ("follower",)]
    operation = design.operation("W")
    assert operation is not None
    assert did(operation) == [("Put", "Follow"), ("Update", "User"), ("Update", "User")]


def test_two_updates_of_one_item_are_one() -> None:
    row = "User | Count | userId | update User (followers += 1); update User (following += 1) | Yes | - | Warm"
    found = mapped(row)
    assert did(found) == [("Update", "User")]
    assert changes_of(found.requests[0].actions[0]) == [
        "SET followers = followers + 1",
        "SET following = following + 1",
    ]


def test_write_that_is_not_atomic_uses_single_requests_and_a_batch() -> None:
    row = "Post, User | Clear | userId, postId[] | delete Post[]; update User (postCount = 0) | No | - | Warm"
    found = mapped(row)
    # The user last, after a check that there is one: a call that was interrupted can be repeated.
    assert calls(found) == ["TransactWriteItems", "DeleteItem", "UpdateItem"]
    new = mapped("Post | Import | userId, postId[] | create Post[] | No | - | Warm")
    assert calls(new) == ["PutItem"]  # a batch takes no conditions, and what is new must not be there


def test_expiry_needs_no_request() -> None:
    found = mapped("Post | End | postId | expire Post | No | - | Cold")
    assert found.served
    assert found.requests == ()


def test_changed_input_is_not_the_current_value() -> None:
    workload, design = made("Post | Move | postId, at, status | update Post (status) | No | - | Warm")
    write = _write(workload)
    (step,) = resolve_write(workload, write).steps
    assert step.known == {"postId", "at"}
    assert unknown(step, design, step.known) == set()
    assert unknown(step, design, frozenset({"postId"})) == {"at"}


@pytest.mark.parametrize(
    ("row", "names"),
    [
        # Who comments is not who wrote the post, though both are called userId.
        ("Comment, Post | Say | postId, commentId, userId | create Comment; update Post (text)", {"postId"}),
        ("Comment, Post | Take back | postId, commentId, userId | delete Comment; update Post (text)", {"postId"}),
        ("Post, Comment | Say | postId, commentId, userId | update Post (text); create Comment", {"postId"}),
        # What else is given is of what the write is of.
        ("Post, Comment | Shut | postId, commentId, userId | update Post (text); delete Comment", {"postId", "userId"}),
        # The one whose posts are counted is the one whose post it is: the post refers to that user.
        (
            "Post, User | Remove | postId, userId | update Post (text); update User (postCount -= 1)",
            {"postId", "userId"},
        ),
        ("Post | Edit | postId, userId, text | update Post (text)", {"postId", "userId"}),
        # A copy is of what it is a copy of.
        ("Note, Post | Note | postId, userId | create Note; update Post (text)", {"postId", "userId"}),
    ],
)
def test_an_input_that_others_have_too_is_an_items_own_only_where_a_relation_says_so(row: str, names: set[str]) -> None:
    others = """### Comment

- **Attributes**:
  - `commentId` (string, generated)
  - `postId` (string, immutable, → Post)
  - `userId` (string, immutable, → User)

### Note

- **Attributes**:
  - `postId` (string, natural, → Post)
  - `userId` (string, copy of Post.userId)

## Access Patterns
"""
    text = ENTITIES.replace("## Access Patterns\n", others)
    workload = read_text(f"{text}| W | {row} | Yes | - | Warm |\n", "md").workload
    write = _write(workload)
    step = next(step for step in resolve_write(workload, write).steps if step.entity.name == "Post")
    assert step.known == names
    found = {need.equal_names for find in find_needs(workload) for need in find.needs if need.entity == "Post"}
    assert found == {frozenset(names)}


@pytest.mark.parametrize("pattern", ["W2", "W7"])
def test_given_key_of_a_copy_is_not_read_first(pattern: str) -> None:
    operation = league_design().operation(pattern)
    assert operation is not None
    assert calls(operation) == ["TransactWriteItems"]
    assert {a.action for a in operation.requests[0].actions} == {Did.UPDATE}
    assert league_workload().pattern(pattern) is not None


def _write(workload: Workload) -> Write:
    (found,) = workload.writes
    return found
