"""Hostile cursors: for any text, a query returns one of its own pages or raises CursorError."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attack import cursors as attack
from tests.attack.cursors import ASKS, Order, client, cursors_of, mutated, possible, violation
from tests.place import examples

from prejoin import Client, CursorError, EncryptedCursors, SignedCursors, TableError
from prejoin.table.read.cursor import Cursors, Position, encode_cursor, from_text, open_cursor, to_text

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
SEALED = [SignedCursors, EncryptedCursors]

PLAIN_DB = client()
SIGNED_DB = client(SignedCursors(KEY))
ENCRYPTED_DB = client(EncryptedCursors(KEY))
POSSIBLE = {name: possible(PLAIN_DB, name) for name in ASKS}
OWN = {id(db): {name: cursors_of(db, name) for name in ASKS} for db in (PLAIN_DB, SIGNED_DB, ENCRYPTED_DB)}

KEY_VALUES = st.fixed_dictionaries({"S": st.text()}) | st.fixed_dictionaries({"N": st.integers().map(str)})
POSITIONS = st.builds(
    Position,
    st.text(),
    st.integers(-(2**63), 2**63 - 1),
    st.lists(st.none() | st.dictionaries(st.text(), KEY_VALUES)),
    st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC)),
)


def page(db: Client, name: str, after: str | None) -> Any:
    return ASKS[name](db, after)


# --- Round trip -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cursors", [None, SignedCursors(KEY), EncryptedCursors(KEY)], ids=["plain", "signed", "encrypted"]
)
@given(position=POSITIONS)
def test_cursor_reads_back_as_it_was_written(cursors: Cursors | None, position: Position) -> None:
    assert open_cursor(encode_cursor(position, cursors), cursors) == position


@pytest.mark.parametrize("db", [SIGNED_DB, ENCRYPTED_DB], ids=["signed", "encrypted"])
@pytest.mark.parametrize("name", [name for name in ASKS if name not in ("everything", "segments", "last week")])
def test_pages_of_sealed_cursors_are_those_of_plain_ones(db: Client, name: str) -> None:
    for client_ in (PLAIN_DB, db):
        assert OWN[id(client_)][name], "the query has several pages"
    plain, sealed = page(PLAIN_DB, name, None), page(db, name, None)
    while plain.cursor is not None:
        assert plain.items == sealed.items
        plain, sealed = page(PLAIN_DB, name, plain.cursor), page(db, name, sealed.cursor)
    assert (plain.items, None) == (sealed.items, sealed.cursor)


# --- Hostile cursors --------------------------------------------------------------------------------------------------


@settings(max_examples=examples(300))
@given(name=st.sampled_from(list(ASKS)), seed=st.integers(0, 2**64))
def test_mutated_plain_cursor_gives_a_page_of_the_query_or_an_error(name: str, seed: int) -> None:
    chance = random.Random(seed)
    cursor = mutated(chance.choice(OWN[id(PLAIN_DB)][name]), chance)
    assert violation(PLAIN_DB, name, cursor, POSSIBLE[name], sealed=False) is None


@pytest.mark.parametrize("db", [SIGNED_DB, ENCRYPTED_DB], ids=["signed", "encrypted"])
@settings(max_examples=examples(200))
@given(name=st.sampled_from(list(ASKS)), seed=st.integers(0, 2**64))
def test_mutated_sealed_cursor_is_refused(db: Client, name: str, seed: int) -> None:
    chance = random.Random(seed)
    cursor = mutated(chance.choice(OWN[id(db)][name]), chance)
    assert violation(db, name, cursor, (), sealed=True) is None


@pytest.mark.parametrize("db", [PLAIN_DB, SIGNED_DB, ENCRYPTED_DB], ids=["plain", "signed", "encrypted"])
@given(
    cursor=st.text()
    | st.binary(max_size=200).map(to_text)
    | st.binary()
    | st.integers()
    | st.floats()
    | st.lists(st.none())
)
def test_arbitrary_cursor_is_refused(db: Client, cursor: Any) -> None:
    for name in ASKS:
        assert violation(db, name, cursor, (), sealed=True) is None


@pytest.mark.parametrize("db", [SIGNED_DB, ENCRYPTED_DB], ids=["signed", "encrypted"])
def test_every_flipped_bit_of_a_sealed_cursor_is_refused(db: Client) -> None:
    content = from_text(OWN[id(db)]["query"][0])
    for at in range(8 * len(content)):
        changed = bytearray(content)
        changed[at // 8] ^= 1 << at % 8
        with pytest.raises(CursorError):
            page(db, "query", to_text(bytes(changed)))


@pytest.mark.parametrize("db", [PLAIN_DB, SIGNED_DB, ENCRYPTED_DB], ids=["plain", "signed", "encrypted"])
def test_cursor_has_one_text_only(db: Client) -> None:
    for cursor in OWN[id(db)]["query"]:
        for other in (cursor + "=", cursor + "\n", " " + cursor, cursor.replace("-", "+").replace("_", "/")):
            if other != cursor:
                with pytest.raises(CursorError):
                    page(db, "query", other)


@pytest.mark.parametrize("db", [PLAIN_DB, SIGNED_DB, ENCRYPTED_DB], ids=["plain", "signed", "encrypted"])
def test_cursor_of_another_query_is_refused(db: Client) -> None:
    tried = 0
    for name in ASKS:
        for other, cursors in OWN[id(db)].items():
            if other != name:
                tried += 1
                with pytest.raises(CursorError):
                    page(db, name, cursors[0])
    assert tried == len(ASKS) * (len(ASKS) - 1)


def test_cursor_of_another_client_is_refused() -> None:
    clients = (PLAIN_DB, SIGNED_DB, ENCRYPTED_DB, client(SignedCursors(OTHER_KEY)), client(EncryptedCursors(OTHER_KEY)))
    for db in clients:
        for other in clients:
            if other is not db:
                with pytest.raises(CursorError):
                    page(db, "query", page(other, "query", None).cursor)


@pytest.mark.parametrize(
    "key",
    [
        {"pk": {"S": "TENANT#globex"}, "sk": {"S": "ORDER#B3"}},
        {"pk": {"S": "TENANT#acme"}, "sk": {"S": "NOTE#B3"}},
        {"pk": {"S": "TENANT#acme"}},
        {"pk": {"S": "TENANT#acme"}, "sk": {"S": "ORDER#B3"}, "more": {"S": "x"}},
        {"pk": {"S": "TENANT#acme"}, "sk": {"N": "3"}},
        {},
    ],
)
def test_start_key_outside_of_the_query_is_refused_before_anything_is_sent(key: Any) -> None:
    cursor = OWN[id(PLAIN_DB)]["query"][0]
    forged = msgspec.structs.replace(open_cursor(cursor), keys=[key])
    sent: list[Any] = []
    db = Client(PLAIN_DB.schema, "shop", PLAIN_DB._transport, observe=sent.append)
    with pytest.raises(CursorError):
        page(db, "query", encode_cursor(forged))
    assert sent == []
    assert page(db, "query", cursor).items
    assert len(sent) == 1


def test_error_is_of_the_family_and_does_not_show_the_cursor() -> None:
    with pytest.raises(TableError) as caught:
        page(PLAIN_DB, "query", "c2VjcmV0")
    assert isinstance(caught.value, CursorError)
    assert "c2VjcmV0" not in str(caught.value)


# --- Keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SEALED)
def test_keys_can_be_changed(kind: Any) -> None:
    before = client(kind(KEY))
    cursor = page(before, "query", None).cursor
    rotated = Client(before.schema, "shop", before._transport, cursors=kind(OTHER_KEY, previous=[KEY]))
    after = Client(before.schema, "shop", before._transport, cursors=kind(OTHER_KEY))
    second = page(rotated, "query", cursor)
    assert second.items == page(before, "query", cursor).items
    assert page(after, "query", second.cursor).items  # signed with the new key
    with pytest.raises(CursorError):
        page(after, "query", cursor)


@pytest.mark.parametrize("kind", SEALED)
def test_cursors_expire_if_wanted(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cursors = kind(KEY, lifetime=timedelta(minutes=10))
    cursor = cursors.seal(Position("query", 0, [None]))
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 599)
    assert cursors.open(cursor).query == "query"
    monkeypatch.setattr("time.time", lambda: now + 602)
    with pytest.raises(CursorError, match="has expired"):
        cursors.open(cursor)
    assert kind(KEY).open(cursor).query == "query"


@pytest.mark.parametrize("kind", SEALED)
def test_keys_are_long_and_never_shown(kind: Any) -> None:
    secret = b"this is a secret of 32 bytes !!!"
    cursors = kind(secret, previous=[KEY])
    assert repr(cursors) == f"<{kind.__name__} with 2 keys>"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(cursors)
    for wrong in (b"", secret[:31], secret.decode(), None, 7):
        for make in (lambda one: kind(one), lambda one: kind(KEY, previous=[one])):
            with pytest.raises((TypeError, ValueError)) as caught:
                make(wrong)
            assert "secret of" not in str(caught.value)
    with pytest.raises(TypeError):
        kind(KEY, previous=KEY)
    with pytest.raises(ValueError, match="lifetime"):
        kind(KEY, lifetime=timedelta(0))


def test_encrypted_cursors_show_no_keys() -> None:
    signed, encrypted = from_text(OWN[id(SIGNED_DB)]["query"][0]), from_text(OWN[id(ENCRYPTED_DB)]["query"][0])
    assert b"TENANT#acme" in signed
    assert b"TENANT" not in encrypted
    assert b"acme" not in encrypted
    first, second = (page(ENCRYPTED_DB, "query", None).cursor for _ in range(2))
    assert first != second, "two cursors of one place cannot be told to be of one place"


def test_clients_of_tenants_and_of_asyncio_sign_as_well() -> None:
    import asyncio

    from prejoin import AsyncClient, Entity, Key, Schema
    from prejoin.engine import Embedded

    schema = Schema(Entity(Order, Key("TENANT#{tenant}#ORDERS", "{number}")), tenant="tenant")
    orders = [Order("acme", number, "OPEN", attack.NOW) for number in range(3)]
    cursors = SignedCursors(KEY)
    db = Client(schema, "shop", Embedded(), cursors=cursors)
    db.create_table()
    db.put_many(orders)
    cursor = db.tenant("acme").query(Order, limit=1).cursor
    assert cursor is not None
    assert cursors.open(cursor).keys

    async def rest() -> Any:
        waiting = AsyncClient(schema, "shop", db._transport, cursors=cursors)  # type: ignore[arg-type]
        second = await waiting.tenant("acme").query(Order, limit=1, after=cursor)
        assert second.cursor is not None
        assert cursors.open(second.cursor).keys
        with pytest.raises(CursorError):
            await waiting.tenant("globex").query(Order, limit=1, after=cursor)
        collected = await waiting.collect((Order,), tenant="acme", limit=1)
        assert cursors.open(collected.cursor or "").keys
        return [order async for part in waiting.pages(Order, tenant="acme", size=1) for order in part]

    assert asyncio.run(rest()) == orders


def test_a_missing_package_is_named() -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from prejoin import EncryptedCursors, SignedCursors\n"
        "SignedCursors(bytes(32))\n"
        "try: EncryptedCursors(bytes(32))\n"
        "except ImportError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install cryptography" in result.stdout, result.stderr


# --- The attack -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_attack_finds_nothing() -> None:
    result = attack.run(1.0, seed=1)
    assert result.tries > 50
    assert result.findings == []


def test_attack_would_find_an_accepted_cursor_and_a_wrong_item() -> None:
    cursor = OWN[id(PLAIN_DB)]["query"][0]
    assert "accepted" in (violation(PLAIN_DB, "query", cursor, (), sealed=True) or "")
    assert "came for" in (violation(PLAIN_DB, "query", cursor, (), sealed=False) or "")
