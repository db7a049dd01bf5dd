"""Large contents: any size comes back byte for byte, readers see one content, and nothing is left behind."""

from __future__ import annotations

import asyncio
import io
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.patterns.faults import Faulty, Lost, in_threads, items, with_every_fault
from tests.place import examples, fresh
from tests.table.both import Connect, both

from prejoin import (
    AlreadyExists,
    ArgumentError,
    AsyncClient,
    Call,
    Changes,
    Client,
    Copy,
    Entity,
    FolderStore,
    History,
    Key,
    Large,
    LargeContentError,
    LargeValue,
    MemoryStore,
    NotFound,
    ObjectStore,
    Schema,
    SchemaError,
    TableError,
    TimeToLive,
    Version,
    audit,
    delete_large,
    read_large,
    remove_garbage,
    store_large,
    stream_large,
    version_of,
    write_large,
)
from prejoin.keys.content import OBJECT_SIZE, PART_SIZE


@dataclass
class Document:
    owner_id: str
    document_id: str
    title: str = ""
    body: LargeValue | None = None
    version: int = 0


KEY = Key("OWNER#{owner_id}", "DOC#{document_id}")
ID: dict[str, Any] = {"owner_id": "o", "document_id": "1"}


def schema(store: ObjectStore | None = None, *more: Any, **options: Any) -> Schema:
    return Schema(Entity(Document, KEY, patterns=[Large("body", store, **options), *more]))


def run(db: Client, function: Any, *args: Any, **key: Any) -> Any:
    """Call a function with the client that `AsyncAsSync` wraps, or with the client itself."""
    client = getattr(db, "_client", db)
    found = function(client, *args, **key)
    if isinstance(client, AsyncClient):
        return asyncio.run(_all(found) if hasattr(found, "__aiter__") else found)
    return list(found) if hasattr(found, "__next__") else found


async def _all(found: Any) -> list[Any]:
    return [one async for one in found]


def document(db: Client) -> Document:
    found: Document | None = db.get(Document, consistent=True, **ID)
    assert found is not None
    return found


def parts(transport: Any) -> list[str]:
    return [item["sk"]["S"] for item in items(transport, "shop") if item["sk"]["S"].startswith("~LARGE")]


@both
@pytest.mark.parametrize("in_folder", [False, True])
def test_content_is_written_and_read(connect: Connect, in_folder: bool, tmp_path: Path) -> None:
    db = connect(schema(FolderStore(tmp_path) if in_folder else None))
    db.insert(Document("o", "1", "Tea"))
    assert run(db, read_large, document(db), "body") == b""
    assert run(db, stream_large, document(db), "body") == [b""]
    size = OBJECT_SIZE + 5 if in_folder else 5 * PART_SIZE + 7
    data = os.urandom(size)
    value = run(db, write_large, Document, "body", data, **ID)
    assert (value.place, value.size, value.parts) == ("objects" if in_folder else "parts", size, 2 if in_folder else 6)
    found = document(db)
    assert found.title == "Tea"
    assert run(db, read_large, found, "body") == data
    assert b"".join(run(db, stream_large, found, "body")) == data
    assert run(db, read_large, found, "body", size - 9, size + 9) == data[-9:]
    assert run(db, audit) == []
    assert run(db, write_large, Document, "body", "kurz", **ID).place == "item"
    assert run(db, read_large, document(db), "body") == b"kurz"
    # The old content is deleted. A reader that has the old object gets the new content.
    assert parts(getattr(db, "_client", db)._transport) == []
    assert list(FolderStore(tmp_path).keys("")) == []
    assert run(db, read_large, found, "body") == b"kurz"
    with pytest.raises(
        LargeContentError, match=r"body of Document owner_id='o', document_id='1': part 1 of .* is missing"
    ):
        run(db, stream_large, found, "body")
    assert run(db, delete_large, Document, **ID)
    assert not run(db, delete_large, Document, **ID)


SMALL = 1024
"""The size of a part in tests of many contents."""
SIZES = st.one_of(st.integers(0, 300), st.sampled_from([n * SMALL for n in (1, 2, 4, 5)]))


@settings(max_examples=examples(60))
@given(size=SIZES, off=st.integers(-1, 1), start=st.floats(0, 1), end=st.floats(0, 1), packs=st.booleans())
@example(size=4 * SMALL, off=1, start=0.0, end=1.0, packs=False)
@example(size=2 * SMALL, off=0, start=0.5, end=0.5, packs=True)
def test_any_range_of_any_size_is_read(size: int, off: int, start: float, end: float, packs: bool) -> None:
    size = max(0, size + off)
    data = (b"tea " * (size // 4 + 1))[:size] if packs else os.urandom(size)
    db = Client(schema(inline=100), "shop", fresh())
    db.create_table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prejoin.patterns.large.content.PART_SIZE", SMALL)
        value = store_large(db, Document, "body", data, **ID)
    found = db.insert(Document("o", "1", body=value))
    low, high = sorted((int(start * size), int(end * size)))
    assert read_large(db, found, "body") == data
    assert read_large(db, found, "body", low, high) == data[low:high]
    assert read_large(db, found, "body", low) == data[low:]
    assert (value.place == "item") == (size <= (SMALL if packs else 100))
    assert value.parts == (0 if value.place == "item" else -(-size // SMALL))


@pytest.mark.parametrize(
    "source", [io.BytesIO(b"a" * 700_000), [b"a" * 100_000] * 7, "a" * 700_000, iter([b"", b"a" * 699_999, b"a"])]
)
def test_source_may_be_a_file_text_or_pieces(source: Any) -> None:
    db = Client(schema(compress=False), "shop", fresh())
    db.create_table()
    found = db.insert(Document("o", "1", body=store_large(db, Document, "body", source, **ID)))
    assert read_large(db, found, "body") == b"a" * 700_000


def test_memory_is_bounded_by_a_few_parts() -> None:
    db = Client(schema(compress=False), "shop", fresh())
    db.create_table()
    taken = read = written = 0

    def pieces() -> Any:
        nonlocal taken
        for _ in range(20):
            taken += 1
            yield b"x" * PART_SIZE

    def count(call: Call) -> None:
        # When the first four parts are written, no more than these and the next two have been asked for.
        nonlocal written
        written += 1
        assert taken <= max(written, 4) + 2 or taken > 6

    found = db.insert(Document("o", "1", body=store_large(_observed(db, count), Document, "body", pieces(), **ID)))
    calls: list[Call] = []
    for piece in stream_large(_observed(db, calls.append), found, "body"):
        read += len(piece)
        assert len(piece) <= 4 * PART_SIZE
        assert len(calls) == -(-read // (4 * PART_SIZE))  # one Query for each piece
    assert read == 20 * PART_SIZE


def _observed(db: Client, observe: Any) -> Client:
    return Client(db.schema, db.table, db._transport, observe=observe)


def test_cost_is_that_of_the_parts() -> None:
    calls: list[Call] = []
    db = Client(schema(compress=False), "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    value = store_large(db, Document, "body", b"x" * (2 * PART_SIZE), **ID)
    assert [(call.operation, call.units) for call in calls] == [("PutItem", 241)] * 2  # a part and its key
    found = db.insert(Document("o", "1", body=value))
    calls.clear()
    read_large(db, found, "body")
    assert [(call.operation, call.units) for call in calls] == [("Query", 60.5)]
    calls.clear()
    read_large(db, found, "body", 10, 20)
    assert [(call.operation, call.units) for call in calls] == [("Query", 30.5)]
    calls.clear()
    write_large(db, Document, "body", b"y" * (2 * PART_SIZE), **ID)
    assert [(call.operation, call.units) for call in calls] == [
        ("PutItem", 241),
        ("PutItem", 241),
        ("GetItem", 1),  # which content is to be removed
        ("GetItem", 1),  # what other patterns need to know of the item
        ("UpdateItem", 1),
        ("BatchWriteItem", 482),  # the old parts
    ]


def test_content_in_a_store_costs_no_units_beside_those_of_the_item() -> None:
    calls: list[Call] = []
    db = Client(schema(MemoryStore(), compress=False), "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    value = store_large(db, Document, "body", b"x" * (2 * PART_SIZE), **ID)
    assert calls == []
    found = db.insert(Document("o", "1", body=value))
    calls.clear()
    read_large(db, found, "body")
    assert calls == []
    write_large(db, Document, "body", b"y" * (2 * PART_SIZE), **ID)
    assert [(call.operation, call.units) for call in calls] == [("GetItem", 1), ("GetItem", 1), ("UpdateItem", 1)]
    calls.clear()
    assert delete_large(db, Document, **ID)
    assert [(call.operation, call.units) for call in calls] == [("GetItem", 1), ("GetItem", 1), ("DeleteItem", 1)]


def test_interrupted_write_leaves_the_old_content_or_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request is lost once, applied or not. Contents without a reference are removed as garbage."""
    monkeypatch.setattr("prejoin.patterns.large.content.PART_SIZE", SMALL)
    small = schema(inline=100)
    old, new = os.urandom(2 * SMALL), os.urandom(5 * SMALL)

    def begin() -> Any:
        transport = fresh()
        db = Client(small, "shop", transport)
        db.create_table()
        db.insert(Document("o", "1", body=store_large(db, Document, "body", old, **ID)))
        return transport

    def act(transport: Any) -> None:
        write_large(Client(small, "shop", transport), Document, "body", new, **ID)

    def check(transport: Any) -> None:
        db = Client(small, "shop", transport)
        found = document(db)
        data = read_large(db, found, "body")
        assert data in (old, new)
        assert remove_garbage(db, Document, "body").done == 0  # it is too young
        remove_garbage(db, Document, "body", clock=_tomorrow)
        assert found.body is not None
        assert len(parts(transport)) == found.body.parts
        assert read_large(db, found, "body") == data

    assert with_every_fault(begin, act, check) >= 10


def _tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1, minutes=1)


def test_interrupted_write_to_a_store_leaves_no_objects(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    transport = fresh()
    db = Client(schema(store, inline=0), "shop", transport)
    db.create_table()
    db.insert(Document("o", "1", body=store_large(db, Document, "body", b"old", **ID)))
    with pytest.raises(Lost):
        write_large(Client(db.schema, "shop", Faulty(transport, 2, applied=False)), Document, "body", b"new", **ID)
    assert len(list(store.keys(""))) == 2
    assert remove_garbage(db, Document, "body").done == 0
    assert remove_garbage(db, Document, "body", clock=_tomorrow).done == 1
    assert read_large(db, document(db), "body") == b"old"
    db.delete(Document, **ID)
    assert remove_garbage(db, Document, "body", clock=_tomorrow).done == 1
    assert list(store.keys("")) == []


class LossyStore:
    """A store in memory that loses its n-th request, applied or not, and all later ones."""

    def __init__(self, inner: MemoryStore, at: int, applied: bool) -> None:
        self._inner, self._at, self._applied = inner, at, applied
        self.sent = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def send(*arguments: Any) -> Any:
            self.sent += 1
            if self.sent < self._at:
                return method(*arguments)
            if self.sent == self._at and self._applied:
                method(*arguments)
            raise Lost(f"{name}, the {self.sent}. request")

        return send


def test_store_that_fails_leaves_the_old_content_or_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request to the store is lost once, applied or not."""
    monkeypatch.setattr("prejoin.patterns.large.content.OBJECT_SIZE", SMALL)
    old, new = os.urandom(2 * SMALL), os.urandom(5 * SMALL)
    lost = 0
    for applied in (False, True):
        for at in range(1, 20):
            store, transport = MemoryStore(), fresh()
            db = Client(schema(store, inline=100), "shop", transport)
            db.create_table()
            db.insert(Document("o", "1", body=store_large(db, Document, "body", old, **ID)))
            lossy: Any = LossyStore(store, at, applied)
            with suppress(Lost):
                write_large(Client(schema(lossy, inline=100), "shop", transport), Document, "body", new, **ID)
            found = document(db)
            data = read_large(db, found, "body")
            # It refers to the new content once all of its objects are there: deleting the old ones may fail.
            assert data == (new if lossy.sent > 5 else old)
            remove_garbage(db, Document, "body", clock=_tomorrow)
            assert found.body is not None
            assert len(list(store.keys(""))) == found.body.parts
            assert read_large(db, found, "body") == data
            if lossy.sent < at:
                break
            lost += 1
    assert lost == 2 * (5 + 2)


@pytest.mark.parametrize("in_store", [False, True])
def test_concurrent_writers_and_readers_see_whole_contents(in_store: bool) -> None:
    transport, store = fresh(), MemoryStore()
    db = Client(schema(store if in_store else None, compress=False), "shop", transport)
    db.create_table()
    db.insert(Document("o", "1", body=store_large(db, Document, "body", b"0" * PART_SIZE * 2, **ID)))

    def work(number: int) -> set[bytes]:
        if number < 2:
            for _ in range(3):
                write_large(db, Document, "body", str(number).encode() * PART_SIZE * 2, **ID)
            return set()
        return {read_large(db, document(db), "body") for _ in range(6)}

    seen = set().union(*in_threads(4, work))
    assert seen <= {digit * PART_SIZE * 2 for digit in (b"0", b"1")}
    left = list(store.keys("")) if in_store else parts(transport)
    assert len(left) == (1 if in_store else 2)  # of the content that was written last


@both
def test_content_of_a_missing_item_is_removed_again(connect: Connect) -> None:
    db = connect(schema())
    with pytest.raises(NotFound, match="there is no Document owner_id='o', document_id='1'"):
        run(db, write_large, Document, "body", os.urandom(PART_SIZE), **ID)
    assert parts(getattr(db, "_client", db)._transport) == []
    with pytest.raises(ArgumentError, match="the key of a Document is owner_id, document_id, and not owner_id"):
        run(db, store_large, Document, "body", b"", owner_id="o")
    with pytest.raises(SchemaError, match="Document has no large attribute title"):
        run(db, store_large, Document, "title", b"", **ID)


def test_damaged_content_is_reported() -> None:
    db = Client(schema(compress=False), "shop", fresh())
    db.create_table()
    data = os.urandom(3 * PART_SIZE)
    found = db.insert(Document("o", "1", body=store_large(db, Document, "body", data, **ID)))
    part = next(item for item in items(db._transport, "shop") if item["sk"]["S"].endswith("#000001"))
    db.call("PutItem", {"Item": {**part, "data": {"B": "AAAA"}}})
    with pytest.raises(LargeContentError, match="part 2 of 3 is damaged"):
        read_large(db, found, "body")
    assert read_large(db, found, "body", 0, PART_SIZE) == data[:PART_SIZE]
    other = next(item for item in items(db._transport, "shop") if item["sk"]["S"].endswith("#000002"))
    db.call("PutItem", {"Item": {**part, "data": other["data"]}})
    with pytest.raises(LargeContentError, match="its checksum is wrong"):
        read_large(db, found, "body")
    db.call("DeleteItem", {"Key": {name: part[name] for name in ("pk", "sk")}})
    with pytest.raises(LargeContentError, match="part 2 of 3 is missing"):
        read_large(db, found, "body")
    with pytest.raises(ArgumentError, match="the bytes from 9 up to 3 are no part of a content"):
        read_large(db, found, "body", 9, 3)


def test_small_content_needs_no_upload() -> None:
    db = Client(schema(), "shop", fresh())
    db.create_table()
    assert read_large(db, db.insert(Document("o", "1", body=LargeValue.of(b"tea"))), "body") == b"tea"


def _insert(db: Client, content: Any) -> None:
    db.insert(Document("o", "1", body=content))


def _put(db: Client, content: Any) -> None:
    db.put(Document("o", "1", body=content))


def _update(db: Client, content: Any) -> None:
    db.insert(Document("o", "1"))
    with db.update(Document, **ID) as draft:
        draft.body = content


def _update_after_read(db: Client, content: Any) -> None:
    db.insert(Document("o", "1"))
    with db.update(Document, read=True, **ID) as draft:
        draft.title, draft.body = "Tea", content


def _upsert(db: Client, content: Any) -> None:
    with db.upsert(Document, **ID) as draft:
        draft.title, draft.body = "Tea", content


def _apply(db: Client, content: Any) -> None:
    db.apply(Document, Changes({"body": content, "title": "Tea"}), upsert=True, **ID)


def _put_many(db: Client, content: Any) -> None:
    db.put_many([Document("o", "2"), Document("o", "1", body=content)])


def _insert_many(db: Client, content: Any) -> None:
    db.insert_many([Document("o", "2"), Document("o", "1", body=content)])


def _insert_in_a_transaction(db: Client, content: Any) -> None:
    with db.transaction() as transaction:
        transaction.insert(Document("o", "2"))
        transaction.insert(Document("o", "1", body=content))


def _update_in_a_transaction(db: Client, content: Any) -> None:
    db.insert(Document("o", "1"))
    with db.transaction() as transaction:
        transaction.insert(Document("o", "2"))
        with transaction.update(Document, **ID) as draft:
            draft.body = content


WRITES = [
    _insert, _put, _update, _update_after_read, _upsert, _apply, _put_many, _insert_many, _insert_in_a_transaction,
    _update_in_a_transaction,
]  # fmt: skip
TEXT = "".join(f"{number:06} teas\n" for number in range(60_000))
"""720,000 bytes: three parts."""


@both
@pytest.mark.parametrize("in_store", [False, True])
def test_every_write_stores_a_content_in_memory(connect: Connect, in_store: bool) -> None:
    contents: list[Any] = [LargeValue.of(TEXT), LargeValue.of(TEXT.encode()), TEXT, TEXT.encode()]
    for number, write in enumerate(WRITES):
        transport, store = fresh(), MemoryStore()
        db = connect(schema(store if in_store else None, compress=False), transport)
        write(db, contents[number % len(contents)])
        found = document(db)
        assert found.body is not None
        assert (found.body.place, found.body.size) == ("objects" if in_store else "parts", len(TEXT)), write
        assert run(db, read_large, found, "body") == TEXT.encode(), write
        assert (len(parts(transport)), len(list(store.keys("")))) == ((0, 1) if in_store else (3, 0)), write


@both
def test_a_content_that_fits_into_the_item_is_stored_there(connect: Connect) -> None:
    for write in WRITES:
        transport = fresh()
        db = connect(schema(), transport)
        write(db, LargeValue.of(b"tea " * 10_000))  # which compresses well
        found = document(db).body
        assert found is not None
        assert (found.place, found.size, parts(transport)) == ("item", 40_000, []), write
        assert run(db, read_large, document(db), "body") == b"tea " * 10_000, write


def test_known_and_compared_contents_are_not_stored_again() -> None:
    transport = fresh()
    db = Client(schema(inline=10_000), "shop", transport)
    db.create_table()
    old = db.insert(Document("o", "1", body=LargeValue.of(b"tea")))
    db.put(Document("o", "1", title="Tea", body=old.body), was=old)
    with db.update(Document, body=old.body, **ID) as draft:
        draft.title = "Coffee"
    with db.transaction(only_check=True) as check:
        check.put(Document("o", "1", body=LargeValue.of(os.urandom(20_000))))
    assert parts(transport) == []


def test_a_repeatable_transaction_refuses_a_content_in_memory_before_it_is_stored() -> None:
    transport = fresh()
    db = Client(schema(), "shop", transport)
    db.create_table()
    with (
        pytest.raises(TableError, match="a repetition with the same token would differ"),
        db.transaction(token="t") as transaction,
    ):
        transaction.insert(Document("o", "1", body=LargeValue.of(os.urandom(20_000))))
    assert parts(transport) == []
    with db.transaction(token="t") as transaction:
        transaction.insert(Document("o", "1", body=LargeValue.of(b"tea")))


def test_contents_of_refused_and_replaced_writes_are_garbage() -> None:
    transport = fresh()
    db = Client(schema(compress=False), "shop", transport)
    db.create_table()
    data = os.urandom(2 * PART_SIZE)
    db.insert(Document("o", "1", body=LargeValue.of(data)))
    with pytest.raises(AlreadyExists):
        db.insert(Document("o", "1", body=LargeValue.of(b"x" * PART_SIZE)))
    assert len(parts(transport)) == 3
    later = datetime.now(UTC) + timedelta(days=2)
    remove_garbage(db, Document, "body", clock=lambda: later)
    assert len(parts(transport)) == 2
    assert read_large(db, document(db), "body") == data


def test_values_are_fields_of_pydantic_models() -> None:
    model = pydantic.create_model("Note", body=(LargeValue | None, None))
    note = model(body=LargeValue.of(b"tea"))
    assert model.model_validate_json(note.model_dump_json()) == note
    assert model(body="tea") == note
    with pytest.raises(pydantic.ValidationError):
        model(body={"place": "elsewhere"})


def test_content_in_a_store_needs_the_store(tmp_path: Path) -> None:
    db = Client(schema(FolderStore(tmp_path), inline=0), "shop", fresh())
    db.create_table()
    found = db.insert(Document("o", "1", body=store_large(db, Document, "body", b"tea", **ID)))
    with pytest.raises(LargeContentError, match="it is in an object store, and Large"):
        read_large(Client(schema(), "shop", db._transport), found, "body")
    with pytest.raises(TableError, match="the key of Document is too long for an object of body"):
        store_large(db, Document, "body", b"tea", owner_id="o" * 700, document_id="1")


def test_patterns_together() -> None:
    transport = fresh()
    versions = History(Key("OWNER#{owner_id}#HISTORY", "{document_id}#{version}"))
    copy = Copy("by-id", Key("DOC#{document_id}", "DOC"))
    db = Client(schema(None, Version("version"), versions, copy), "shop", transport)
    db.create_table()
    first = os.urandom(PART_SIZE)
    db.insert(Document("o", "1", body=store_large(db, Document, "body", first, **ID)))
    write_large(db, Document, "body", b"second", **ID)
    assert read_large(db, db.query(Document, document_id="1")[0], "body") == b"second"
    # Earlier versions refer to their contents, so these are kept.
    assert read_large(db, version_of(db, Document, 1, **ID), "body") == first
    with pytest.raises(SchemaError, match="Document has a History"):
        remove_garbage(db, Document, "body")
    assert list(audit(db)) == []
    with pytest.raises(TableError, match="the key of Document cannot change, because the parts of body"):
        db.apply(Document, Changes({"owner_id": "p"}), read=True, **ID)


@dataclass
class Expiring:
    key: str
    body: LargeValue | None = None
    expires_at: datetime | None = None


@dataclass
class Wrong:
    key: str
    body: bytes = b""


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (Entity(Wrong, Key("K#{key}", "K"), patterns=[Large("body")]), "its type is LargeValue or LargeValue"),
        (Entity(Document, KEY, patterns=[Large("body", inline=500_000)]), "inline is 500000, and has to be from 0"),
        (
            Entity(Expiring, Key("K#{key}", "K"), patterns=[Large("body"), TimeToLive("expires_at")]),
            "expires by expires_at, which would leave the parts of body",
        ),
        (Entity(Expiring, Key("K#{key}"), patterns=[Large("body")]), "parts need a sort key"),
    ],
)
def test_declaration_is_checked(entity: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(entity)
