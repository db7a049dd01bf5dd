"""The social network: a complete scenario on the command line, and rules that hold with concurrent users."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prejoin import AlreadyExists, Call, Client, Embedded, NotFound, NotUnique, TransactionCancelled, ulid

import social
from network import Network, connect, everything
from social_network.entities import Comment, Membership, Post, User, UserView
from social_network.schema import SCHEMA, TABLE

HERE = Path(__file__).resolve().parents[1]
PEOPLE = ("ann", "bob", "cid", "dee", "eva", "flo", "gus", "hal")


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    """A network of eight users without any activity."""
    made = connect(str(tmp_path / "social.db"))
    for name in PEOPLE:
        made.sign_up(name, f"{name}@example.com", name.title())
    yield made
    made.db.close()


def published(network: Network, author: str = "ann", content: str = "Hello") -> str:
    post_id = network.draft(author, content)
    network.publish(author, post_id)
    return post_id


def at_once(*work: Callable[[], object]) -> list[BaseException]:
    """Runs functions in threads at the same time, and returns their errors."""
    with ThreadPoolExecutor(len(work)) as pool:
        done = [pool.submit(one) for one in work]
        return [error for one in done if (error := one.exception()) is not None]


def user(network: Network, username: str) -> User:
    found = network.profile(username)
    assert found is not None
    return found


def post(network: Network, post_id: str) -> Post:
    found = network.post_page(post_id).one(Post)
    assert found is not None
    return found


def failure(error: BaseException) -> type[BaseException]:
    """The only failure of a transaction."""
    if isinstance(error, TransactionCancelled):
        (error,) = error.failures
    return type(error)


# --- The command line -------------------------------------------------------------------------------------------------


def process(*arguments: str, db: Path) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "social.py", "--db", str(db), *arguments]
    return subprocess.run(given, cwd=HERE, capture_output=True, text=True, check=False)


def test_scenario_with_a_process_per_command(tmp_path: Path) -> None:
    def say(*arguments: str) -> list[str]:
        done = process(*arguments, db=tmp_path / "social.db")
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    assert say("sign-up", "ann", "ann@example.com", "Ann Lee") == ["Welcome, Ann Lee."]
    say("sign-up", "bob", "bob@example.com", "Bob")
    (post_id,) = say("post", "ann", "Hello, world")
    say("publish", "ann", post_id)
    assert say("comment", "bob", post_id, "Welcome, Ann") == ["Bob: Welcome, Ann"]
    say("rename", "bob", "Robert")
    assert say("show", post_id)[1:] == ["0 likes, 1 comment", "  Robert: Welcome, Ann"]
    say("found", "ann", "chess", "Chess Club")
    say("join", "bob", "chess")
    assert say("members", "chess") == ["Chess Club, 2 members", "  ann (admin)", "  bob (member)"]


def test_every_command_with_a_server(prejoin_url: str) -> None:
    used: set[str] = set()

    def say(*arguments: str) -> list[str]:
        used.add(arguments[0])
        return list(social.main(["--endpoint", prejoin_url, *arguments]))

    say("sign-up", "ann", "ann@example.com", "Ann Lee")
    say("sign-up", "bob", "bob@example.com", "Bob")
    (post_id,) = say("post", "ann", "Hello, world")
    assert say("feed") == []
    assert say("drafts", "ann") == [f"{post_id}  draft  ann: Hello, world"]
    with pytest.raises(LookupError, match="nobody has published"):
        say("show", post_id)
    say("publish", "ann", post_id)
    assert say("drafts", "ann") == []
    assert [line.partition("ann: ")[2] for line in say("feed")] == ["Hello, world"]
    say("comment", "bob", post_id, "Welcome, Ann")
    say("rename", "bob", "Robert")
    say("like", "bob", post_id)
    assert say("show", post_id)[1:] == ["1 like, 1 comment", "  Robert: Welcome, Ann"]
    say("unlike", "bob", post_id)
    assert say("show", post_id)[1] == "0 likes, 1 comment"
    say("follow", "bob", "ann")
    assert (say("followers", "ann"), say("following", "bob")) == (["bob"], ["ann"])
    assert say("profile", "ann")[1:] == ["1 follower, following 0", *say("feed")]
    say("unfollow", "bob", "ann")
    assert (say("followers", "ann"), say("following", "bob")) == ([], [])
    say("found", "ann", "chess", "Chess Club")
    say("join", "bob", "chess")
    assert say("groups", "bob") == ["chess (member)"]
    say("leave", "bob", "chess")
    assert say("groups", "bob") == []
    assert say("members", "chess") == ["Chess Club, 1 member", "  ann (admin)"]
    assert used == {command.__name__.replace("_", "-") for command in social.COMMANDS}


def test_errors_are_one_line(tmp_path: Path) -> None:
    done = process("join", "zoe", "chess", db=tmp_path / "social.db")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("social: there is no ")
    assert done.stderr.count("\n") == 1


# --- Users ------------------------------------------------------------------------------------------------------------


def test_a_user_is_found_by_username_and_by_email(network: Network) -> None:
    assert user(network, "ann").name == "Ann"
    assert network.user_by_email("ann@example.com") == user(network, "ann")
    assert network.profile("zoe") is None
    assert network.user_by_email("zoe@example.com") is None


def test_usernames_and_addresses_are_unique(network: Network) -> None:
    with pytest.raises(AlreadyExists):
        network.sign_up("ann", "other@example.com", "Another Ann")
    with pytest.raises(NotUnique):
        network.sign_up("other", "ann@example.com", "Another Ann")
    assert network.profile("other") is None
    assert network.user_by_email("other@example.com") is None


def test_concurrent_sign_ups_with_one_address_add_one_user(network: Network) -> None:
    names = [f"new-{number}" for number in range(8)]
    failed = at_once(*(lambda n=name: network.sign_up(n, "new@example.com", n) for name in names))
    assert [failure(error) for error in failed] == [NotUnique] * 7
    (there,) = [name for name in names if network.profile(name)]
    found = network.user_by_email("new@example.com")
    assert found is not None
    assert found.username == there


# --- Posts ------------------------------------------------------------------------------------------------------------


def test_feed_has_published_posts_newest_first(network: Network) -> None:
    first = published(network, "ann", "first")
    draft = network.draft("bob", "not yet")
    second = published(network, "cid", "second")
    assert [one.post_id for one in network.feed()] == [second, first]
    network.publish("bob", draft)
    assert [one.post_id for one in network.feed()] == [draft, second, first]


def test_timeline_has_pages(network: Network) -> None:
    mine = [published(network, "ann", f"post {number}") for number in range(5)]
    published(network, "bob")
    network.draft("ann", "not yet")
    page = network.timeline("ann", limit=2)
    assert [one.post_id for one in page] == [mine[4], mine[3]]
    assert page.cursor is not None
    whole = everything(lambda after: network.timeline("ann", limit=2, after=after))
    assert [one.post_id for one in whole] == mine[::-1]


def test_only_own_drafts_can_be_published(network: Network) -> None:
    post_id = network.draft("ann", "mine")
    with pytest.raises(LookupError, match="is no draft of bob"):
        network.publish("bob", post_id)
    network.publish("ann", post_id)
    at = post(network, post_id).published_at
    with pytest.raises(LookupError, match="is no draft of ann"):
        network.publish("ann", post_id)
    assert post(network, post_id).published_at == at


def test_post_needs_an_existing_author(network: Network) -> None:
    with pytest.raises(TransactionCancelled, match="there is no User username='zoe'"):
        network.draft("zoe", "hello")
    assert list(network.drafts("zoe")) == []


# --- Comments ---------------------------------------------------------------------------------------------------------


def test_a_post_and_its_newest_comments_are_one_query() -> None:
    calls: list[Call] = []
    db = Client(SCHEMA, TABLE, Embedded(), observe=calls.append)
    db.create_table()
    network = Network(db)
    network.sign_up("ann", "ann@example.com", "Ann")
    post_id = published(network)
    texts = [f"comment {number}" for number in range(30)]
    for text in texts:
        network.comment("ann", post_id, text)
    calls.clear()
    found = network.post_page(post_id)
    assert [(call.operation, call.index) for call in calls] == [("Query", "")]
    assert found.one(Post) == post(network, post_id)
    assert len(found.all(Comment)) == 19
    assert {one.text for one in found.all(Comment)} <= set(texts)
    assert [one.comment_id for one in found.all(Comment)] == sorted(
        (one.comment_id for one in found.all(Comment)), reverse=True
    )
    assert network.newest_comments(post_id) == found.all(Comment)[:10]


def test_comment_has_the_name_of_its_author(network: Network) -> None:
    post_id = published(network)
    assert network.comment("bob", post_id, "Hi").name == "Bob"
    with pytest.raises(LookupError, match="there is no user zoe"):
        network.comment("zoe", post_id, "Hi")


def test_draft_cannot_be_liked_or_commented(network: Network) -> None:
    post_id = network.draft("ann", "not yet")
    with pytest.raises(TransactionCancelled):
        network.comment("bob", post_id, "Hi")
    with pytest.raises(TransactionCancelled):
        network.like("bob", post_id)
    assert list(network.likes(post_id)) == []
    assert network.newest_comments(post_id) == []


def test_only_the_author_removes_a_comment(network: Network) -> None:
    post_id = published(network)
    comment = network.comment("bob", post_id, "Hi")
    with pytest.raises(TransactionCancelled):
        network.remove_comment(post_id, comment.comment_id, "ann")
    assert post(network, post_id).comment_count == 1
    network.remove_comment(post_id, comment.comment_id, "bob")
    assert post(network, post_id).comment_count == 0
    assert network.newest_comments(post_id) == []


def test_concurrent_comments_are_counted(network: Network) -> None:
    post_id = published(network)

    def talk(username: str) -> None:
        for number in range(10):
            network.comment(username, post_id, str(number))

    assert at_once(*(lambda n=name: talk(n) for name in PEOPLE)) == []
    assert post(network, post_id).comment_count == 80
    pages = everything(lambda after: network.comments_by_user("bob", limit=3, after=after))
    assert [one.text for one in sorted(pages, key=lambda one: one.comment_id)].count("9") == 1


def test_rename_updates_all_comments(network: Network) -> None:
    posts = [published(network, content=str(number)) for number in range(3)]
    for post_id in posts:
        network.comment("bob", post_id, "Hi")
        network.comment("cid", post_id, "Hi")
    for number in range(120):
        network.comment("bob", posts[0], str(number))
    network.rename("bob", "Robert")
    assert user(network, "bob").name == "Robert"
    comments = list(everything(lambda after: network.comments_by_user("bob", after=after)))
    assert (len(comments), {one.name for one in comments}) == (123, {"Robert"})
    names = [{one.username: one.name for one in network.newest_comments(post_id)} for post_id in posts[1:]]
    assert names == [{"bob": "Robert", "cid": "Cid"}] * 2


def test_comment_during_a_rename_has_the_new_name(network: Network) -> None:
    class Renamed(Network):
        """Renames a user once, right after their name was read."""

        def current_name(self, username: str) -> UserView | None:
            found = super().current_name(username)
            if found and found.name == "Bob":
                self.rename("bob", "Robert")
            return found

    post_id = published(network)
    stale = Comment(post_id=post_id, comment_id=ulid(), username="bob", name="Bobby", text="Hi")
    with pytest.raises(TransactionCancelled):
        network.add_comment(stale)
    assert Renamed(network.db).comment("bob", post_id, "Hi").name == "Robert"
    assert [one.name for one in network.newest_comments(post_id)] == ["Robert"]
    assert post(network, post_id).comment_count == 1


def test_concurrent_comments_and_renames_agree_in_the_end(network: Network) -> None:
    post_id = published(network)

    def talk() -> None:
        for number in range(20):
            network.comment("bob", post_id, str(number))

    def become(name: str) -> None:
        for number in range(5):
            network.rename("bob", f"{name} {number}")

    assert at_once(talk, talk, lambda: become("Robert"), lambda: become("Bobby")) == []
    comments = list(everything(lambda after: network.comments_by_user("bob", after=after)))
    assert len(comments) == 40
    assert {one.name for one in comments} == {user(network, "bob").name}


# --- Likes and follows ------------------------------------------------------------------------------------------------


def test_each_user_likes_a_post_once(network: Network) -> None:
    post_id = published(network)
    assert network.find_like(post_id, "bob") is None
    network.like("bob", post_id)
    with pytest.raises(TransactionCancelled, match="exists already"):
        network.like("bob", post_id)
    assert network.find_like(post_id, "bob") is not None
    assert post(network, post_id).like_count == 1
    network.unlike(post_id, "bob")
    with pytest.raises(TransactionCancelled, match="there is no Like"):
        network.unlike(post_id, "bob")
    assert post(network, post_id).like_count == 0


def test_concurrent_likes_of_one_user_count_once(network: Network) -> None:
    post_id = published(network)
    failed = at_once(*[lambda: network.like("bob", post_id)] * 4, *[lambda: network.like("cid", post_id)] * 4)
    assert [failure(error) for error in failed] == [AlreadyExists] * 6
    assert sorted(one.username for one in network.likes(post_id)) == ["bob", "cid"]
    assert post(network, post_id).like_count == 2


def test_follows_are_listed_from_both_sides(network: Network) -> None:
    pairs = {("ann", "bob"), ("bob", "ann"), ("cid", "ann"), ("ann", "dee")}
    for follower, followed in pairs:
        network.follow(follower, followed)
    network.unfollow("cid", "ann")
    pairs.remove(("cid", "ann"))
    assert {(one.follower, one.followed) for name in PEOPLE for one in network.following(name)} == pairs
    assert {(one.follower, one.followed) for name in PEOPLE for one in network.followers(name)} == pairs
    assert {pair for pair in ((a, b) for a in PEOPLE for b in PEOPLE) if network.find_follow(*pair)} == pairs
    assert (user(network, "ann").following_count, user(network, "ann").follower_count) == (2, 1)


def test_refused_follow_is_not_counted(network: Network) -> None:
    network.follow("ann", "bob")
    with pytest.raises(TransactionCancelled, match="exists already"):
        network.follow("ann", "bob")
    with pytest.raises(TransactionCancelled, match="there is no User"):
        network.follow("ann", "zoe")
    with pytest.raises(ValueError, match="nobody follows themselves"):
        network.follow("ann", "ann")
    assert user(network, "ann").following_count == user(network, "bob").follower_count == 1
    assert user(network, "ann").follower_count == 0


# --- Groups -----------------------------------------------------------------------------------------------------------


def both_sides(network: Network, *groups: str) -> tuple[list[Membership], list[Membership]]:
    """All memberships, as listed by user and as listed by group."""
    of_users = [one for name in PEOPLE for one in network.groups(name)]
    of_groups = [one for group in groups for one in network.members(group)]
    return sorted(of_users, key=str), sorted(of_groups, key=str)


def count(network: Network, group_id: str) -> int:
    group = network.group(group_id)
    assert group is not None
    return group.member_count


def test_founder_is_a_member(network: Network) -> None:
    network.found("ann", "chess", "Chess Club")
    found = network.find_membership("ann", "chess")
    assert found is not None
    assert found.role == "ADMIN"
    assert network.find_membership("bob", "chess") is None
    with pytest.raises(TransactionCancelled, match="exists already"):
        network.found("bob", "chess", "Another Chess Club")
    group = network.group("chess")
    assert group is not None
    assert group.title == "Chess Club"
    assert count(network, "chess") == 1


def test_members_are_listed_in_order_of_joining(network: Network) -> None:
    network.found("hal", "chess", "Chess Club")
    for name in ("cid", "ann", "bob"):
        network.join(name, "chess")
    assert [one.username for one in network.members("chess")] == ["hal", "cid", "ann", "bob"]


def test_both_sides_agree_with_concurrent_joins_and_leaves(network: Network) -> None:
    network.found("ann", "chess", "Chess Club")
    network.found("bob", "go", "Go Club")

    def wander(username: str) -> None:
        for number in range(6):
            network.join(username, "chess")
            network.join(username, "go")
            network.leave(username, "chess")
            if number < 5 or username in ("cid", "dee"):
                network.leave(username, "go")

    assert at_once(*(lambda n=name: wander(n) for name in PEOPLE[2:])) == []
    of_users, of_groups = both_sides(network, "chess", "go")
    assert of_users == of_groups
    assert sorted(one.username for one in of_groups if one.group_id == "go") == ["bob", "eva", "flo", "gus", "hal"]
    assert (len(of_groups), count(network, "chess"), count(network, "go")) == (6, 1, 5)


def test_refused_membership_is_not_counted(network: Network) -> None:
    network.found("ann", "chess", "Chess Club")
    for username, group_id, why in (
        ("ann", "chess", AlreadyExists),
        ("zoe", "chess", NotFound),
        ("bob", "go", NotFound),
    ):
        with pytest.raises(TransactionCancelled) as refused:
            network.join(username, group_id)
        assert failure(refused.value) is why
    with pytest.raises(TransactionCancelled):
        network.leave("bob", "chess")
    of_users, of_groups = both_sides(network, "chess", "go")
    assert of_users == of_groups
    assert [one.username for one in of_groups] == ["ann"]
    assert count(network, "chess") == 1
