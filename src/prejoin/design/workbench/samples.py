"""Infers item types, key templates and sparse conditions from the sample items of a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

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
    common_type = next(filter(None, map(_plain_type, values)), STRING)
    texts = [text_of(value) or "" for value in values]
    if common_type.kind is Kind.NUMBER and all(re.fullmatch(r"-?\d{1,38}", text, re.ASCII) for text in texts):
        return Type(Kind.INTEGER)
    return common_type


def _plain_type(value: object) -> Type | None:
    """The type of a value in DynamoDB's JSON; None if it is no value."""
    tag = next(iter(value), None) if isinstance(value, Mapping) else None
    return _PLAIN.get(tag) if isinstance(tag, str) else None


def tokens(text: str, separator: str) -> list[str]:
    """The parts of a key between separators. A time is one part.

    >>> tokens("User:ann:2026-01-15T10:30:00Z", ":")
    ['User', 'ann', '2026-01-15T10:30:00Z']
    """
    masked_text = _MOMENT.sub(lambda match: "\0" * len(match[0]), text)
    if masked_text.count(separator) > _MOST_PARTS:
        return [text]  # a value that contains the separator: no template has so many parts
    parts, start = [], 0
    for end in [*(position for position, char in enumerate(masked_text) if char == separator), len(text)]:
        parts.append(text[start:end])
        start = end + 1
    return parts


def separator_of(keys: Sequence[str]) -> str:
    """The separator of most keys; `#` if there is none.

    >>> separator_of(["User:ann", "2026-01-15T10:30:00Z"]), separator_of(["ann"])
    (':', '#')
    """
    separator_counts = Counter(char for key in keys for char in set(_MOMENT.sub("", key)) & set("#|:/"))
    return max("#|:/", key=lambda char: separator_counts[char]) if separator_counts else "#"


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
    samples_by_words: dict[tuple[str, ...], list[Sample]] = {}
    for sample in samples:
        tag = text_of(sample.get(type_attribute)) if type_attribute else None
        words = (tag,) if tag else _words([text_of(sample.get(name)) or "" for name in names], separator)
        samples_by_words.setdefault(words, []).append(sample)
    # So many kinds of keys are values that look like words.
    if len(samples_by_words) > _MOST_KINDS and not type_attribute:
        samples_by_words = {(): list(samples)}
    if facet is not None and len(samples_by_words) == 1:
        return [facet]
    facet_name, pk, sk = (facet.name, facet.pk, facet.sk) if facet else ("", "", "")
    groups = []
    for words, group_samples in samples_by_words.items():
        name = _type_name(words, table.table_name, facet_name)
        groups.append(SampleGroup(name, group_samples, "", pk, sk))
    return groups


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
    """The words that are the same in all keys of a type, each behind the number of its key.

    >>> _words(["USER#7", "ORDER#1#ITEM#2"], "#")
    ('0USER', '1ORDER', '1ITEM')
    """
    words = []
    for number, key in enumerate(keys):
        parts = tokens(key, separator)
        has_value = len(parts) > 1
        # A sort key may be a word alone: `PROFILE`. A partition key that is one is the value of an attribute.
        is_literal = (has_value or number == 1) and is_word(parts[0], first=has_value)
        words.append(f"{number}{parts[0]}" if is_literal else f"{number}")
        words += [f"{number}{part}" for part in parts[2:] if is_word(part)]
    return tuple(words)


def _type_name(words: Sequence[str], table: str, facet: str) -> str:
    """A type's name from the last telling word: an order line is under its order. For a facet, with its name."""
    if facet:
        sort_words = [word[1:] for word in words if word.startswith("1") and word[1:]]
        return entity_name(facet) + (entity_name(sort_words[-1]) if sort_words else "")
    bare_words = [word.lstrip("01") for word in words]
    candidates = [word for word in bare_words if word]
    long_words = [word for word in candidates if len(word) > 2]
    return entity_name((long_words or candidates or [table])[-1])


def entity_name(text: str) -> str:
    """A name for an entity: `ORDER_ITEM` becomes `OrderItem`.

    >>> entity_name("ORDER_ITEM"), entity_name("warehouseItem"), entity_name("7")
    ('OrderItem', 'WarehouseItem', 'Item7')
    """
    parts = re.findall(r"[^\W_]+", text)
    name = "".join((part.capitalize() if part.isupper() else part[:1].upper() + part[1:]) for part in parts)
    return name if WORD.match(name) else f"Item{name}"


def owners_of(groups: Sequence[SampleGroup], keys: Sequence[str], separator: str) -> dict[str, str]:
    """Words of keys, and the entity whose id follows them: `c` of `c#1`, if that is the customer's whole key."""
    names_by_word: dict[str, set[str]] = {}
    for group in groups:
        for sample in group.samples:
            partition, *sort = [tokens(text_of(sample.get(name)) or "", separator) for name in keys]
            if len(partition) == 2 and is_word(partition[0], first=True) and _adds_nothing(partition, sort):
                names_by_word.setdefault(partition[0], set()).add(group.name)
    return {word: min(names) for word, names in names_by_word.items() if len(names) == 1}


def _adds_nothing(partition: list[str], sort_keys: Sequence[list[str]]) -> bool:
    """Whether a sort key repeats the partition key or is only a word, so that the item is the partition's own."""
    return all(parts == partition or (len(parts) == 1 and is_word(parts[0])) for parts in sort_keys)


def attributes_in(samples: Sequence[Sample]) -> Iterator[str]:
    yield from dict.fromkeys(chain.from_iterable(samples))


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

    def template(self, key: KeyAttribute, samples: Sequence[Sample], alias: str = "") -> str:
        """The template of a key in these samples, which all have it.

        Each part between separators becomes a literal word, an attribute with the same values in all samples, or a
        new attribute: `USER#7` and `USER#8`, of items with `userId` 7 and 8, give `USER#{userId}`. `alias` is the name
        of the key in the facet, where people often write the template.
        """
        texts = [text_of(sample.get(key.name)) for sample in samples]
        if key.type != "S" or key.name not in self.keys or not texts or None in texts:
            return self._whole_attribute(key.name)
        parts_of_samples = [tokens(text or "", self.separator) for text in texts]
        aliases = tokens(alias, self.separator) if alias and alias != key.name else []
        text = self._joined_parts(parts_of_samples, samples, aliases)
        if text is None or not self._builds(text, key.name, samples):
            return self._whole_attribute(key.name)
        return text

    def _joined_parts(
        self, parts_of_samples: Sequence[Sequence[str]], samples: Sequence[Sample], aliases: Sequence[str]
    ) -> str | None:
        """The template of keys that are taken apart; None if the samples do not show one."""
        number_of_parts = len(parts_of_samples[0])
        if any(len(parts) != number_of_parts for parts in parts_of_samples):
            return None
        if len(aliases) != number_of_parts:
            aliases = [""] * number_of_parts
        template_parts: list[str] = []
        for position, values in enumerate(zip(*parts_of_samples, strict=True)):
            is_first = position == 0 and number_of_parts > 1
            part = self._part(values, samples, template_parts, aliases[position], is_first)
            if part is None:
                return None
            template_parts.append(part)
        return self.separator.join(template_parts)

    def _part(
        self,
        values: Sequence[str],
        samples: Sequence[Sample],
        parts_before: Sequence[str],
        alias: str,
        is_first: bool,
    ) -> str | None:
        literal = _literal(values, is_first)
        name = self._attribute_with(values, samples)
        # A word between values may be the value of an enum, so an attribute with that value is preferred.
        if literal is not None and (literal == "" or is_first or name is None):
            return literal
        if name is None and "" not in values:
            name = self._invent(values, parts_before, alias)
        return f"{{{name}}}" if name else None

    def _attribute_with(self, values: Sequence[str], samples: Sequence[Sample]) -> str | None:
        """An attribute with these values."""
        for name in samples[0]:
            if name in self.keys or not _NAME.fullmatch(name):
                continue
            if [text_of(sample.get(name)) for sample in samples] == list(values):
                return name
        return None

    def _invent(self, values: Sequence[str], parts_before: Sequence[str], alias: str) -> str | None:
        """A name for a part that only the key holds: from the facet, or from the word before it."""
        stem = self._stem(values, parts_before, alias)
        if not stem or stem[0].isdigit():
            return None
        attribute_names = set(attributes_in(self.samples))
        for name in chain([stem], (f"{stem}{number}" for number in count(2))):
            invented_values = self.invented.get(name)
            if invented_values is None and name not in attribute_names:
                self.invented[name] = list(values)
                return name
            # The part of another key with the same values is the same attribute, but not twice in one key.
            is_same = invented_values is not None and invented_values[: len(values)] == list(values)
            if is_same and f"{{{name}}}" not in parts_before:
                return name
        raise AssertionError("there is always another number")

    def _stem(self, values: Sequence[str], parts_before: Sequence[str], alias: str) -> str:
        """The name of a part without a number behind it; empty if nothing tells it."""
        if _NAME.fullmatch(alias) and not is_placeholder_word(alias):
            stem = re.sub(r"\W+", "", alias)
            if stem:
                return stem
        words = [part for part in parts_before if part and not part.startswith("{")]
        return self._name_after(words[-1], is_moment=all(map(_MOMENT_START.match, values))) if words else ""

    def _name_after(self, word: str, is_moment: bool) -> str:
        """A name for the value behind a word: `orderId` for `ORDER#1`, `createdAt` for `CREATED#2026-01-01`."""
        stem = "" if is_moment else self.owners.get(word, "")
        if not stem:
            stem = "".join(part.capitalize() for part in re.findall(r"[^\W_]+", word.lower()))
        if not stem:
            return ""
        ending = "At" if is_moment else "Id"
        if not is_moment and stem.lower().endswith("id"):
            ending = ""
        return f"{stem[:1].lower()}{stem[1:]}{ending}"

    def _whole_attribute(self, name: str) -> str:
        """The template of a key that is the value of its attribute as it is."""
        if name in self.keys:
            self.natural.add(name)
        return f"{{{name}}}"

    def _builds(self, text: str, key: str, samples: Sequence[Sample]) -> bool:
        """Whether the template gives the keys of the samples."""
        for number, sample in enumerate(samples):
            texts = {name: text_of(value) for name, value in sample.items()}
            values = {name: value_text for name, value_text in texts.items() if value_text is not None}
            for name, invented_values in self.invented.items():
                if number < len(invented_values):
                    values[name] = invented_values[number]
            types: Mapping[str, Type] = dict.fromkeys(values, STRING)
            try:
                template = Template.of(text, types, self.separator, raw=True)
                if template.build(values) != text_of(sample.get(key)):
                    return False
            except (TemplateError, KeyValueError):
                return False
        return True


def is_placeholder_word(text: str) -> bool:
    """Whether a part of a facet's key name is a word and not a name: `ITEMS` of `ITEMS#ItemID`."""
    return text.isupper() and len(text) > 3


def _literal(values: Sequence[str], is_first: bool) -> str | None:
    """The word that a part of a key is in all samples, if it is one."""
    if len(set(values)) > 1 or set(values[0]) & set("{}"):
        return None
    # A constant part is a word only if it looks like one: all samples may be of one order.
    return values[0] if values[0] == "" or is_word(values[0], is_first) else None


def when_of(
    inside: Sequence[Sample], outside: Sequence[Sample], fields: frozenset[str], keys: frozenset[str]
) -> tuple[When, ...]:
    """The sparse condition of an index; none if the samples do not show it.

    An attribute is the condition if no item outside has a value of the items inside. Its values inside must repeat:
    an attribute with another value in each item, such as an id, would pass any test.
    """
    if not outside or not all(fields <= sample.keys() for sample in outside):
        return ()  # an item outside the index lacks attributes of its key
    for name in inside[0]:
        if name in keys:
            continue
        values_inside = [text_of(sample.get(name)) for sample in inside]
        values_outside = {text_of(sample.get(name)) for sample in outside}
        values = {value for value in values_inside if value is not None}
        is_on_all = None not in values_inside
        if is_on_all and values.isdisjoint(values_outside) and len(values) < max(2, len(values_inside)):
            return (When(name, tuple(sorted(values))),)
    return ()
