"""What `prejoin build` generated the last time, and from what: the record that lies beside the document."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

import prejoin
from prejoin.pipeline.settings import Overrides
from prejoin.render.keeping import ours

RECORD = ".prejoin-build.json"
"""Its name. It belongs into version control, with what it is about."""
_MAKERS = ("workload", "design", "render", "proof", "keys", "protocol")
"""The parts of this package from which generated files get what is in them."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Digests of what was generated, by path."""

    source: str = ""
    designed: str = ""
    """What the design was made from, if all of it can be read from its document again."""
    served: int = 0
    """How many access patterns the design serves."""
    files: dict[str, str] = {}
    left: dict[str, str] = {}
    """What earlier builds wrote, and nothing asks for any more."""
    options: Overrides | None = None
    """The options of the command line with which the last build was made."""
    writing: dict[str, str] = {}
    """What a build was about to write that did not come to its end."""

    def generated(self, path: str, text: str) -> bool:
        """Whether a file is as one of the builds wrote it."""
        return digest(ours(text)) in {self.files.get(path), self.left.get(path), self.writing.get(path)}


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def source_of(document: str, settings: str | None, overrides: object) -> str:
    """A digest of all that generated files are made from: what people wrote, and the program that makes them."""
    return digest("\0".join([program(), document, settings or "", repr(overrides)]))


@cache
def program() -> str:
    """This version, and in a working copy this state of it."""
    found = sha256(prejoin.__version__.encode())
    root = Path(prejoin.__file__).parent
    for part in _MAKERS:
        for file in sorted((root / part).rglob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()


def read_record(folder: Path) -> Record:
    """What was generated the last time; nothing, where that is not known."""
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError):
        return Record()


def record_text(record: Record) -> str:
    return msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=1).decode() + "\n"


def is_current(folder: Path, record: Record, source: str) -> bool:
    """Whether nothing has to be made anew: it was all made from the same, and is there as it was made."""
    if not record.files or record.source != source or record.writing or record.left:
        return False
    texts = {path: text_at(folder / path) for path in record.files}
    return all(text is not None and digest(ours(text)) == record.files[path] for path, text in texts.items())


def text_at(path: Path) -> str | None:
    """What is in a file; None where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        return ""  # something is there that was not generated: a conflict
