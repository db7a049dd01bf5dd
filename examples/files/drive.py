"""A drive at the command line.

    python drive.py mkdir /Documents/2026
    python drive.py put report.pdf /Documents/2026
    python drive.py get /Documents/2026/report.pdf copy.pdf
    python drive.py tree /
    python drive.py mv /Documents /Archive/Documents
    python drive.py ls /Archive/Documents/2026        newest first
    python drive.py rm /Archive/Documents/2026/report.pdf

The table is in files.db; `--db FILE`, `--endpoint URL` or `--aws` say where else, `--owner NAME` whose drive it is.
The bytes of files are in the folder `--objects`, or in the bucket `--bucket`.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from uuid import NAMESPACE_URL, uuid5

from prejoin import AWS, Client, Embedded, Endpoint, FolderStore, ObjectStore, S3Store

from files.repository import FilesRepository
from files.schema import TABLE, schema
from folders import Drive, DriveError, size_of


def run(drive: Drive, said: argparse.Namespace) -> None:
    match said.command:
        case "mkdir":
            drive.make(said.path)
        case "put":
            drive.upload(said.source, said.path)
        case "get":
            drive.download(said.path, said.target)
        case "tree":
            print("\n".join(drive.tree(said.path)))
        case "ls":
            for file in drive.files(drive.folder(said.path)):
                print(f"{file.uploaded_at:%Y-%m-%d %H:%M:%S}  {size_of(file):>12,}  {file.name}")
        case "mv":
            print(drive.move(said.path, said.target))
        case "rm":
            drive.remove(said.path)


def place(said: argparse.Namespace) -> Embedded | Endpoint | AWS:
    if said.aws:
        return AWS()
    return Endpoint(said.endpoint) if said.endpoint else Embedded(said.db)


def store(said: argparse.Namespace) -> ObjectStore:
    return S3Store(said.bucket) if said.bucket else FolderStore(said.objects)


def a_path(text: str) -> str:
    """A path as it is stored: from the top, without a slash at its end.

    >>> a_path("/Documents//2026/"), a_path("/")
    ('/Documents/2026', '/')
    """
    path = PurePosixPath("/", *PurePosixPath(text).parts)
    if not text.startswith("/") or text.startswith("//") or ".." in path.parts:
        raise argparse.ArgumentTypeError(f"{text!r} is no path from the top, such as /Documents/2026")
    return str(path)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--db", metavar="FILE", default="files.db", help="a file of the embedded engine; %(default)s")
    one.add_argument("--endpoint", metavar="URL", help="a server that speaks DynamoDB's protocol")
    one.add_argument("--aws", action="store_true", help="AWS itself; template.yaml makes the table")
    parser.add_argument("--owner", default=getpass.getuser(), help="whose drive; %(default)s")
    two = parser.add_mutually_exclusive_group()
    two.add_argument("--objects", metavar="FOLDER", default="objects", help="where the bytes are; %(default)s")
    two.add_argument("--bucket", metavar="NAME", help="a bucket instead; template.yaml makes one")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_ in (
        ("mkdir", "make a folder, and those above it"),
        ("put", "enter a file of this machine into a folder"),
        ("get", "write a file to this machine"),
        ("tree", "show a folder with all below it"),
        ("ls", "list the files of a folder, newest first"),
        ("mv", "move or rename a folder or a file"),
        ("rm", "remove a file, or a folder that is empty"),
    ):
        command = commands.add_parser(name, help=help_)
        if name == "put":
            command.add_argument("source", type=Path)
        command.add_argument("path", type=a_path)
        if name in ("mv", "get"):
            command.add_argument("target", type=a_path if name == "mv" else Path)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    said = arguments().parse_args(words)
    with place(said) as transport:
        db = Client(schema(store(said)), TABLE, transport)
        if not said.aws:
            db.create_table(if_absent=True)
        drive = Drive(FilesRepository(db), uuid5(NAMESPACE_URL, f"drive:{said.owner}"))
        drive.make("/")
        try:
            run(drive, said)
        except (DriveError, FileNotFoundError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
