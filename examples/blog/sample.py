"""Sample data: two users, two posts and a draft, and comments, one of them malicious."""

from __future__ import annotations

import datetime as dt
from uuid import uuid4

from prejoin import ulid

from blog.entities import Comment, Post, User
from blog.repository import BlogRepository


def sample(blog: BlogRepository) -> None:
    ann = register(blog, "Ann Lee", "https://example.com/ann.png")
    bob = register(blog, "Bob")
    write(blog, ann, "On trees", "Trees are old.\n\nSome are older than 1 < 2.")
    keys = publish(blog, write(blog, ann, "Keys & indexes", "What is read together lies together."))
    publish(blog, write(blog, bob, "On tea", "Black, no sugar."))
    comment(blog, keys, bob, "And what is not?")
    comment(blog, keys, ann, "That gets an index.")
    comment(blog, keys, bob, "<script>alert('hello')</script>")


def register(blog: BlogRepository, name: str, avatar_url: str | None = None) -> User:
    user = User(
        user_id=uuid4(), email=f"{ulid()}@example.com", name=name, avatar_url=avatar_url, created_at=now(), post_count=0
    )
    blog.register(user)
    return user


def write(blog: BlogRepository, author: User, title: str, content: str) -> str:
    """Adds a draft and returns its id."""
    post = Post(
        post_id=ulid(),
        user_id=author.user_id,
        status="DRAFT",
        title=title,
        content=content,
        created_at=now(),
        comment_count=0,
    )
    blog.begin_draft(post)
    return post.post_id


def publish(blog: BlogRepository, post_id: str) -> str:
    blog.publish_draft(post_id, now())
    return post_id


def comment(blog: BlogRepository, post_id: str, user: User, text: str) -> None:
    """Adds a comment with copies of its author's name and picture."""
    blog.comment_on_post(
        Comment(
            post_id=post_id,
            comment_id=ulid(),
            user_id=user.user_id,
            user_name=user.name,
            user_avatar_url=user.avatar_url,
            text=text,
            created_at=now(),
        )
    )


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
