"""The record of a build, beside its document: generated files, inputs and options."""

from __future__ import annotations

import binascii
import zlib
from base64 import b64decode, b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

import msgspec

from prejoin._version import __version__
from prejoin.pipeline.build.settings import Overrides, settings_text
from prejoin.pipeline.output_files import write_file
from prejoin.render.stamp import generated_part

RECORD = ".prejoin-build.json"
"""The name of its file. It belongs into version control, with the generated files."""
_MOST_WRITTEN = 50_000_000
"""Bytes of a recorded text. A record can be edited by anyone."""
_MAKERS = ("workload", "constructs", "design", "cases", "render", "proof", "keys", "protocol")
"""The packages that decide what generated files contain."""


class BuildRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Digests of generated files, by path."""

    source: str = ""
    """A digest of the input of all files."""
    designed: str = ""
    """A digest of the input of the design, if its document contains all of it."""
    served: int = 0
    """How many access patterns the design serves."""
    unproven: dict[str, str] = {}
    """The access patterns that the proof could not run, with the reasons."""
    files: dict[str, str] = {}
    left: dict[str, str] = {}
    """Files of earlier builds that are not needed any more."""
    options: Overrides | None = None
    """The options of the command line of the last build."""
    writing: dict[str, str] = {}
    """Files that an interrupted build was about to write."""
    last_texts: dict[str, str] = {}
    """The design documents as they were written last, compressed. They show what was changed by hand since."""

    def generated(self, path: str, text: str) -> bool:
        """Whether a file is as one of the builds wrote it."""
        return digest(generated_part(text)) in {self.files.get(path), self.left.get(path), self.writing.get(path)}

    def last_text(self, path: str, current: str) -> str | None:
        """The text of a design document when it was written last; None if that is not known."""
        # An interrupted build may have written the file, and not this record of its text.
        return current if self.generated(path, current) else _decompress(self.last_texts.get(path, ""))

    def with_text(self, path: str, text: str) -> BuildRecord:
        """The record after a design document was written."""
        return msgspec.structs.replace(self, last_texts=self.last_texts | {path: _compress(text)})


def _compress(text: str) -> str:
    data = text.encode()
    compressed_bytes = zlib.compress(data, 9)
    return b64encode(compressed_bytes).decode()


def _decompress(base64_text: str) -> str | None:
    decompressor = zlib.decompressobj()
    try:
        compressed_bytes = b64decode(base64_text)
        data = decompressor.decompress(compressed_bytes, _MOST_WRITTEN)
        text = data.decode()
    except (zlib.error, binascii.Error, ValueError):
        return None
    return text or None


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def source_of(document: str, settings: str | None, overrides: Overrides) -> str:
    """A digest of all that files are generated from: the document, the settings, and this version of the program."""
    return digest("\0".join([program(), document, settings or "", repr(overrides)]))


@cache
def program() -> str:
    """A digest of this version; in a working copy, of its code."""
    hasher = sha256(__version__.encode())
    root = Path(__file__).parents[2]
    for part in _MAKERS:
        for file in sorted((root / part).rglob("*.py")):
            hasher.update(file.read_bytes())
    return hasher.hexdigest()


def read_record(folder: Path) -> BuildRecord:
    """The record of a folder; an empty one if there is none, or it cannot be read."""
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=BuildRecord)
    except (OSError, msgspec.MsgspecError):
        return BuildRecord()


def write_record(folder: Path, record: BuildRecord) -> None:
    text = msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=1).decode() + "\n"
    if text_at(folder / RECORD) != text:
        write_file(folder, PurePosixPath(RECORD), text)


def up_to_date(document: Path, overrides: Overrides) -> BuildRecord | None:
    """The record of the last build, if a build would generate the same files and all of them are unchanged."""
    folder, text = document.parent, text_at(document)
    record = read_record(folder)
    if text is None or not record.files or record.writing or record.left:
        return None
    if record.source != source_of(text, settings_text(folder), overrides):
        return None
    texts = {path: text_at(folder / path) for path in record.files}
    is_unchanged = all(
        file_text is not None and digest(generated_part(file_text)) == record.files[path]
        for path, file_text in texts.items()
    )
    return record if is_unchanged else None


def text_at(path: Path) -> str | None:
    """The text of a file that may have been generated; None if there is no file."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        return ""  # it was not generated: a conflict
