"""The archive: a journey at the command line, and in process what has to hold whoever is at work, whatever breaks."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
from prejoin import Call, Client, Embedded, Transport

from archive import main
from documents.repository import DocumentsRepository
from documents.schema import SCHEMA, TABLE
from texts import BEGINNING, Archive, ArchiveError, text_of

PART = 240 * 1024
"""Bytes of a part."""
INLINE = 16 * 1024
"""The longest text that is in the item of its version, if it cannot be compressed."""


class Unplugged:
    """A DynamoDB that is out of reach once one kind of request is made."""

    def __init__(self, engine: Embedded, operation: str) -> None:
        self.engine = engine
        self.operation = operation

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == self.operation:
            raise KeyboardInterrupt
        return self.engine.send(operation, body)


def archive_on(transport: Transport, observe: Callable[[Call], None] | None = None) -> Archive:
    db = Client(SCHEMA, TABLE, transport, observe=observe)
    db.create_table(if_absent=True)
    return Archive(DocumentsRepository(db), UUID(int=1))


@pytest.fixture
def archive(prejoin_engine: Embedded) -> Archive:
    return archive_on(prejoin_engine)


@pytest.fixture
def text(tmp_path: Path) -> Callable[[int], Path]:
    """A file of so many bytes, another one each time."""
    chance = random.Random(1)

    def make(size: int) -> Path:
        path = tmp_path / f"text-{chance.randrange(10**9)}"
        path.write_bytes(chance.randbytes(size))
        return path

    return make


def saved(archive: Archive, document_id: str, number: int | None = None) -> bytes:
    with TemporaryDirectory() as folder:
        target = Path(folder) / "saved"
        archive.save(document_id, target, number)
        return target.read_bytes()


def parts(archive: Archive) -> int:
    """How many parts of texts there are, of whatever version or of none."""
    return sum(item["sk"]["S"].startswith("~LARGE") for item in items(archive))


def items(archive: Archive) -> Iterator[dict[str, Any]]:
    """All items of the table."""
    asked: dict[str, Any] = {}
    while True:
        page = archive.repository.db.call("Scan", asked)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@pytest.mark.parametrize("over_http", [False, True])
def test_a_journey_at_the_command_line(
    over_http: bool, prejoin_url: str, tmp_path: Path, text: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--endpoint", prejoin_url] if over_http else ["--db", str(tmp_path / "documents.db")]

    def say(*words: str) -> str:
        status = main([*where, *words])
        said = capsys.readouterr()
        assert status == (1 if said.err else 0)
        return (said.out + said.err).strip()

    first, second, copy = text(3_000_000), text(10_000), str(tmp_path / "copy")
    document = say("put", str(first))
    assert say("put", str(second), "--as", document) == "version 2"
    assert re.fullmatch(r"version 2, 10,000 bytes, sha256 [0-9a-f]{64}", say("get", document, copy))
    assert Path(copy).read_bytes() == second.read_bytes()
    assert say("get", document, copy, "--version", "1").startswith("version 1, 3,000,000 bytes")
    assert Path(copy).read_bytes() == first.read_bytes()
    assert [line.split()[0] for line in say("versions", document).splitlines()] == ["2", "1"]
    assert say("versions", document).endswith("3,000,000  13 parts")
    assert say("list").split()[0] == document
    assert say("forget", document, "1") == ""
    assert say("get", document, copy, "--version", "1") == f"there is no version 1 of {document}"
    assert say("clean") == "0 parts removed"
    assert say("delete", document) + say("list") == ""
    assert say("head", document) == f"there is no document {document}"


@pytest.mark.parametrize("size", [0, 1, INLINE, INLINE + 1, PART, PART + 1, 4 * PART, 3_000_000, 9_000_000])
def test_a_text_of_any_size_comes_back_byte_for_byte(archive: Archive, text: Callable[[int], Path], size: int) -> None:
    source = text(size)
    document = archive.add(source)
    assert saved(archive, document.document_id) == source.read_bytes()
    assert archive.beginning(document.document_id) == source.read_bytes()[:BEGINNING]
    stored = text_of(archive.version(document.document_id))
    assert (document.bytes_, stored.size, parts(archive)) == (size, size, stored.parts)
    assert stored.parts == (0 if size <= INLINE else -(-size // PART))


def test_four_parts_come_with_one_request(prejoin_engine: Embedded, text: Callable[[int], Path]) -> None:
    calls: list[Call] = []
    archive = archive_on(prejoin_engine, calls.append)
    document = archive.add(text(8 * PART))
    calls.clear()
    saved(archive, document.document_id)
    assert [call.operation for call in calls] == ["GetItem", "GetItem", "Query", "Query"]
    calls.clear()
    archive.beginning(document.document_id)
    assert [call.operation for call in calls] == ["GetItem", "GetItem", "Query"]
    assert calls[-1].items == 1


def test_versions_are_kept_until_they_are_forgotten(archive: Archive, text: Callable[[int], Path]) -> None:
    sources = [text(size) for size in (700_000, 10, 400_000)]
    document = archive.add(sources[0]).document_id
    for source in sources[1:]:
        archive.replace(document, source)
    assert [saved(archive, document, number) for number in (1, 2, 3)] == [one.read_bytes() for one in sources]
    assert [one.version for one in archive.versions(document)] == [3, 2, 1]
    archive.forget(document, 1)
    assert [one.version for one in archive.versions(document)] == [3, 2]
    assert parts(archive) == 0 + 2
    with pytest.raises(ArchiveError, match=r"version 3 of \w+ is the valid one"):
        archive.forget(document, 3)


def test_of_two_who_replace_a_version_one_is_refused_and_its_text_is_cleaned_away(
    tmp_path: Path, text: Callable[[int], Path]
) -> None:
    sources = [text(500_000) for _ in range(6)]
    with Embedded(tmp_path / "documents.db") as engine:
        document = archive_on(engine).add(text(10)).document_id

    def replace(source: Path) -> bool:
        with Embedded(tmp_path / "documents.db") as engine:
            try:
                archive_on(engine).replace(document, source, newest=1)
            except ArchiveError:
                return False
            return True

    with ThreadPoolExecutor(6) as pool:
        won = list(pool.map(replace, sources))
    assert sum(won) == 1
    with Embedded(tmp_path / "documents.db") as engine:
        archive = archive_on(engine)
        assert saved(archive, document) == sources[won.index(True)].read_bytes()
        assert parts(archive) == 6 * 3
        assert archive.clean() == 0  # not before a day has passed
        assert archive.clean(older_than=dt.timedelta(0)) == 5 * 3
        assert parts(archive) == 3
        assert saved(archive, document) == sources[won.index(True)].read_bytes()


def test_an_upload_that_is_cut_off_changes_nothing(
    archive: Archive, prejoin_engine: Embedded, text: Callable[[int], Path]
) -> None:
    source = text(700_000)
    document = archive.add(source).document_id
    cut_off = archive_on(Unplugged(prejoin_engine, "TransactWriteItems"))
    with pytest.raises(KeyboardInterrupt):
        cut_off.replace(document, text(900_000))
    assert parts(archive) == 3 + 4
    assert saved(archive, document) == source.read_bytes()
    archive.replace(document, text(5))
    assert len(saved(archive, document)) == 5


def test_a_text_that_is_not_whole_is_not_given(archive: Archive, text: Callable[[int], Path], tmp_path: Path) -> None:
    version = archive.version(archive.add(text(1_000_000)).document_id)
    second = next(item for item in items(archive) if item["sk"]["S"].endswith("#000001"))
    archive.repository.db.call("DeleteItem", {"Key": {name: second[name] for name in ("pk", "sk")}})
    with pytest.raises(ArchiveError, match="is damaged"):
        archive.save(version.document_id, tmp_path / "copy")
    assert list(tmp_path.glob("copy*")) == []


def test_documents_are_listed_last_changed_first(archive: Archive, text: Callable[[int], Path]) -> None:
    ids = [archive.add(text(10)).document_id for _ in range(3)]
    archive.replace(ids[0], text(20))
    assert [one.document_id for one in archive.documents()] == [ids[0], ids[2], ids[1]]
    assert [one.bytes_ for one in archive.documents()] == [20, 10, 10]


def test_nothing_is_left_of_a_document_that_is_deleted(archive: Archive, text: Callable[[int], Path]) -> None:
    document = archive.add(text(700_000)).document_id
    archive.replace(document, text(1_400_000))
    archive.delete(document)
    assert list(items(archive)) == []
