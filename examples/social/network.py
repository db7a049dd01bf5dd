"""The actions of the network: the generated repository, and methods that need several of its requests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import TypeVar

from prejoin import AWS, Client, ConditionFailed, Embedded, Endpoint, Page, TransactionCancelled, refresh, ulid

from social_network.entities import Comment, Follow, Group, Like, Membership, Post, User
from social_network.repository import SocialNetworkRepository
from social_network.schema import SCHEMA, TABLE

T = TypeVar("T")


def connect(db: str = "social.db", endpoint: str | None = None, aws: bool = False) -> Network:
    """Opens the network in a file, on a server or on AWS, and creates the table if it is missing."""
    place: AWS | Endpoint | Embedded = AWS() if aws else Endpoint(endpoint) if endpoint else Embedded(db)
    client = Client(SCHEMA, TABLE, place)
    if not aws:  # template.yaml creates it there
        client.create_table(if_absent=True)
    return Network(client)


class Network(SocialNetworkRepository):
    """The access patterns, and actions that consist of several."""

    def sign_up(self, username: str, email: str, name: str) -> None:
        """Adds a user. Username and e-mail address must be unique."""
        user = User(username=username, email=email, name=name, created_at=now(), follower_count=0, following_count=0)
        self.add_user(user)

    def draft(self, author: str, content: str) -> str:
        """Adds a post that only its author sees, and returns its id."""
        post = Post(post_id=ulid(), author=author, content=content, status="DRAFT", like_count=0, comment_count=0)
        self.add_post(post)
        return post.post_id

    def publish(self, author: str, post_id: str) -> None:
        try:
            self.publish_post(post_id, author, now())
        except ConditionFailed:
            raise LookupError(f"{post_id} is no draft of {author}") from None

    def comment(self, username: str, post_id: str, text: str) -> Comment:
        """Adds a comment with a copy of its author's name. If the name changes meanwhile, it is read again."""
        while True:
            author = self.current_name(username)
            if author is None:
                raise LookupError(f"there is no user {username}")
            comment = Comment(post_id=post_id, comment_id=ulid(), username=username, name=author.name, text=text)
            try:
                self.add_comment(comment)
            except TransactionCancelled as error:
                if not name_changed(error):
                    raise
            else:
                return comment

    def rename(self, username: str, name: str) -> None:
        """Changes a user's name, also on all of their comments."""
        self.change_name(username, name)
        refresh(self.db, User, username=username)

    def like(self, username: str, post_id: str) -> None:
        self.add_like(Like(post_id=post_id, username=username, liked_at=now()))

    def follow(self, follower: str, followed: str) -> None:
        if follower == followed:
            raise ValueError("nobody follows themselves")
        self.add_follow(Follow(follower=follower, followed=followed, since=now()))

    def found(self, username: str, group_id: str, title: str) -> None:
        """Adds a group with its founder as a member."""
        founder = Membership(username=username, group_id=group_id, role="ADMIN", joined_at=now())
        self.add_group(Group(group_id=group_id, title=title, member_count=1, created_at=founder.joined_at), founder)

    def join(self, username: str, group_id: str) -> None:
        self.add_membership(Membership(username=username, group_id=group_id, role="MEMBER", joined_at=now()))


def everything(read: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """All items of a read, from all pages."""
    page = read(None)
    yield from page
    while page.cursor is not None:
        page = read(page.cursor)
        yield from page


def name_changed(error: TransactionCancelled) -> bool:
    """Whether a comment was refused because its author has another name now."""
    return any(type(one) is ConditionFailed and one.write and one.write.verb == "check" for one in error.failures)


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
