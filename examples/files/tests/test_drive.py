"""The drive: a journey at the command line, and in process what has to hold while others are at work."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from prejoin import Client, Embedded, LargeValue, MemoryStore, ObjectStore, Transport, ulid

from drive import main
from files.entities import File, Folder
from files.repository import FilesRepository
from files.schema import TABLE, schema
from folders import Drive, DriveError, size_of

OWNER = UUID(int=1)


class Watched:
    """A DynamoDB on the way to which something happens, before the first, second, third … write."""

    def __init__(self, engine: Embedded, happens: Callable[[int], None]) -> None:
        self.engine = engine
        self.happens = happens
        self.writes = 0

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "TransactWriteItems":
            self.writes += 1
            self.happens(self.writes)
        return self.engine.send(operation, body)


def drive_on(transport: Transport, owner: UUID = OWNER, store: ObjectStore | None = None) -> Drive:
    db = Client(schema(store or MemoryStore()), TABLE, transport)
    db.create_table(if_absent=True)
    drive = Drive(FilesRepository(db), owner)
    drive.make("/")
    return drive


@pytest.fixture
def drive(prejoin_engine: Embedded) -> Drive:
    return drive_on(prejoin_engine)


@pytest.fixture
def text(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, words: str) -> Path:
        (tmp_path / name).write_text(words)
        return tmp_path / name

    return write


def filled(drive: Drive, text: Callable[[str, str], Path]) -> Drive:
    for name, into in (("a.txt", "/Documents"), ("b.txt", "/Documents/2025"), ("c.txt", "/Documents/2026/May")):
        drive.upload(text(name, name), into)
    drive.make("/Documents2")
    return drive


def paths(drive: Drive) -> list[str]:
    return [folder.path for folder in drive.below("/")]


@pytest.mark.parametrize("over_http", [False, True])
def test_a_journey_at_the_command_line(
    over_http: bool, prejoin_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--endpoint", prejoin_url] if over_http else ["--db", str(tmp_path / "files.db")]
    report = os.urandom(100_000)
    (tmp_path / "report.pdf").write_bytes(report)

    def say(*words: str) -> str:
        status = main([*where, "--objects", str(tmp_path / "objects"), *words])
        said = capsys.readouterr()
        assert status == (1 if said.err else 0)
        return said.out + said.err

    assert say("mkdir", "/Documents/2026/") == ""
    assert say("put", str(tmp_path / "report.pdf"), "/Documents/2026") == ""
    assert say("mv", "/Documents", "/Archive") == "/Archive\n"
    assert say("tree", "/").splitlines() == [
        "/",
        "└── Archive/",
        "    └── 2026/",
        "        └── report.pdf (100,000 bytes)",
    ]
    assert say("ls", "/Archive/2026").endswith("100,000  report.pdf\n")
    assert say("mv", "/Archive/2026/report.pdf", "/Archive/2026/final.pdf") == "/Archive/2026/final.pdf\n"
    assert say("get", "/Archive/2026/final.pdf", str(tmp_path / "copy.pdf")) == ""
    assert (tmp_path / "copy.pdf").read_bytes() == report
    assert say("get", "/Archive/2026", str(tmp_path / "copy.pdf")) == "/Archive/2026 is a folder\n"
    assert [path for path in (tmp_path / "objects").rglob("*") if path.is_file()] != []
    assert say("rm", "/Archive/2026") == "/Archive/2026 is not empty\n"
    assert say("rm", "/Archive/2026/final.pdf") + say("rm", "/Archive/2026") == ""
    assert [path for path in (tmp_path / "objects").rglob("*") if path.is_file()] == []
    assert say("ls", "/Archive/2026") == "there is no folder /Archive/2026\n"
    assert say("put", str(tmp_path / "nothing"), "/").startswith("[Errno 2]")


def test_a_folder_moves_with_all_below_it_and_nothing_else(drive: Drive, text: Callable[[str, str], Path]) -> None:
    filled(drive, text).make("/Archive")
    assert drive.move("/Documents", "/Archive") == "/Archive/Documents"
    assert paths(drive) == [
        "/Archive",
        "/Archive/Documents",
        "/Archive/Documents/2025",
        "/Archive/Documents/2026",
        "/Archive/Documents/2026/May",
        "/Documents2",
    ]
    assert list(drive.tree("/Archive")) == [
        "/Archive",
        "└── Documents/",
        "    ├── 2025/",
        "    │   └── b.txt (5 bytes)",
        "    ├── 2026/",
        "    │   └── May/",
        "    │       └── c.txt (5 bytes)",
        "    └── a.txt (5 bytes)",
    ]
    assert drive.below("/Documents") == []
    names = [one.name for one in drive.repository.folders_in_folder(drive.folder("/Archive/Documents").folder_id)]
    assert names == ["2025", "2026"]


def test_a_move_that_was_cut_short_is_finished_by_asking_again(
    drive: Drive, prejoin_engine: Embedded, text: Callable[[str, str], Path]
) -> None:
    def the_power_fails(writes: int) -> None:
        if writes == 3:
            raise KeyboardInterrupt

    filled(drive, text)
    with pytest.raises(KeyboardInterrupt):
        drive_on(Watched(prejoin_engine, the_power_fails)).move("/Documents", "/Papers")
    assert drive.folder("/Documents")
    assert drive.folder("/Papers/2025")
    assert drive.folder("/Documents/2026/May")
    assert drive.move("/Documents", "/Papers") == "/Papers"
    assert paths(drive) == ["/Documents2", "/Papers", "/Papers/2025", "/Papers/2026", "/Papers/2026/May"]


def test_what_cannot_be_moved_stays(drive: Drive, text: Callable[[str, str], Path]) -> None:
    filled(drive, text).make("/Archive/Documents")
    before = list(drive.tree("/"))
    for source, target, why in (
        ("/Documents", "/Documents/2026", "into itself"),
        ("/Documents", "/Archive", "there is a folder /Archive/Documents already"),
        ("/Documents", "/nowhere/Documents", "there is no folder /nowhere"),
        ("/Documents/a.txt", "/Documents/2025/b.txt", "there is a file b.txt in /Documents/2025 already"),
        ("/Documents/z.txt", "/", "there is no /Documents/z.txt"),
        ("/", "/Documents", "into itself"),
    ):
        with pytest.raises(DriveError, match=why):
            drive.move(source, target)
    assert list(drive.tree("/")) == before


def test_a_folder_that_appears_at_the_target_meanwhile_undoes_the_move(
    drive: Drive, prejoin_engine: Embedded, text: Callable[[str, str], Path]
) -> None:
    def somebody_is_quicker(writes: int) -> None:
        if writes == 2:
            drive.make("/Papers")

    before = paths(filled(drive, text))
    with pytest.raises(DriveError, match="there is a folder /Papers already"):
        drive_on(Watched(prejoin_engine, somebody_is_quicker)).move("/Documents", "/Papers")
    assert paths(drive) == [*before, "/Papers"]


def test_of_many_who_make_the_same_folder_all_get_the_same(tmp_path: Path) -> None:
    def make(number: int) -> str:
        with Embedded(tmp_path / "files.db") as engine:
            return drive_on(engine).make(f"/Documents/{number // 8}").folder_id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(32)))) == 4


def test_a_file_that_is_uploaded_again_takes_the_place_of_the_old_one(prejoin_engine: Embedded, tmp_path: Path) -> None:
    store = MemoryStore()
    drive, source = drive_on(prejoin_engine, store=store), tmp_path / "a.txt"
    source.write_bytes(os.urandom(50_000))
    old = drive.upload(source, "/Documents")
    source.write_bytes(longer := os.urandom(80_000))
    new = drive.upload(source, "/Documents")
    assert list(drive.files(drive.folder("/Documents"))) == [new]
    assert drive.repository.file_by_id(old.file_id) is None
    assert size_of(new) == 80_000
    assert drive.download("/Documents/a.txt", tmp_path / "copy") == new
    assert (tmp_path / "copy").read_bytes() == longer
    assert len(list(store.keys(""))) == 1


def test_files_come_newest_first_and_by_period(drive: Drive) -> None:
    folder = drive.make("/Inbox")
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    for day in range(150):  # more than a page
        at = start + dt.timedelta(days=day)
        file = File(
            file_id=ulid(),
            folder_id=folder.folder_id,
            name=f"{day}.txt",
            content=LargeValue.of(b"1"),
            uploaded_at=at,
        )
        drive.repository.upload_file(file)
    assert [file.name for file in drive.files(folder)] == [f"{day}.txt" for day in reversed(range(150))]
    january = drive.repository.files_folder_got_in_period(
        folder.folder_id, start, start + dt.timedelta(days=31, microseconds=-1)
    )
    assert [file.name for file in january] == [f"{day}.txt" for day in reversed(range(31))]


def test_opening_a_folder_gives_it_with_its_files(drive: Drive, text: Callable[[str, str], Path]) -> None:
    filled(drive, text)
    found = drive.repository.open_folder(drive.folder("/Documents").folder_id)
    assert found.one(Folder).path == "/Documents"  # type: ignore[union-attr]
    assert [file.name for file in found.all(File)] == ["a.txt"]


def test_nobody_sees_the_drive_of_another(drive: Drive, prejoin_engine: Embedded) -> None:
    other = drive_on(prejoin_engine, uuid4())
    other.make("/Documents/Secret")
    drive.make("/Documents")
    assert paths(drive) == ["/Documents"]


def test_an_id_sorts_by_its_time() -> None:
    ids = [ulid() for _ in range(50)]
    assert len(set(ids)) == 50
    assert {len(one) for one in ids} == {26}
    assert [one[:10] for one in ids] == sorted(one[:10] for one in ids)
