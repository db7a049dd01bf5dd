"""One sitting of the interview: a document on disk, the question it stands at, each answer saved before the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from prejoin.cli.commands.check import figures
from prejoin.cli.outcome import CommandError, Source
from prejoin.cli.status import Status
from prejoin.pipeline import codes
from prejoin.pipeline.document import load
from prejoin.pipeline.document_file import form_for, keep_original, lost, write
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import Form, read_text, write_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.interview import Question, answer, begin, question
from prejoin.workload.model import Workload


class UnusableError(Exception):
    """The document that is there cannot be read, so it is left alone."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.file)
        self.source = source


class Sitting:
    """The document is the state: someone else may edit it in between, and what they wrote counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.form: Form = form_for(path)
        self.answered = 0
        self.aside: Path | None = None
        """Where the text went that was there before, if a rewrite could not carry all of it."""
        if path.is_dir() or not path.resolve().parent.is_dir():
            what = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.resolve().parent}"
            raise CommandError(
                codes.CANNOT_WRITE, what, "give the path of a file in a folder there is", Status.FAILED, str(path)
            )
        self.text: str | None = None
        self.workload = begin(Workload())
        self.refresh()

    def refresh(self) -> bool:
        """Reads the document where it is not what was last read or written; whether it was another one."""
        if not self.path.exists():
            return False
        try:
            now = self.path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            now = None
        if now is not None and now == self.text:
            return False
        document = load(str(self.path))
        if document.unusable or now is None:
            raise UnusableError(document.source())
        self.text = now
        self.workload = begin(document.workload)
        return True

    @property
    def question(self) -> Question | None:
        return question(self.workload)

    def give(self, text: str) -> None:
        """Takes an answer and saves the document. Raises `Inexact`, with nothing changed, where it cannot be used."""
        after = answer(self.workload, text)
        try:
            written = write_text(after, self.form)
        except UnwritableError as problem:
            raise Inexact(str(problem), "word it without these") from None
        if self.text is not None and self.answered == 0 and lost(self.text, write_text(self.workload, self.form)):
            self.aside = keep_original(self.path, self.text)
        write(self.path, written)
        self.workload, self.text = after, written
        self.answered += 1

    def result(self) -> dict[str, Any]:
        asked = self.question
        return {
            "path": str(self.path),
            "finished": asked is None,
            "answered": self.answered,
            "next": msgspec.to_builtins(asked) if asked else None,
            **figures(self.workload),
        }

    def source(self) -> Source:
        """The document as it is now, and what is to be said about it."""
        reading = read_text(self.text or "", self.form)
        return Source(str(self.path), self.text or "", reading.diagnostics)
