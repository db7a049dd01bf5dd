"""A social network on the command line: `python social.py sign-up ann ann@example.com "Ann Lee"`.

The table is in social.db; `--db FILE`, `--endpoint URL` or `--aws` select another location.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from prejoin import TableError, TransportError

from network import Network, connect, everything
from social_network.entities import Comment, Post

Lines = Iterable[str]
"""The output of a command."""


def sign_up(network: Network, username: str, email: str, name: str) -> Lines:
    """Add a user."""
    network.sign_up(username, email, name)
    yield f"Welcome, {name}."


def rename(network: Network, username: str, name: str) -> Lines:
    """Change a user's name, also on their comments."""
    network.rename(username, name)
    yield f"{username} is {name} now."


def profile(network: Network, username: str) -> Lines:
    """Show a user and their latest posts."""
    user = network.profile(username)
    if user is None:
        raise LookupError(f"there is no user {username}")
    yield f"{user.name} ({username}), here since {user.created_at:%Y-%m-%d}"
    yield f"{counted(user.follower_count, 'follower')}, following {user.following_count}"
    yield from map(headline, network.timeline(username))


def post(network: Network, username: str, text: str) -> Lines:
    """Write a draft, which only its author sees."""
    yield network.draft(username, text)


def publish(network: Network, username: str, post_id: str) -> Lines:
    """Publish a draft."""
    network.publish(username, post_id)
    yield "Published."


def drafts(network: Network, username: str) -> Lines:
    """List a user's drafts."""
    yield from map(headline, everything(lambda after: network.drafts(username, after=after)))


def feed(network: Network) -> Lines:
    """List the latest posts of all users."""
    yield from map(headline, network.feed())


def show(network: Network, post_id: str) -> Lines:
    """Show a post and its latest comments, with one request."""
    found = network.post_page(post_id)
    shown = found.one(Post)
    if shown is None or shown.status == "DRAFT":
        raise LookupError(f"nobody has published {post_id}")
    yield headline(shown)
    yield f"{counted(shown.like_count, 'like')}, {counted(shown.comment_count, 'comment')}"
    yield from (f"  {comment.name}: {comment.text}" for comment in found.all(Comment))


def comment(network: Network, username: str, post_id: str, text: str) -> Lines:
    """Comment on a post."""
    added = network.comment(username, post_id, text)
    yield f"{added.name}: {added.text}"


def like(network: Network, username: str, post_id: str) -> Lines:
    """Like a post."""
    network.like(username, post_id)
    yield "Liked."


def unlike(network: Network, username: str, post_id: str) -> Lines:
    """Remove a like."""
    network.unlike(post_id, username)
    yield "Not liked any more."


def follow(network: Network, username: str, other: str) -> Lines:
    """Follow another user."""
    network.follow(username, other)
    yield f"{username} follows {other}."


def unfollow(network: Network, username: str, other: str) -> Lines:
    """Stop following a user."""
    network.unfollow(username, other)
    yield f"{username} does not follow {other}."


def followers(network: Network, username: str) -> Lines:
    """List the followers of a user."""
    yield from (one.follower for one in everything(lambda after: network.followers(username, after=after)))


def following(network: Network, username: str) -> Lines:
    """List the users that a user follows."""
    yield from (one.followed for one in everything(lambda after: network.following(username, after=after)))


def found(network: Network, username: str, group: str, title: str) -> Lines:
    """Create a group."""
    network.found(username, group, title)
    yield f"{title} is open."


def join(network: Network, username: str, group: str) -> Lines:
    """Join a group."""
    network.join(username, group)
    yield f"{username} is in {group}."


def leave(network: Network, username: str, group: str) -> Lines:
    """Leave a group."""
    network.leave(username, group)
    yield f"{username} is not in {group}."


def members(network: Network, group: str) -> Lines:
    """List the members of a group, in the order in which they joined."""
    head = network.group(group)
    if head is None:
        raise LookupError(f"there is no group {group}")
    yield f"{head.title}, {counted(head.member_count, 'member')}"
    for one in everything(lambda after: network.members(group, after=after)):
        yield f"  {one.username} ({one.role.lower()})"


def groups(network: Network, username: str) -> Lines:
    """List the groups of a user."""
    for one in everything(lambda after: network.groups(username, after=after)):
        yield f"{one.group_id} ({one.role.lower()})"


def headline(shown: Post) -> str:
    at = f"{shown.published_at:%Y-%m-%d %H:%M}" if shown.published_at else "draft"
    return f"{shown.post_id}  {at}  {shown.author}: {shown.content}"


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "like"), counted(2, "like")
    ('1 like', '2 likes')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


COMMANDS: tuple[Callable[..., Lines], ...] = (
    *(sign_up, rename, profile, post, publish, drafts, feed, show, comment, like, unlike),
    *(follow, unfollow, followers, following, found, join, leave, members, groups),
)


def main(arguments: list[str] | None = None) -> Iterator[str]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--db", default="social.db", metavar="FILE", help="a file of the embedded engine; default: social.db"
    )
    parser.add_argument("--endpoint", metavar="URL", help="a DynamoDB-compatible server")
    parser.add_argument("--aws", action="store_true", help="AWS; template.yaml creates the table")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        subparser = commands.add_parser(command.__name__.replace("_", "-"), help=command.__doc__)
        subparser.set_defaults(command=command)
        for name in list(inspect.signature(command).parameters)[1:]:
            subparser.add_argument(name)
    given = vars(parser.parse_args(arguments))
    command = given.pop("command")
    network = connect(given.pop("db"), given.pop("endpoint"), given.pop("aws"))
    with closing(network.db):
        yield from command(network, **given)


if __name__ == "__main__":
    try:
        for line in main():
            print(line)
    except (LookupError, ValueError, TableError, TransportError) as error:
        sys.exit(f"social: {error}")
