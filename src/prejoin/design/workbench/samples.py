"""Infers item types, key templates and sparse conditions from the sample items of a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prejoin.design.model import KeyAttribute, When
from prejoin.design.workbench.file_format import Sample, WorkbenchTable
from prejoin.keys import KeyValueError, Template, TemplateError
from prejoin.types import STRING, Kind, Type
from prejoin.workload.grammar.lexer import WORD

_TYPE_NAMES = re.compile(r"_?(?:_?entity|item|record|object)?[-_ ]?(?:type|typename|et|kind|entity)", re.I)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?")
_WORD = re.compile(r"[^\W\d]+(?:[ -][^\W\d]+)*")
_PHYSICAL = re.compile(
    r"(?:gsi|lsi|index|idx)?[-_ ]?\d*[-_ ]?(?:pk|sk|hk|rk|p|s|partition|sort|hash|range)[-_ ]?(?:key)?[-_ ]?\d*"
    r"|data|(?:gsi|lsi)[-_ ]?\d*[-_ ]?\w{0,4}",
    re.IGNORECASE,
)
_MOST_KINDS = 60
_MOST_PARTS = 40
"""The most parts of a key: finding names for them takes quadratic time."""
_PLAIN = {
    "S": STRING,
    "N": Type(Kind.NUMBER),
    "B": Type(Kind.BINARY),
    "BOOL": Type(Kind.BOOLEAN),
    "L": Type(Kind.LIST),
    "M": Type(Kind.MAP),
    "SS": Type(Kind.SET, of=STRING),
    "NS": Type(Kind.SET, of=Type(Kind.NUMBER)),
    "BS": Type(Kind.SET, of=Type(Kind.BINARY)),
}


@dataclass(slots=True)
class SampleGroup:
    """Items of one type."""

    name: str
    samples: list[Sample] = field(default_factory=list)
    tag: str = ""
    """The value of the type attribute."""
    pk: str = ""
    """The names of the keys in the facet."""
    sk: str = ""


def text_of(value: object) -> str | None:
    """The value of an attribute as text in a key.

    >>> text_of({"S": "a"}), text_of({"N": "7"}), text_of({"BOOL": True})
    ('a', '7', None)
    """
    if isinstance(value, Mapping) and len(value) == 1:
        tag, inside = next(iter(value.items()))
        if tag in {"S", "N"} and isinstance(inside, str):
            return inside
    return None


def is_value(value: object) -> bool:
    """Whether it is a DynamoDB value. The contents of lists and maps are not checked."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    tag, inside = next(iter(value.items()))
    match tag:
        case "S" | "N" | "B":
            return isinstance(inside, str)
        case "BOOL" | "NULL":
            return isinstance(inside, bool)
        case "SS" | "NS" | "BS" | "L":
            return isinstance(inside, list)
        case _:
            return tag == "M" and isinstance(inside, dict)


def type_of(values: Sequence[object]) -> Type:
    """The common type of values; the type of the first if they differ."""
    tags = [next(iter(v)) for v in values if isinstance(v, Mapping) and v and next(iter(v)) in _PLAIN]
    found = _PLAIN[tags[0]] if tags else STRING
    texts = [text_of(value) or "" for value in values]
    if found.kind is Kind.NUMBER and all(re.fullmatch(r"-?\d{1,38}", text, re.ASCII) for text in texts):
        return Type(Kind.INTEGER)
    return found


def tokens(text: str, separator: str) -> list[str]:
    """The parts of a key between separators. A time is one part.

    >>> tokens("User:ann:2026-01-15T10:30:00Z", ":")
    ['User', 'ann', '2026-01-15T10:30:00Z']
    """
    masked = _MOMENT.sub(lambda found: "\0" * len(found[0]), text)
    if masked.count(separator) > _MOST_PARTS:
        return [text]  # a value that contains the separator: no template has so many parts
    parts, start = [], 0
    for end in [*(at for at, char in enumerate(masked) if char == separator), len(text)]:
        parts.append(text[start:end])
        start = end + 1
    return parts


def separator_of(keys: Sequence[str]) -> str:
    """The separator of most keys; `#` if there is none.

    >>> separator_of(["User:ann", "2026-01-15T10:30:00Z"]), separator_of(["ann"])
    (':', '#')
    """
    seen = Counter(char for key in keys for char in set(_MOMENT.sub("", key)) & set("#|:/"))
    return max("#|:/", key=lambda char: seen[char]) if seen else "#"


def groups_of(
    table: WorkbenchTable,
    samples: Sequence[Sample],
    separator: str,
    type_attribute: str,
    facet: SampleGroup | None = None,
) -> list[SampleGroup]:
    """The types among samples, by their type attribute or by the words of their keys.

    A facet may hold several types: it shows what is read together.
    """
    keys = table.key_attributes
    names = [key.attribute_name for key in (keys.partition_key, keys.sort_key) if key]
    if not any(map(is_physical, names)):
        names = []  # attributes that are themselves keys say nothing about types
    found: dict[tuple[str, ...], list[Sample]] = {}
    for sample in samples:
        said = text_of(sample.get(type_attribute)) if type_attribute else None
        words = (said,) if said else _words([text_of(sample.get(name)) or "" for name in names], separator)
        found.setdefault(words, []).append(sample)
    if len(found) > _MOST_KINDS and not type_attribute:
        found = {(): list(samples)}
    if facet is not None and len(found) == 1:
        return [facet]
    whole = facet.name if facet else ""
    pk, sk = (facet.pk, facet.sk) if facet else ("", "")
    return [SampleGroup(_named(words, table.table_name, whole), mine, "", pk, sk) for words, mine in found.items()]


def type_attribute_of(samples: Sequence[Sample], keys: frozenset[str]) -> str:
    """The type attribute, by its name; all items have it."""
    if not samples:
        return ""
    for name in samples[0]:
        if name not in keys and _TYPE_NAMES.fullmatch(name):
            values = [text_of(sample.get(name)) for sample in samples]
            if all(values) and len(set(values)) <= _MOST_KINDS:
                return name
    return ""


def is_physical(name: str) -> bool:
    """Whether an attribute is only a key, by its name.

    >>> [name for name in ("PK", "GSI1-SK", "gsi2pk", "RoomID", "email", "sort_key") if is_physical(name)]
    ['PK', 'GSI1-SK', 'gsi2pk', 'sort_key']
    """
    return bool(_PHYSICAL.fullmatch(name))


def is_word(text: str, first: bool = False) -> bool:
    """Whether a part of a key looks like a literal word: no digits, one case.

    The first of several parts is a word in any case: `User` of `User:ann`.
    """
    bare = text.strip("\"'#<>")
    return bool(_WORD.fullmatch(bare)) and (first or bare.isupper() or bare.islower())


def _words(keys: Sequence[str], separator: str) -> tuple[str, ...]:
    """The words that are the same in all keys of a type, each followed by a value."""
    found = []
    for number, key in enumerate(keys):
        parts = tokens(key, separator)
        alone = len(parts) == 1
        word = (not alone or number == 1) and is_word(parts[0], first=not alone)
        found.append(f"{number}{parts[0]}" if word else f"{number}")
        found += [f"{number}{part}" for part in parts[2:] if is_word(part)]
    return tuple(found)


def _named(words: Sequence[str], table: str, facet: str) -> str:
    """A type's name from the last telling word: an order line is under its order. For a facet, with its name."""
    if facet:
        own = [word[1:] for word in words if word.startswith("1") and word[1:]]
        return entity_name(facet) + (entity_name(own[-1]) if own else "")
    plain = [word.lstrip("01") for word in words if word.lstrip("01")]
    telling = [word for word in plain if len(word) > 2]
    return entity_name((telling or plain or [table])[-1])


def entity_name(text: str) -> str:
    """A name for an entity: `ORDER_ITEM` becomes `OrderItem`.

    >>> entity_name("ORDER_ITEM"), entity_name("warehouseItem"), entity_name("7")
    ('OrderItem', 'WarehouseItem', 'Item7')
    """
    parts = re.findall(r"[^\W_]+", text)
    joined = "".join((p.capitalize() if p.isupper() else p[:1].upper() + p[1:]) for p in parts)
    return joined if WORD.match(joined) else f"Item{joined}"


def owners_of(groups: Sequence[SampleGroup], keys: Sequence[str], separator: str) -> dict[str, str]:
    """Words of keys, and the entity whose id follows them: `c` of `c#1`, if that is the customer's whole key."""
    found: dict[str, set[str]] = {}
    for group in groups:
        for sample in group.samples:
            first, *rest = [tokens(text_of(sample.get(name)) or "", separator) for name in keys]
            alone = all(one == first or (len(one) == 1 and is_word(one[0])) for one in rest)
            if len(first) == 2 and is_word(first[0], first=True) and alone:
                found.setdefault(first[0], set()).add(group.name)
    return {word: min(names) for word, names in found.items() if len(names) == 1}


def attributes_in(samples: Sequence[Sample]) -> Iterator[str]:
    yield from dict.fromkeys(name for sample in samples for name in sample)


_NAME = re.compile(r"[^{}:?\s][^{}:?]*")
_MOMENT_START = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(slots=True)
class RecoveredKey:
    """The key templates of one type, inferred key by key."""

    samples: Sequence[Sample]
    owners: Mapping[str, str]
    """Words of keys, and the entity whose id follows them."""
    keys: frozenset[str]
    """The names of all attributes that are only keys."""
    separator: str
    invented: dict[str, list[str]] = field(default_factory=dict)
    """Parts of keys that no attribute holds, by the name they got."""
    natural: set[str] = field(default_factory=set)
    """Key attributes without a template although they are only keys."""

    def template(self, key: KeyAttribute, among: Sequence[Sample], called: str = "") -> str:
        """The template of a key in these samples, which all have it."""
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
        # A constant part is a word only if it looks like one: all samples may be of one order.
        literal = texts[0] if same and (texts[0] == "" or is_word(texts[0], first)) else None
        name = self._attribute(texts, among)
        if literal is not None and (literal == "" or first or name is None):
            return literal
        if name is None and "" not in texts:
            name = self._invent(texts, before, called)
        return f"{{{name}}}" if name else None

    def _attribute(self, texts: Sequence[str], among: Sequence[Sample]) -> str | None:
        """An attribute with these values."""
        for name in (name for name in among[0] if name not in self.keys and _NAME.fullmatch(name)):
            if [text_of(sample.get(name)) for sample in among] == list(texts):
                return name
        return None

    def _invent(self, texts: Sequence[str], before: Sequence[str], called: str) -> str | None:
        """A name for a part that only the key holds: from the facet, or from the word before it."""
        word = next((b for b in reversed(before) if b and not b.startswith("{")), "")
        bare = re.sub(r"\W+", "", called) if _NAME.fullmatch(called) and not is_placeholder_word(called) else ""
        if not bare and word:
            moment = all(map(_MOMENT_START.match, texts))
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
        """Whether the template gives the keys of the samples."""
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
    """Whether a part of a facet's key name is a word and not a name: `ITEMS` of `ITEMS#ItemID`."""
    return text.isupper() and len(text) > 3


def when_of(
    inside: Sequence[Sample], outside: Sequence[Sample], fields: frozenset[str], keys: frozenset[str]
) -> tuple[When, ...]:
    """The sparse condition of an index; none if the samples do not show it."""
    if not outside or not all(fields <= sample.keys() for sample in outside):
        return ()  # an item outside the index lacks attributes of its key
    for name in (name for name in inside[0] if name not in keys):
        there = [text_of(sample.get(name)) for sample in inside]
        elsewhere = {text_of(sample.get(name)) for sample in outside}
        if None not in there and not set(there) & elsewhere and len(set(there)) < max(2, len(there)):
            return (When(name, tuple(sorted(text for text in set(there) if text is not None))),)
    return ()
