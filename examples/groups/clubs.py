"""Clubs and their members, async, with a permission check before each action.

`python clubs.py` runs a demo in memory; `--db FILE`, `--endpoint URL` or `--aws` select another location.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import UUID, uuid4

from prejoin import AWS, AsyncClient, Embedded, Endpoint, refresh, ulid

from groups.async_repository import AsyncGroupsRepository
from groups.entities import Group, Membership, MembershipRole, User
from groups.schema import SCHEMA, TABLE

T = TypeVar("T")


class Clubs(AsyncGroupsRepository):
    """The access patterns and the rules of clubs."""

    async def add_user(self, name: str) -> UUID:
        user = User(user_id=uuid4(), name=name, created_at=now())
        await self.sign_up(user)
        return user.user_id

    async def open(self, founder: UUID, name: str) -> str:
        """Creates a club with its founder as the first admin, and returns its id."""
        user = known(await self.user_profile(founder), "user", founder)
        group = Group(group_id=ulid(), name=name, member_count=1, created_at=now())
        await self.found_group(group, membership(user, group, "ADMIN"))
        return group.group_id

    async def join(self, user_id: UUID, group_id: str) -> None:
        user, group = await asyncio.gather(self.user_profile(user_id), self.group_head(group_id))
        await self.join_group(membership(known(user, "user", user_id), known(group, "group", group_id), "MEMBER"))

    async def promote(self, admin: UUID, user_id: UUID, group_id: str) -> None:
        """Makes a member an admin."""
        await self.only_admin(admin, group_id)
        await self.change_member_role(user_id, group_id, "ADMIN")

    async def expel(self, admin: UUID, user_id: UUID, group_id: str) -> None:
        await self.only_admin(admin, group_id)
        await self.leave_group(user_id, group_id)

    async def rename_club(self, admin: UUID, group_id: str, name: str) -> None:
        """Renames a club, also in the lists of its members."""
        await self.only_admin(admin, group_id)
        known(await self.group_head(group_id), "group", group_id)
        await self.rename_group(group_id, name)
        await refresh(self.db, Group, group_id=group_id)

    async def rename_person(self, user_id: UUID, name: str) -> None:
        """Renames a user, also in the lists of their clubs."""
        await self.rename_user(user_id, name)
        await refresh(self.db, User, user_id=user_id)

    async def only_admin(self, user_id: UUID, group_id: str) -> None:
        found = await self.check_membership(user_id, group_id)
        if found is None:
            raise PermissionError("only members of the club may do that")
        if found.role != "ADMIN":
            raise PermissionError("only admins of the club may do that")


@asynccontextmanager
async def opened(db: str | None = None, endpoint: str | None = None, aws: bool = False) -> AsyncIterator[Clubs]:
    """Opens the clubs in memory, in a file, on a server or on AWS, and creates the table if it is missing."""
    place: AWS | Endpoint | Embedded = AWS() if aws else Endpoint(endpoint) if endpoint else Embedded(db)
    async with AsyncClient(SCHEMA, TABLE, place) as client:
        if not aws:  # template.yaml creates it there
            await client.create_table(if_absent=True)
        yield Clubs(client)


def known(found: T | None, what: str, key: object) -> T:
    if found is None:
        raise LookupError(f"there is no {what} {key}")
    return found


def membership(user: User, group: Group, role: MembershipRole) -> Membership:
    """A membership with copies of both names."""
    return Membership(
        user_id=user.user_id,
        group_id=group.group_id,
        role=role,
        joined_at=now(),
        user_name=user.name,
        group_name=group.name,
    )


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


async def meet(clubs: Clubs) -> AsyncIterator[str]:
    """The demo: three users and two clubs, listed from both sides."""
    ann, bob, cid = await asyncio.gather(*map(clubs.add_user, ("Ann", "Bob", "Cid")))
    chess, go = await asyncio.gather(clubs.open(ann, "Chess"), clubs.open(bob, "Go"))
    for user_id, group_id in ((bob, chess), (cid, chess), (cid, go)):
        await clubs.join(user_id, group_id)
    await clubs.promote(ann, cid, chess)
    await clubs.rename_club(cid, chess, "Chess & Draughts")
    for group_id in (chess, go):
        group, members = await asyncio.gather(clubs.group_head(group_id), clubs.members_of_group(group_id))
        names = ", ".join(f"{one.user_name} ({one.role.lower()})" for one in members)
        yield f"{known(group, 'group', group_id).name}: {names}"
    for user_id in (ann, bob, cid):
        user, mine = await asyncio.gather(clubs.user_profile(user_id), clubs.groups_of_user(user_id))
        yield f"{known(user, 'user', user_id).name}: {', '.join(sorted(one.group_name for one in mine))}"


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--db", metavar="FILE", help="a file of the embedded engine; default: in memory")
    parser.add_argument("--endpoint", metavar="URL", help="a DynamoDB-compatible server")
    parser.add_argument("--aws", action="store_true", help="AWS; template.yaml creates the table")
    async with opened(**vars(parser.parse_args())) as clubs:
        async for line in meet(clubs):
            print(line)


if __name__ == "__main__":
    asyncio.run(main())
