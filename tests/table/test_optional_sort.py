"""Optional sort attributes: `{name?}` has a place in the sort key for a missing value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import fresh

from prejoin import Client, Copy, Entity, Index, Key, NotServed, Schema, between


@dataclass(frozen=True)
class Post:
    post_id: str
    blog: str
    published: date | None = None
    title: str | None = None
    score: int | None = None


SCHEMA = Schema(
    Entity(
        Post,
        Key("POST#{post_id}", "POST"),
        indexes={
            "gsi1": Key("BLOG#{blog}", "{published?}#{post_id}"),
            "gsi2": Key("BLOG#{blog}", "{score?:desc}#{title?}#{post_id}"),
        },
        patterns=[Copy("by-title", Key("TITLES#{blog}", "{title?}#{post_id}"))],
    ),
    indexes=[Index("gsi1"), Index("gsi2")],
)
DATES = [None, date(2026, 5, 4), date(2026, 5, 5)]
TITLES = [None, "", "a b", "a", "~"]
SCORES = [None, -3, 0, 10, 9]


def filled(posts: list[Post]) -> Client:
    db = Client(SCHEMA, "blog", fresh())
    db.create_table()
    for post in posts:
        db.insert(post)
    return db


def least(value: Any) -> tuple[bool, Any]:
    return (value is not None, value)


posts = st.lists(
    st.tuples(st.sampled_from(DATES), st.sampled_from(TITLES), st.sampled_from(SCORES)), min_size=1, max_size=8
).map(lambda rows: [Post(f"p{i}", "b", *row) for i, row in enumerate(rows)])


@given(posts, st.booleans())
def test_a_missing_value_comes_before_all_others_in_either_direction_of_the_key(some: list[Post], down: bool) -> None:
    db = filled(some)
    sign = "-" if down else ""

    def ordered(by: Any) -> list[Any]:
        return sorted(map(by, some), reverse=down)

    found = db.query(Post, blog="b", order=f"{sign}published")
    assert [least(p.published) for p in found] == ordered(lambda p: least(p.published))
    found = db.query(Post, blog="b", order=f"{sign}score")
    assert [least(p.score) for p in found] == ordered(lambda p: least(p.score))
    found = db.query(Post, blog="b", order=f"{sign}title")
    assert [least(p.title) for p in found] == ordered(lambda p: least(p.title))


@given(posts)
def test_ranges_and_equality_need_present_values(some: list[Post]) -> None:
    db = filled(some)

    def ids(found: Any) -> set[str]:
        return {post.post_id for post in found}

    for bound in (-3, 0, 9):
        assert ids(db.query(Post, lambda p: p.score < bound, blog="b")) == ids(  # noqa: B023
            p for p in some if p.score is not None and p.score < bound
        )
        assert ids(db.query(Post, lambda p: p.score >= bound, blog="b")) == ids(  # noqa: B023
            p for p in some if p.score is not None and p.score >= bound
        )
        assert ids(db.query(Post, blog="b", score=bound)) == ids(p for p in some if p.score == bound)
    assert ids(db.query(Post, lambda p: p.title <= "a", blog="b")) == ids(p for p in some if p.title in ("", "a"))
    assert ids(db.query(Post, lambda p: between(p.title, "", "a b"), blog="b")) == ids(
        p for p in some if p.title in ("", "a", "a b")
    )
    assert ids(db.query(Post, blog="b", title="")) == ids(p for p in some if p.title == "")


def test_a_value_that_comes_or_goes_moves_the_item() -> None:
    draft = Post("p1", "b")
    db = filled([draft, Post("p2", "b", date(2026, 5, 4))])
    with db.update(Post, post_id="p1", blog="b", title=None) as post:
        post.published = date(2026, 5, 5)
    assert [p.post_id for p in db.query(Post, blog="b", order="published")] == ["p2", "p1"]
    with db.update(Post, post_id="p1", blog="b", title=None) as post:
        post.published = None
    assert [p.post_id for p in db.query(Post, blog="b", order="published")] == ["p1", "p2"]
    db.put(replace(draft, title="Now"), was=draft)
    assert [p.title for p in db.query(Post, blog="b", order="-title")] == ["Now", None]


def test_item_without_a_required_sort_value_is_not_in_the_index() -> None:
    schema = Schema(
        Entity(Post, Key("POST#{post_id}", "POST"), indexes={"gsi1": Key("BLOG#{blog}", "{published}#{post_id}")}),
        indexes=[Index("gsi1")],
    )
    db = Client(schema, "blog", fresh())
    with pytest.raises(NotServed, match="it has only the items where published is present"):
        db.query(Post, blog="b", order="published")
