"""An entity that others write, too, gets another key: a count of its comments, and a name that follows its author."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, Embedded
from prejoin.design.model import TABLE, Design, Facet, Item
from prejoin.migrate.evolve.items import Evolution, evolution_of
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from tests.migrate.evolve.shop import _TABLE, index, version

_DOCUMENT = """# Blog

## Entities

### User

- `userId` (string, id)
- `name` (string, mutable)

### Post

- `postId` (string, id)
- `authorId` (string, → User)
- `authorName` (string, mutable, follows User.name)
- `commentCount` (integer, mutable, default=0)

### Comment

- `postId` (string, id, → Post)
- `commentId` (string, id)
- `text` (string)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Post | Get post | postId | Single | - | 10/s |
| AP-002 | Post | Posts of author | authorId | Collection | postId | 10/s |
| AP-003 | User | Get user | userId | Single | - | 10/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | User | Register | userId, name | create User | 1/s |
| AP-011 | User | Rename | userId, name | update User | 1/s |
| AP-012 | Post | Publish | postId, authorId, authorName | create Post | 1/s |
| AP-013 | Comment, Post | Comment | postId, commentId, text | create Comment; update Post (commentCount += 1) | 1/s |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Comment, Post | Remove | postId, commentId | delete Comment; update Post (commentCount -= 1) | 1/s |
"""
_RECORDS = {"user": "User", "post": "Post", "comment": "Comment"}


def design(tag: str, base: Facet, slot: str) -> Design:
    post = Item("Post", tag, (base, Facet(slot, ("AUTHOR#{authorId}",), ("POST#{postId}",))))
    user = Item("User", "User", (Facet(TABLE, ("USER#{userId}",), ("USER",)),))
    comment = Item("Comment", "Comment", (Facet(TABLE, ("C#{postId}",), ("C#{commentId}",)),))
    return Design("blog", (_TABLE, index(slot)), (user, post, comment))


@cache
def transition() -> Transition:
    old = design("Post", Facet(TABLE, ("POST#{postId}",), ("POST",)), "gsi1")
    new = design("Post2", Facet(TABLE, ("P#{postId}",), ("P",)), "gsi3")
    return plan_transition(version("OLD", _DOCUMENT, old), version("NEW", _DOCUMENT, new))


def call(code: CodeVersion, engine: Embedded, pattern: str, **values: str) -> None:
    package = code.package
    arguments: dict[str, Any] = {}
    for parameter in package.methods[pattern].params:
        if parameter.name in values:
            arguments[parameter.name] = values[parameter.name]
        elif parameter.name in _RECORDS:
            arguments[parameter.name] = package.classes[_RECORDS[parameter.name]](**values)
    package.call(Client(package.schema, "blog", engine), package.methods[pattern], arguments)


@pytest.mark.parametrize("is_backfilled", [False, True])
@pytest.mark.parametrize("name", ["OLD", "prepare", "switch", "NEW"])
def test_counts_and_followed_names(name: str, is_backfilled: bool, tmp_path: Path) -> None:
    if name in ("switch", "NEW") and not is_backfilled:
        return  # they find no posts yet
    change, engine = transition(), Embedded()
    code = {"OLD": change.old, "prepare": change.prepare, "switch": change.switch, "NEW": change.new}[name]
    client = Client(change.old.package.schema, "blog", engine)
    client.create_table()

    def run(*steps: str) -> None:
        for step in steps:
            with evolution_of(change, client, tmp_path) as evolution:
                assert getattr(Evolution, step)(evolution).undecided == []

    call(change.old, engine, "AP-010", user_id="u", name="Ann")
    call(change.old, engine, "AP-012", post_id="p", author_id="u", author_name="Ann")
    call(change.old, engine, "AP-013", post_id="p", comment_id="c0", text="t")
    run("add_indexes", *(["backfill"] if is_backfilled else []))
    for comment in ("c1", "c2"):
        call(code, engine, "AP-013", post_id="p", comment_id=comment, text="t")
    call(code, engine, "AP-020", post_id="p", comment_id="c1")
    call(code, engine, "AP-011", user_id="u", name="Bea")
    run("backfill", "clean")
    after = Client(change.new.package.schema, "blog", engine)
    post = after.get(change.new.package.classes["Post"], post_id="p")
    assert post is not None
    assert (post.author_name, post.comment_count) == ("Bea", 2)
    assert [str(one) for one in audit(after)] == []
