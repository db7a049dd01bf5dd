"""The archive at the command line.

    python archive.py put book.txt                   enters a document, and says its id
    python archive.py put book.txt --as ID           a new version of it
    python archive.py get ID copy.txt                the valid version, byte for byte; --version 1 is the first
    python archive.py head ID                        how it begins, from one part
    python archive.py list                           last changed first
    python archive.py versions ID
    python archive.py forget ID 1                    an old version
    python archive.py delete ID
    python archive.py clean                          what uploads left that were refused or cut off, a day ago or more

The table is in documents.db; `--db FILE`, `--endpoint URL` or `--aws` say where else.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from prejoin import AWS, Client, Embedded, Endpoint

from documents.repository import DocumentsRepository
from documents.schema import SCHEMA, TABLE
from texts import Archive, ArchiveError, text_of


def run(archive: Archive, said: argparse.Namespace) -> None:
    match said.command:
        case "put" if said.id:
            print(f"version {archive.replace(said.id, said.file).version}")
        case "put":
            print(archive.add(said.file).document_id)
        case "get":
            saved = archive.save(said.id, said.file, said.version)
            text = text_of(saved)
            print(f"version {saved.version}, {text.size:,} bytes, sha256 {text.sha256}")
        case "head":
            print(archive.beginning(said.id)[:400].decode(errors="replace"))
        case "list":
            for document in archive.documents():
                when = f"{document.updated_at:%Y-%m-%d %H:%M:%S}"
                print(f"{document.document_id}  {when}  {document.bytes_:>12,}  {document.title}")
        case "versions":
            for version in archive.versions(said.id):
                text = text_of(version)
                where = f"{text.parts} parts" if text.parts else "in the item"
                print(f"{version.version:>4}  {version.saved_at:%Y-%m-%d %H:%M:%S}  {text.size:>12,}  {where}")
        case "forget":
            archive.forget(said.id, said.version)
        case "delete":
            archive.delete(said.id)
        case "clean":
            print(f"{archive.clean()} parts removed")


def place(said: argparse.Namespace) -> Embedded | Endpoint | AWS:
    if said.aws:
        return AWS()
    return Endpoint(said.endpoint) if said.endpoint else Embedded(said.db)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--db", metavar="FILE", default="documents.db", help="a file of the embedded engine; %(default)s")
    one.add_argument("--endpoint", metavar="URL", help="a server that speaks DynamoDB's protocol")
    one.add_argument("--aws", action="store_true", help="AWS itself; template.yaml makes the table")
    parser.add_argument("--owner", default=getpass.getuser(), help="whose documents; %(default)s")
    commands = parser.add_subparsers(dest="command", required=True)
    put = commands.add_parser("put", help="enter a document, or a new version of one")
    put.add_argument("file", type=Path)
    put.add_argument("--as", dest="id", metavar="ID")
    get = commands.add_parser("get", help="write a document to a file")
    get.add_argument("id")
    get.add_argument("file", type=Path)
    get.add_argument("--version", type=int)
    commands.add_parser("list", help="your documents, last changed first")
    commands.add_parser("clean", help="remove what uploads left that were refused or cut off")
    for name, help_ in (
        ("head", "how a document begins"),
        ("versions", "the versions of a document, newest first"),
        ("forget", "remove an old version"),
        ("delete", "remove a document with all its versions"),
    ):
        command = commands.add_parser(name, help=help_)
        command.add_argument("id")
        if name == "forget":
            command.add_argument("version", type=int)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    said = arguments().parse_args(words)
    with place(said) as transport:
        db = Client(SCHEMA, TABLE, transport)
        if not said.aws:
            db.create_table(if_absent=True)
        owner = uuid5(NAMESPACE_URL, f"archive:{said.owner}")
        try:
            run(Archive(DocumentsRepository(db), owner), said)
        except (ArchiveError, FileNotFoundError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
