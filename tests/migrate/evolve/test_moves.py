"""An entity with guards, copies, versions and a TTL gets another key: each version of the code, verb and step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from prejoin import Client, InputError, RefusedError, with_counts
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import Evolution, evolution_of
from prejoin.migrate.evolve.record import record_place
from prejoin.migrate.evolve.transition import CodeVersion, design_id, plan_transition
from prejoin.patterns.integrity.audit import audit
from tests.migrate.evolve.application import Killed
from tests.migrate.evolve.blog import WIDER, Blog

COMBINATIONS = (
    ("unique",),
    ("history",),
    ("kept",),
    ("copy",),
    ("other copy",),
    ("ttl", "unique"),
    ("tenant", "unique", "history", "copy"),
    ("content",),
    ("content", "tenant", "unique"),
    ("content", "history"),
    ("counter",),
    ("counter", "tenant", "unique"),
    ("unique", WIDER),
    ("kept", WIDER),
    ("copy", WIDER),
    ("unique", "history", "other copy", WIDER),
)
VERSIONS = ("OLD", "prepare", "switch", "NEW")
VERBS = ("create", "put", "title", "slug", "delete", "views", "body")
STEPS = ("before backfill", "after backfill", "during clean", "after abort")
EVERYDAY = {
    (("tenant", "unique", "history", "copy"), "OLD", "slug", "after backfill"),
    (("unique", "history", "other copy", WIDER), "NEW", "delete", "after abort"),
    (("unique", "history", "other copy", WIDER), "prepare", "put", "during clean"),
    (("kept", WIDER), "switch", "title", "before backfill"),
    (("counter",), "NEW", "views", "after abort"),
    (("counter",), "OLD", "views", "during clean"),
    (("content", "tenant", "unique"), "OLD", "body", "after backfill"),
}


def _cases() -> Iterator[object]:
    for constructs, version, verb, step in product(COMBINATIONS, VERSIONS, VERBS, STEPS):
        needed = {"views": "counter", "body": "content"}
        if verb in needed and needed[verb] not in constructs:
            continue
        is_quick = (constructs, version, verb, step) in EVERYDAY
        name = f"{'+'.join(constructs)}-{version}-{verb}-{step}"
        marks = [] if is_quick else [pytest.mark.slow]
        yield pytest.param(constructs, version, verb, step, id=name, marks=marks)


@pytest.mark.parametrize(("constructs", "version", "verb", "step"), list(_cases()))
def test_table_is_as_the_last_writes_left_it(
    constructs: tuple[str, ...], version: str, verb: str, step: str, tmp_path: Path
) -> None:
    blog = filled(constructs, tmp_path)
    blog.run(blog.forward, "add_indexes")
    if step != "before backfill":
        blog.run(blog.forward, "backfill")
    if step == "after abort":
        blog.abort()
    if step == "during clean":
        interrupted_clean(blog)
        blog.has_straggler = version == "OLD"
    target = "w" if verb == "create" else "x"
    before = dict(blog.posts)
    is_known = blog.write(version, verb, target, "new")
    if step == "during clean" and version == "OLD" and verb == "delete" and is_known:
        blog.posts = before  # nobody knows that it was deleted: it stays
    if "unique" in constructs and step != "during clean":
        blog.require_unique("prepare")
        blog.require_unique("switch")
    direction = blog.back if step == "after abort" else blog.forward
    if step != "during clean":
        result = blog.run(direction, "backfill")
        assert [str(one) for one in result.undecided] == []
        if "unique" in constructs:
            blog.require_unique("prepare")
            blog.require_unique("switch")
    result = blog.run(direction, "clean")
    if blog.has_straggler and result.undecided:
        # The mark of the item under the new key was removed already, so nobody knows which one is right: both stay.
        assert [(one.kind, one.found["postId"]["S"]) for one in result.undecided if one.found] == [("conflict", "x")]
        assert blog.has_both("x")
        return
    assert [str(one) for one in result.undecided] == []
    blog.check(direction.new)
    if "unique" in constructs:
        blog.require_unique(direction.new.name)
    # Everything goes on: a version, a value that was given up, a new post.
    for later_verb, post in (("title", "y"), ("slug", "y"), ("create", "v"), ("delete", "v")):
        assert blog.write(direction.new.name, later_verb, post, f"later-{post}")
    blog.check(direction.new)


def filled(constructs: tuple[str, ...], folder: Path) -> Blog:
    """A blog with posts of OLD, of which one was changed often and one deleted."""
    blog = Blog(frozenset(constructs), folder)
    for post in ("x", "y", "z"):
        assert blog.write("OLD", "create", post, post)
    for number in range(4):
        assert blog.write("OLD", "title", "x", f"x{number}")
    for post in ("x", "x", "y", "z") if "counter" in constructs else ():
        assert blog.write("OLD", "views", post, "")
    for post in ("x", "z") if "content" in constructs else ():
        assert blog.write("OLD", "body", post, f"body-{post}")
    assert blog.write("OLD", "delete", "z", "")
    return blog


@pytest.mark.parametrize(("deleting", "changing"), [("OLD", "NEW"), ("NEW", "OLD")])
def test_a_post_that_comes_back_has_its_views(deleting: str, changing: str, tmp_path: Path) -> None:
    """Code of one design deletes a post and its shards, while code of the other one changes the post."""
    blog = filled(("counter",), tmp_path)
    blog.run(blog.forward, "add_indexes", "backfill")
    versions = {"OLD": blog.forward.old, "NEW": blog.forward.new}
    key = {"post_id": "x"}
    blog.client(versions[deleting]).delete(versions[deleting].package.classes["Post"], **key, read=True)
    with blog.client(versions[changing]).update(versions[changing].package.classes["Post"], **key) as draft:
        draft.title = "changed"
    result = blog.run(blog.forward, "backfill")
    assert result.undecided == []
    for version in versions.values():
        assert title_and_views(blog, version, "x") == ("changed", 10)
    blog.run(blog.forward, "clean")
    assert title_and_views(blog, versions["NEW"], "x") == ("changed", 10)


def title_and_views(blog: Blog, version: CodeVersion, post_id: str) -> tuple[str, int]:
    client, cls = blog.client(version), version.package.classes["Post"]
    post = with_counts(client, cls, client.get(cls, post_id=post_id, consistent=True), consistent=True)
    assert post is not None
    return post.title, post.views


class _Dying:
    """A transport that is killed after some changes of items."""

    concurrent = False

    def __init__(self, blog: Blog, changes: int) -> None:
        self._engine = blog.engine
        self._changes = changes

    def send(self, operation: str, body: bytes) -> bytes:
        is_change = operation in ("DeleteItem", "TransactWriteItems") or (
            operation == "UpdateItem" and b"STATE" not in body
        )
        if is_change and self._changes == 0:
            raise Killed
        self._changes -= is_change
        return self._engine.send(operation, body)

    def close(self) -> None:
        pass


def interrupted_clean(blog: Blog) -> None:
    client = Client(blog.forward.old.package.schema, "blog", _Dying(blog, 1))
    with pytest.raises(Killed), evolution_of(blog.forward, client, blog.folder) as evolution:
        Evolution.clean(evolution)


@pytest.mark.parametrize("version", ["prepare", "switch"])
def test_packages_between_leave_a_table_that_an_audit_accepts(version: str, tmp_path: Path) -> None:
    blog = filled(("unique", "history", "copy"), tmp_path)
    blog.run(blog.forward, "add_indexes", "backfill")
    for verb, post in (("create", "w"), ("put", "x"), ("slug", "y"), ("delete", "x")):
        assert blog.write(version, verb, post, f"{verb}-{post}")
    assert [str(one) for one in audit(blog.client(blog.version(version)))] == []


@pytest.mark.parametrize("constructs", [("unique",), ("tenant", "unique", "history", "copy")])
def test_unique_values_that_both_designs_changed_are_reported(constructs: tuple[str, ...], tmp_path: Path) -> None:
    """Guards are those of each item, as it is, until a person has decided. So the backfill comes to an end."""
    blog = filled(constructs, tmp_path)
    blog.run(blog.forward, "add_indexes", "backfill")
    assert blog.write("OLD", "slug", "x", "of-old")
    assert blog.write("NEW", "slug", "x", "of-new")
    result = blog.run(blog.forward, "backfill")
    assert [finding.kind for finding in result.undecided] == ["conflict"]
    assert not {"missing", "orphaned"} & result.written.keys()
    assert blog.write("switch", "slug", "x", "decided")
    assert blog.run(blog.forward, "backfill").undecided == []
    assert blog.run(blog.forward, "clean").undecided == []
    blog.require_unique("NEW")


# --- Random walks ---------------------------------------------------------------------------------------------------


class _Walker:
    """A transport that writes posts between the requests of a command, and sometimes kills the command."""

    concurrent = False

    def __init__(self, blog: Blog, chance: random.Random) -> None:
        self._blog = blog
        self._chance = chance

    def send(self, operation: str, body: bytes) -> bytes:
        if self._chance.random() < 0.02:
            raise Killed
        if self._chance.random() < 0.05 and len(self._blog.posts) < 40:
            publish(self._blog, self._chance)
        answer = self._blog.engine.send(operation, body)
        if self._chance.random() < 0.02:
            raise Killed  # the request was applied, and the command does not know it
        return answer

    def close(self) -> None:
        pass


def publish(blog: Blog, chance: random.Random) -> None:
    """Creates a post with any version of the code, and lets the same version change or delete it."""
    version, post = chance.choice(VERSIONS), f"p{len(blog.posts)}-{chance.randrange(10**9)}"
    assert blog.write(version, "create", post, post)
    needed = {"views": "counter", "body": "content"}
    verbs = [verb for verb in VERBS if verb != "create" and needed.get(verb, "unique") in blog.constructs]
    for number in range(chance.randrange(4)):
        verb = chance.choice(verbs)
        assert blog.write(version, verb, post, f"{post}-{number}")
        if verb == "delete":
            break


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
@pytest.mark.parametrize(
    "constructs",
    [
        ("unique", "history", "copy", "content"),
        ("unique", "counter", "other copy", "tenant"),
        ("unique", "kept", "other copy", WIDER),
    ],
    ids="+".join,
)
def test_walk_over_all_commands(constructs: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    blog, chance = filled(constructs, tmp_path), random.Random(seed)
    blog.has_straggler = True
    steps = (Evolution.add_indexes, Evolution.backfill, Evolution.clean)
    for _ in range(12):
        direction = blog.forward if chance.random() < 0.7 else plan_transition(blog.forward.new, blog.forward.old)
        client = Client(direction.old.package.schema, "blog", _Walker(blog, chance))
        choice = chance.random()
        if choice < 0.4:
            publish(blog, chance)
        elif choice < 0.9:
            with suppress(RefusedError, Killed), evolution_of(direction, client, tmp_path) as evolution:
                chance.choice(steps)(evolution)
        else:
            with suppress(RefusedError, InputError):
                abort_on(blog.client(direction.old), direction, tmp_path)
    record = record_place(blog.client(blog.forward.old), tmp_path).read()
    is_first = (record.change.source if record.change else record.design) in ("", design_id(blog.forward.old))
    goes_back = record.change is not None and record.change.direction == "back"
    is_forward = is_first is not goes_back
    direction = blog.forward if is_forward else plan_transition(blog.forward.new, blog.forward.old)
    for step in ("add_indexes", "backfill", "clean", "clean"):
        result = blog.run(direction, step)
        assert [str(one) for one in result.undecided] == []
    blog.check(direction.new)
