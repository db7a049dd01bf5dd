"""The clubs: permissions, both sides of every membership, and copied names."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
from prejoin import Page, TransactionCancelled

from clubs import Clubs, meet, membership, opened
from groups.entities import Group

HERE = Path(__file__).resolve().parents[1]
NOWHERE = "01KFZS3155W9EHM4Y052A2NAB0"

Item = TypeVar("Item")
Seen = tuple[UUID, str, str]
"""A user, a club, and the role."""


def run(story: Callable[[Clubs], Awaitable[None]], endpoint: str | None = None) -> None:
    """Runs a scenario on a new table."""

    async def run_story() -> None:
        async with opened(endpoint=endpoint) as clubs:
            await story(clubs)

    asyncio.run(run_story())


async def head(clubs: Clubs, group_id: str) -> Group:
    found = await clubs.group_head(group_id)
    assert found is not None
    return found


async def everything(read: Callable[[str | None], Awaitable[Page[Item]]]) -> AsyncIterator[Item]:
    """All items of a read, from all pages."""
    page = await read(None)
    while True:
        for one in page:
            yield one
        if page.cursor is None:
            return
        page = await read(page.cursor)


async def side_of(clubs: Clubs, user_id: UUID) -> set[Seen]:
    mine = everything(lambda after: clubs.groups_of_user(user_id, limit=2, after=after))
    return {(user_id, one.group_id, one.role) async for one in mine}


async def other_side_of(clubs: Clubs, group_id: str) -> set[Seen]:
    members = everything(lambda after: clubs.members_of_group(group_id, limit=2, after=after))
    return {(one.user_id, group_id, one.role) async for one in members}


async def both_sides(clubs: Clubs, users: list[UUID], groups: list[str]) -> tuple[set[Seen], set[Seen]]:
    """Every membership, as listed by user and as listed by club."""
    of_users = await asyncio.gather(*(side_of(clubs, user_id) for user_id in users))
    of_groups = await asyncio.gather(*(other_side_of(clubs, group_id) for group_id in groups))
    return set().union(*of_users), set().union(*of_groups)


def test_membership_is_listed_from_both_sides() -> None:
    async def story(clubs: Clubs) -> None:
        ann, bob = await clubs.add_user("Ann"), await clubs.add_user("Bob")
        chess = await clubs.open(ann, "Chess")
        assert await clubs.check_membership(bob, chess) is None
        await clubs.join(bob, chess)
        found = await clubs.check_membership(bob, chess)
        assert found is not None
        assert found.role == "MEMBER"
        assert [one.group_name for one in await clubs.groups_of_user(bob)] == ["Chess"]
        assert [one.user_name for one in await clubs.members_of_group(chess)] == ["Ann", "Bob"]
        assert [one.user_name for one in await clubs.admins_of_group(chess)] == ["Ann"]
        await clubs.leave_group(bob, chess)
        assert await clubs.check_membership(bob, chess) is None
        assert [one.user_name for one in await clubs.members_of_group(chess)] == ["Ann"]
        assert list(await clubs.groups_of_user(bob)) == []
        assert (await head(clubs, chess)).member_count == 1

    run(story)


def test_both_sides_and_count_agree_with_concurrent_members(prejoin_url: str) -> None:
    async def story(clubs: Clubs) -> None:
        users = [await clubs.add_user(f"user {number}") for number in range(8)]
        groups = [await clubs.open(users[0], "Chess"), await clubs.open(users[1], "Go")]

        async def wander(user_id: UUID, stays: bool) -> None:
            for group_id in groups:
                await clubs.join(user_id, group_id)
                await clubs.leave_group(user_id, group_id)
            if stays:
                await clubs.join(user_id, groups[0])

        await asyncio.gather(*(wander(user_id, at % 2 == 0) for at, user_id in enumerate(users[2:])))
        of_users, of_groups = await both_sides(clubs, users, groups)
        assert of_users == of_groups
        assert len(of_groups) == 5
        assert [(await head(clubs, group_id)).member_count for group_id in groups] == [4, 1]

    run(story, prejoin_url)


def test_second_join_is_refused(prejoin_url: str) -> None:
    async def story(clubs: Clubs) -> None:
        ann, bob = await clubs.add_user("Ann"), await clubs.add_user("Bob")
        chess = await clubs.open(ann, "Chess")
        done = await asyncio.gather(*(clubs.join(bob, chess) for _ in range(5)), return_exceptions=True)
        assert sorted(str(one) if one is None else type(one).__name__ for one in done) == [
            "None",
            *["TransactionCancelled"] * 4,
        ]
        assert (await head(clubs, chess)).member_count == 2
        with pytest.raises(TransactionCancelled, match="there is no Membership"):
            await clubs.leave_group(await clubs.add_user("Cid"), chess)
        assert (await head(clubs, chess)).member_count == 2

    run(story, prejoin_url)


def test_missing_user_or_club_cannot_join() -> None:
    async def story(clubs: Clubs) -> None:
        ann = await clubs.add_user("Ann")
        chess = await clubs.open(ann, "Chess")
        with pytest.raises(LookupError, match="there is no user"):
            await clubs.join(uuid4(), chess)
        with pytest.raises(LookupError, match="there is no group"):
            await clubs.join(ann, NOWHERE)
        with pytest.raises(LookupError, match="there is no user"):
            await clubs.open(uuid4(), "Go")

    run(story)


def test_club_has_a_member_limit() -> None:
    async def story(clubs: Clubs) -> None:
        ann = await clubs.add_user("Ann")
        chess = await clubs.open(ann, "Chess")
        async with clubs.db.update(Group, group_id=chess) as group:
            group.member_count = 5000
        with pytest.raises(TransactionCancelled, match="condition"):
            await clubs.join(await clubs.add_user("Bob"), chess)
        assert len(await clubs.members_of_group(chess)) == 1

    run(story)


def test_only_an_admin_promotes_expels_and_renames() -> None:
    async def story(clubs: Clubs) -> None:
        ann, bob, cid = [await clubs.add_user(name) for name in ("Ann", "Bob", "Cid")]
        chess = await clubs.open(ann, "Chess")
        await clubs.join(bob, chess)
        for by, who in ((bob, "admins"), (cid, "members")):
            with pytest.raises(PermissionError, match=f"only {who}"):
                await clubs.promote(by, bob, chess)
            with pytest.raises(PermissionError, match=f"only {who}"):
                await clubs.expel(by, ann, chess)
            with pytest.raises(PermissionError, match=f"only {who}"):
                await clubs.rename_club(by, chess, "Mine")
        await clubs.promote(ann, bob, chess)
        await clubs.expel(bob, ann, chess)
        assert [one.user_name for one in await clubs.admins_of_group(chess)] == ["Bob"]
        assert (await head(clubs, chess)).member_count == 1

    run(story)


def test_rename_updates_every_list() -> None:
    async def story(clubs: Clubs) -> None:
        ann = await clubs.add_user("Ann")
        chess, go = await clubs.open(ann, "Chess"), await clubs.open(ann, "Go")
        others = [await clubs.add_user(f"user {number}") for number in range(60)]
        for user_id in others:
            await clubs.join(user_id, chess)
        await clubs.rename_person(ann, "Anna")
        await clubs.rename_club(ann, chess, "Draughts")
        for group_id in (chess, go):
            assert (await clubs.members_of_group(group_id))[0].user_name == "Anna"
        assert sorted([one.group_name for one in await clubs.groups_of_user(ann)]) == ["Draughts", "Go"]
        for user_id in others:
            assert [one.group_name for one in await clubs.groups_of_user(user_id)] == ["Draughts"]

    run(story)


def test_an_old_name_never_comes_back(prejoin_url: str) -> None:
    async def story(clubs: Clubs) -> None:
        ann, bob = await clubs.add_user("Ann"), await clubs.add_user("Bob")
        chess = await clubs.open(ann, "Chess")
        await clubs.rename_club(ann, chess, "Draughts")
        user, group = await clubs.user_profile(bob), await head(clubs, chess)
        assert user is not None
        for stale in (
            membership(user, replace(group, name="Chess"), "MEMBER"),
            membership(replace(user, name="Bobby"), group, "MEMBER"),
        ):
            with pytest.raises(TransactionCancelled):
                await clubs.join_group(stale)
        await clubs.join(bob, chess)
        (mine,) = await clubs.groups_of_user(bob)
        assert mine.group_name == "Draughts"
        await asyncio.gather(*(clubs.rename_person(bob, f"Bob {number}") for number in range(5)))
        user = await clubs.user_profile(bob)
        assert user is not None
        assert [one.user_name for one in await clubs.members_of_group(chess)] == ["Ann", user.name]

    run(story, prejoin_url)


def test_command_prints_the_clubs(tmp_path: Path) -> None:
    given = [sys.executable, "clubs.py", "--db", str(tmp_path / "groups.db")]
    done = subprocess.run(given, cwd=HERE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "Chess & Draughts: Ann (admin), Bob (member), Cid (admin)",
        "Go: Bob (admin), Cid (member)",
        "Ann: Chess & Draughts",
        "Bob: Chess & Draughts, Go",
        "Cid: Chess & Draughts, Go",
    ]


def test_command_on_a_server(prejoin_url: str) -> None:
    async def run_story() -> list[str]:
        async with opened(endpoint=prejoin_url) as clubs:
            return [line async for line in meet(clubs)]

    assert asyncio.run(run_story())[0] == "Chess & Draughts: Ann (admin), Bob (member), Cid (admin)"
