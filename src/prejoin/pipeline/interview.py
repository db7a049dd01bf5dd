"""A session of the interview: a document on disk, its next question, and each answer saved before the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from prejoin.pipeline import codes
from prejoin.pipeline.document import lost_words, output_form, read_document, save_original, write
from prejoin.pipeline.errors import InputError, PipelineError, Source
from prejoin.pipeline.summary import figures
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import Form, read_text, write_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.interview import Question, answer, begin, question
from prejoin.workload.model import Workload


class InterviewSession:
    """The document is the state: somebody may edit it between two answers, and the session continues from there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.form: Form = output_form(path)
        self.answered = 0
        self.aside: Path | None = None
        """Where the old text was saved, if a rewrite could not carry all of it over."""
        folder = path.resolve().parent
        if path.is_dir() or not folder.is_dir():
            message = f"{path} is a folder" if path.is_dir() else f"there is no folder {folder}"
            raise PipelineError(codes.CANNOT_WRITE, message, "give the path of a file in an existing folder", str(path))
        self.text: str | None = None
        self.workload = begin(Workload())
        self.refresh()

    def refresh(self) -> bool:
        """Reads the document again if somebody has changed it; whether that is so.

        Raises an `InputError` if it cannot be read.
        """
        if not self.path.exists():
            return False
        try:
            now = self.path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            now = None
        if now is not None and now == self.text:
            return False
        document = read_document(self.path)
        if document.unusable or now is None:
            raise InputError(document.source(), note=f"{self.path} exists and cannot be read, so nothing was asked")
        self.text = now
        self.workload = begin(document.workload)
        return True

    @property
    def question(self) -> Question | None:
        """The next question; None if there is no more."""
        return question(self.workload)

    def give(self, text: str) -> None:
        """Takes an answer and saves the document. Raises `Inexact`, with nothing changed, if it cannot be used."""
        after = answer(self.workload, text)
        try:
            new_text = write_text(after, self.form)
        except UnwritableError as problem:
            raise Inexact(str(problem), "word it without these") from None
        first = self.text is not None and self.answered == 0
        if first and lost_words(self.text or "", write_text(self.workload, self.form)):
            self.aside = save_original(self.path, self.text or "")
        write(self.path, new_text)
        self.workload, self.text = after, new_text
        self.answered += 1

    def result(self) -> dict[str, Any]:
        """The state as data."""
        question = self.question
        return {
            "path": str(self.path),
            "finished": question is None,
            "answered": self.answered,
            "next": msgspec.to_builtins(question) if question else None,
            **figures(self.workload),
        }

    def source(self) -> Source:
        """The document as it is now, with its diagnostics."""
        reading = read_text(self.text or "", self.form)
        return Source(str(self.path), self.text or "", reading.diagnostics)
