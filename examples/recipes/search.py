"""Search by words: each word of a note is an item, so that a search reads only what it finds.

The words are written with the note in one transaction, which has at most 100 items. Words with the same first letters
are in one partition, in order: a search finds beginnings of words, too. For ranking, or longer texts, feed a search
engine from the table's stream.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from prejoin import Client, Entity, Key, Schema, begins_with

_WORD = re.compile(r"\w++")
_HEAD = 2
MOST_WORDS = 98


@dataclass(frozen=True)
class Note:
    note_id: str
    text: str
    version: int = 1


@dataclass(frozen=True)
class Word:
    head: str
    word: str
    note_id: str


SCHEMA = Schema(
    Entity(Note, Key("NOTE#{note_id}", "NOTE")),
    Entity(Word, Key("WORD#{head}", "{word}#{note_id}")),
)


def words(text: str) -> set[str]:
    """The words that can be found: all of two letters and more."""
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= _HEAD}


def save(db: Client, note_id: str, text: str) -> None:
    """Write a note, and the words that have come and gone. Raises ConditionFailed if it has changed meanwhile."""
    new = words(text)
    before = db.get(Note, note_id=note_id, consistent=True)
    old = words(before.text) if before else set()
    if len(new ^ old) > MOST_WORDS:
        raise ValueError(f"{len(new ^ old)} words at once are more than {MOST_WORDS}")
    with db.transaction() as tx:
        if before is None:
            tx.insert(Note(note_id, text))
        else:
            tx.put(Note(note_id, text, before.version + 1), where=lambda note: note.version == before.version)
        for word in new - old:
            tx.put(Word(word[:_HEAD], word, note_id))
        for word in old - new:
            tx.delete(Word, head=word[:_HEAD], word=word, note_id=note_id)


def search(db: Client, text: str) -> set[str]:
    """The notes that have all of these words, or words that begin with them."""
    found: set[str] | None = None
    for word in words(text):
        here = {one.note_id for one in _beginning(db, word)}
        found = here if found is None else found & here
    return found or set()


def _beginning(db: Client, word: str) -> list[Word]:
    pages = db.pages(Word, lambda one: begins_with(one.word, word), head=word[:_HEAD])
    return [one for page in pages for one in page.items]
