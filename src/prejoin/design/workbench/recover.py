"""Key templates from sample items: words where all samples have the same, attributes where an item has the value.

A part that is in no attribute gets a name, for something has to be put there; a key that samples do not explain is an
attribute as it stands. Nothing else is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prejoin.design.model import KeyAttribute, When
from prejoin.design.workbench.form import Sample
from prejoin.design.workbench.samples import is_word, text_of, tokens
from prejoin.keys import KeyValueError, Template, TemplateError
from prejoin.types import STRING, Type

_NAME = re.compile(r"[^{}:?\s][^{}:?]*")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(slots=True)
class Recovered:
    """What the keys of one kind of item are made of, found key by key."""

    samples: Sequence[Sample]
    owners: Mapping[str, str]
    """Words of keys, and the entity whose id comes after them."""
    keys: frozenset[str]
    """The names of all key attributes that are nothing but keys."""
    separator: str
    invented: dict[str, list[str]] = field(default_factory=dict)
    """Parts of keys that are in no attribute, by the name they got."""
    natural: set[str] = field(default_factory=set)
    """Key attributes that are taken as they stand though they are nothing but keys."""

    def template(self, key: KeyAttribute, among: Sequence[Sample], called: str = "") -> str:
        """What the key is made of in these samples, which all have it."""
        whole = f"{{{key.name}}}"
        texts = [text_of(sample.get(key.name)) for sample in among]
        if key.type != "S" or key.name not in self.keys or not texts or None in texts:
            return self._as_it_stands(key.name, whole)
        parts = [tokens(text or "", self.separator) for text in texts]
        if len({len(one) for one in parts}) > 1:
            return self._as_it_stands(key.name, whole)
        names = tokens(called, self.separator) if called and called != key.name else []
        names = names if len(names) == len(parts[0]) else []
        found: list[str] = []
        for at in range(len(parts[0])):
            first = at == 0 and len(parts[0]) > 1
            part = self._part([one[at] for one in parts], among, found, names[at] if names else "", first)
            if part is None:
                return self._as_it_stands(key.name, whole)
            found.append(part)
        text = self.separator.join(found)
        return text if self._builds(text, key.name, among) else self._as_it_stands(key.name, whole)

    def _part(
        self, texts: Sequence[str], among: Sequence[Sample], before: Sequence[str], called: str, first: bool
    ) -> str | None:
        same = len(set(texts)) == 1 and not set(texts[0]) & set("{}")
        # What is the same everywhere is a word only if it looks like one: samples may all be of one order.
        literal = texts[0] if same and (texts[0] == "" or is_word(texts[0], first)) else None
        name = self._attribute(texts, among)
        if literal is not None and (literal == "" or first or name is None):
            return literal
        if name is None and "" not in texts:
            name = self._invent(texts, before, called)
        return f"{{{name}}}" if name else None

    def _attribute(self, texts: Sequence[str], among: Sequence[Sample]) -> str | None:
        """An attribute that has these values."""
        for name in (name for name in among[0] if name not in self.keys and _NAME.fullmatch(name)):
            if [text_of(sample.get(name)) for sample in among] == list(texts):
                return name
        return None

    def _invent(self, texts: Sequence[str], before: Sequence[str], called: str) -> str | None:
        """A name for what is only in the key: what the facet calls it, or by the word before it."""
        word = next((b for b in reversed(before) if b and not b.startswith("{")), "")
        bare = re.sub(r"\W+", "", called) if _NAME.fullmatch(called) and not is_placeholder_word(called) else ""
        if not bare and word:
            moment = all(map(_MOMENT.match, texts))
            stem = "" if moment else self.owners.get(word, "")
            stem = stem or "".join(p.capitalize() for p in re.findall(r"[^\W_]+", word.lower()))
            ending = "At" if moment else "" if stem.lower().endswith("id") else "Id"
            bare = f"{stem[:1].lower()}{stem[1:]}{ending}" if stem else ""
        if not bare or bare[0].isdigit():
            return None
        taken = {name for sample in self.samples for name in sample}
        number = 1
        while True:
            name = bare if number == 1 else f"{bare}{number}"
            known = self.invented.get(name)
            if known is not None and known[: len(texts)] == list(texts) and f"{{{name}}}" not in before:
                return name
            if known is None and name not in taken:
                self.invented[name] = list(texts)
                return name
            number += 1

    def _as_it_stands(self, name: str, whole: str) -> str:
        if name in self.keys:
            self.natural.add(name)
        return whole

    def _builds(self, text: str, key: str, among: Sequence[Sample]) -> bool:
        """Whether the template really gives the keys of the samples."""
        for number, sample in enumerate(among):
            values = {name: said for name in sample if (said := text_of(sample[name])) is not None}
            values |= {name: said[number] for name, said in self.invented.items() if number < len(said)}
            types: Mapping[str, Type] = dict.fromkeys(values, STRING)
            try:
                if Template.of(text, types, self.separator, raw=True).build(values) != text_of(sample.get(key)):
                    return False
            except (TemplateError, KeyValueError):
                return False
        return True


def is_placeholder_word(text: str) -> bool:
    """Whether a part of what a facet calls a key is a word of the key and not a name: `ITEMS` of `ITEMS#ItemID`."""
    return text.isupper() and len(text) > 3


def when_of(
    inside: Sequence[Sample], outside: Sequence[Sample], fields: frozenset[str], keys: frozenset[str]
) -> tuple[When, ...]:
    """What tells the items of a sparse index from the others; nothing where the samples do not show it."""
    if not outside or not all(fields <= sample.keys() for sample in outside):
        return ()  # what is not there has not what the key is made of
    for name in (name for name in inside[0] if name not in keys):
        there = [text_of(sample.get(name)) for sample in inside]
        elsewhere = {text_of(sample.get(name)) for sample in outside}
        if None not in there and not set(there) & elsewhere and len(set(there)) < max(2, len(there)):
            return (When(name, tuple(sorted(text for text in set(there) if text is not None))),)
    return ()
