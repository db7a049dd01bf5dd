"""Converts the entities of a corpus file: types, flags, references, relationships and figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from corpus.references import Shape, find_references, looks_generated
from corpus.source import Fields, in_words, own_titles
from prejoin.types import STRING, Kind, Type
from prejoin.workload.document.columns import known_names
from prejoin.workload.document.tables import ENTITY_LABELS
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.quantities import read_cardinality
from prejoin.workload.grammar.values import read_retention
from prejoin.workload.lookup import target
from prejoin.workload.model import Attribute, Cardinality, Entity, Relationship, RelationshipKind, Workload

_TYPES = {
    "S": STRING,
    "N": Type(Kind.NUMBER),
    "B": Type(Kind.BINARY),
    "BOOL": Type(Kind.BOOLEAN),
    "M": Type(Kind.MAP),
    "L": Type(Kind.LIST),
    "SS": Type(Kind.SET, of=STRING),
    "NS": Type(Kind.SET, of=Type(Kind.NUMBER)),
    "BS": Type(Kind.SET, of=Type(Kind.BINARY)),
    **{str(kind): Type(kind) for kind in Kind if kind is not Kind.ENUM},
}
_GENERATED = {"ulid": Type(Kind.ULID), "uuid": Type(Kind.UUID), "ksuid": STRING}
_TIMES = {"date": Type(Kind.DATE), "datetime": Type(Kind.DATETIME), "timestamp": Type(Kind.DATETIME)}
RELATIONSHIP_WORDS = "Relationship in words"
VOLUME_WORDS = "Volume in words"


def convert_entities(
    entries: Sequence[Fields], changed: Mapping[str, set[str]], read_with: Mapping[str, set[tuple[str, str]]]
) -> tuple[Entity, ...]:
    """The entities. `changed` has the attributes that patterns update, `read_with` those of common reads."""
    drafts = [_Draft(fields, changed.get(str(fields.data.get("name")), set())) for fields in entries]
    for draft in drafts:
        draft.shape.read_with = frozenset(read_with.get(draft.name, ()))
    find_references([d.shape for d in drafts])
    by_name = {d.shape.name: d.shape for d in drafts}
    return _same_types(tuple(d.entity(by_name) for d in drafts))


def _same_types(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Gives attributes that hold an id the id's type, if the source says only that they are text."""
    workload = Workload(entities=entities)

    def typed(attribute: Attribute) -> Attribute:
        found = target(workload, attribute)
        if attribute.type != STRING or found is None or found[1].type.kind not in {Kind.ULID, Kind.UUID}:
            return attribute
        return msgspec.structs.replace(attribute, type=found[1].type)

    return tuple(msgspec.structs.replace(e, attributes=tuple(map(typed, e.attributes))) for e in entities)


class _Draft:
    """An entity after the first pass, which reads it alone; the second pass knows all names."""

    def __init__(self, fields: Fields, changed: set[str]) -> None:
        self.fields = fields
        self.name = fields.word("name")
        if not self.name:
            raise fields.error("name", "is missing")
        self.notes = fields.words("notes")
        self.relationship = fields.words("relationship")
        self.enums = {name: _members(fields, name, v) for name, v in fields.mapping("enum").items()}
        self.texts: dict[str, str] = {}
        self.types = self._types()
        self.flags = {flag: self._listed(flag) for flag in ("mutable", "immutable", "optional", "unique", "ttl")}
        self.changed = changed | self.flags["mutable"]
        identifying = self._known("id", fields.names("id"))
        # An attribute that changes cannot be an id, because a key cannot change. A note keeps the source's words.
        self.changing = tuple(a for a in identifying if a in self.changed)
        self.id = () if fields.flag("singleton") else tuple(a for a in identifying if a not in self.changed)
        self.constants = self._constants()
        self.defaults = {name: in_words(value) for name, value in fields.mapping("default").items()}
        self.declared_references = {name: _entity_names(value) for name, value in fields.mapping("references").items()}
        """The entities that attributes refer to, as the source declares them."""
        self._known("default", tuple(self.defaults))
        self._known("references", tuple(self.declared_references))
        self.shape = Shape(
            name=self.name,
            id=self.id,
            attributes=tuple(self.types),
            parent=fields.word("parent"),
            relationship=self.relationship,
            constants=frozenset(self.constants),
        )

    def _types(self) -> dict[str, Type]:
        value = self.fields.get("attributes")
        if isinstance(value, list):
            return dict.fromkeys(self.fields.names("attributes"), STRING)
        types = {}
        for name, form in self.fields.mapping("attributes").items():
            text = in_words(form.get("type") if isinstance(form, dict) else form)
            word, _, rest = text.partition(" ")
            known = _TYPES.get(word) or _TYPES.get(word.lower())
            if known is None and word:
                raise self.fields.error(f"attributes.{name}", f"`{text}` is not a type")
            types[name] = known or STRING
            self.texts[name] = rest.strip("()")
        if not types:
            raise self.fields.error("attributes", "is missing")
        return types

    def _listed(self, flag: str) -> set[str]:
        return set(self._known(flag, self.fields.names(flag)))

    def _known(self, where: str, names: Sequence[str]) -> Sequence[str]:
        for name in names:
            if name not in self.types:
                raise self.fields.error(where, f"`{name}` is not an attribute of {self.name}")
        return names

    def _constants(self) -> dict[str, str]:
        """`Lift has the constant value Resort Data`."""
        match = re.search(r"\b(\w+) has the constant value ([^.;,]+)", self.notes)
        return {match[1]: match[2].strip()} if match and match[1] in self.types else {}

    def _noted_word(self, attribute: str, words: Mapping[str, Type]) -> str:
        """The word that the notes use for an attribute: `photoId is a ULID`, `postId must be … (ULID)`."""
        for word in words:
            called = (
                rf"\b{re.escape(attribute)}\b[^.;,]*?(?:\bis an? (?:ISO |time.sortable )?|\(){word}\b\s*(?:$|[.;,()])"
            )
            if re.search(called, self.notes, re.IGNORECASE):
                return word
        return ""

    # --- Second pass ----------------------------------------------------------------------------------------------

    def entity(self, shapes: Mapping[str, Shape]) -> Entity:
        fields = self.fields
        parent = fields.word("parent")
        relationships, cardinality, words = self._relationships(shapes)
        count = fields.whole("count")
        if count is not None:
            cardinality = [*cardinality, Cardinality(count)]
        counted, volume = self._volume(shapes)
        notes = [self.notes] if self.notes else []
        if self.changing:
            named = " and ".join(f"`{a}`" for a in self.changing)
            notes.append(f"The source identifies it by {named} too, which changes and so cannot.")
        attributes = self._attributes(shapes)
        prose = " ".join(n if n.endswith((".", "!", "?")) else f"{n}." for n in notes)
        prose = " ".join(p for p in (fields.words("description"), prose) if p)
        plain = re.match(r"[A-Za-z`][^:|<>]*\Z", prose) is not None
        verbatim = {
            **({} if plain or not prose else {"Remarks": prose}),
            **({RELATIONSHIP_WORDS: words} if words else {}),
            **({VOLUME_WORDS: volume} if volume else {}),
            **({"Parent": parent} if parent and parent not in shapes else {}),
        }
        return Entity(
            name=self.name,
            description=prose if plain else "",
            attributes=attributes,
            relationships=tuple(relationships),
            cardinality=_firmest((*cardinality, *counted)),
            singleton=bool(fields.flag("singleton")),
            size=fields.whole("size_bytes"),
            retention=self._retention(),
            verbatim={**verbatim, **own_titles(self.fields.rest(), known_names(ENTITY_LABELS), verbatim)},
        )

    def _retention(self) -> int | None:
        """The lifetime of an item in seconds: `90 days`."""
        text = self.fields.words("retention")
        try:
            return read_retention(text) if text else None
        except Inexact as problem:
            raise self.fields.error("retention", problem.message) from problem

    def _references(self, name: str, shapes: Mapping[str, Shape]) -> tuple[str, ...]:
        """The entities whose ids an attribute holds: declared by the source, or derived from names."""
        found = tuple(one for one in self.declared_references.get(name, ()) if one != self.name)
        for one in found:
            if one not in shapes:
                raise self.fields.error(f"references.{name}", f"there is no entity `{one}`")
        return found or (self.shape.found.get(name, ""),)

    def _attributes(self, shapes: Mapping[str, Shape]) -> tuple[Attribute, ...]:
        sizes = self.fields.fields("field_bytes")
        derived = self.fields.mapping("derived")
        copied = self._copied(shapes)
        for name in (*derived, *sizes.data):
            self._known("derived" if name in derived else "field_bytes", (name,))
        own = [a for a in self.id if a not in self.shape.found]
        found = []
        for name, type_ in self.types.items():
            references, *others = self._references(name, shapes)
            found.append(
                Attribute(
                    name=name,
                    type=self._type(name, type_),
                    id=name in self.id,
                    generated=self._generated(name, own),
                    optional=name in self.flags["optional"],
                    mutable=True if name in self.changed else False if name in self.flags["immutable"] else None,
                    unique=name in self.flags["unique"],
                    ttl=name in self.flags["ttl"],
                    references=references,
                    references_or=tuple(others),
                    default=self.defaults.get(name),
                    copy_of=copied.get(name, "") or self._via(name, derived, shapes),
                    size=sizes.whole(name),
                    text="; ".join(t for t in (self.texts.get(name), in_words(derived.get(name))) if t),
                )
            )
        return tuple(found)

    def _generated(self, name: str, own: Sequence[str]) -> bool | None:
        """Whether the application generates an id; None for the id of another entity."""
        if name not in self.id:
            return None
        if self._noted_word(name, _GENERATED):
            return True
        if name not in own:
            return None if own else False
        # `orderId` is not a natural id. As one of several parts it may be the id of an entity that is not described.
        of = self.name if len(self.id) > 1 else ""
        return looks_generated(name, of, alone=len(own) == 1) and name not in self.flags["unique"]

    def _type(self, name: str, type_: Type) -> Type:
        if name in self.constants:
            return Type(Kind.ENUM, values=(self.constants[name],))
        if name in self.enums:
            return Type(Kind.ENUM, values=self.enums[name])
        if type_ is STRING and name in self.flags["ttl"]:
            return _TIMES["datetime"]
        if type_ is STRING and (word := self._noted_word(name, {**_GENERATED, **_TIMES})):
            return {**_GENERATED, **_TIMES}[word]
        return type_

    def _copied(self, shapes: Mapping[str, Shape]) -> dict[str, str]:
        """`carries customerId and Date copied from the order`."""
        match = re.search(r"\bcarries ([\w ,]+?) copied from (?:the |its )?(\w+)", self.relationship)
        source = _called(match[2], shapes) if match else None
        names = re.findall(r"\w+", match[1]) if match else []
        return {n: f"{source.name}.{n}" for n in names if source and n in source.attributes and n in self.types}

    def _via(self, name: str, derived: Mapping[str, object], shapes: Mapping[str, Shape]) -> str:
        """The attribute behind `via session`, if Session has one of the same name."""
        match = re.fullmatch(r"via (?:the )?(\w+)", in_words(derived.get(name)))
        source = _called(match[1], shapes) if match else None
        return f"{source.name}.{name}" if source and name in source.attributes else ""

    # --- Relationships and figures --------------------------------------------------------------------------------

    def _relationships(self, shapes: Mapping[str, Shape]) -> tuple[list[Relationship], list[Cardinality], str]:
        """Exact relationships and figures in the prose, and the prose itself if some of it is not exact."""
        found: list[Relationship] = []
        figures: list[Cardinality] = []
        left = False
        for clause in (c.strip() for c in re.split(r"[;,]", self.relationship) if c.strip()):
            if relationship := self._clause(clause, shapes):
                if re.fullmatch(r"unbounded", relationship.text, re.IGNORECASE):
                    figures.append(Cardinality(per=relationship.left))
                    relationship = _without_text(relationship)
                found.append(relationship)
            elif figure := _figures(clause, shapes):
                figures += figure
            else:
                left = True
        parent = self.fields.word("parent")
        if parent in shapes and not any(r.left == parent and r.right == self.name for r in found):
            kind = RelationshipKind.ONE_TO_ONE if self._same_id(shapes[parent]) else RelationshipKind.ONE_TO_MANY
            found.append(Relationship(parent, kind, self.name, self._held(parent)))
        return found, figures, self.relationship if left else ""

    def _same_id(self, parent: Shape) -> bool:
        """Whether its id is that of its parent, so that there is one for each parent."""
        return all(self.shape.found.get(a, "").partition(".")[0] == parent.name for a in self.id)

    def _clause(self, clause: str, shapes: Mapping[str, Shape]) -> Relationship | None:
        parent = self.fields.word("parent")
        if match := re.fullmatch(r"[MN]:[MN]\s+(\w+)\s*-\s*(\w+)\b\s*(.*)", clause):
            sides = _called(match[1], shapes), _called(match[2], shapes)
            if sides[0] and sides[1] and self.name not in {sides[0].name, sides[1].name}:
                kind = RelationshipKind.MANY_TO_MANY
                return Relationship(sides[0].name, kind, sides[1].name, (self.name,), text=match[3])
            return None
        if match := re.fullmatch(r"(\w+)\s+(1:1|1:N)(?:\s+(\w+))?", clause):
            left = _called(match[1], shapes)
            right = _called(match[3], shapes) if match[3] else self.shape
            if left and right:
                via = self._held(left.name) if right is self.shape else ()
                return Relationship(left.name, RelationshipKind(match[2]), right.name, via)
            return None
        if match := re.fullmatch(r"(1:1|1:N)(?:\s+with\s+(\w+))?\b\s*(.*)", clause):
            other = _called(match[2], shapes) if match[2] else shapes.get(parent)
            if other:
                kind = RelationshipKind(match[1])
                return Relationship(other.name, kind, self.name, self._held(other.name), text=match[3])
        return None

    def _held(self, entity: str) -> tuple[str, ...]:
        """The attributes that hold an entity's id, if only one set of them does."""
        held = [a for a, r in self.shape.found.items() if r.partition(".")[0] == entity]
        return tuple(held) if len({self.shape.found[a] for a in held}) == len(held) else ()

    def _volume(self, shapes: Mapping[str, Shape]) -> tuple[tuple[Cardinality, ...], str]:
        words = self.fields.words("volume")
        figures = _figures(words, shapes)
        return (tuple(figures), "") if figures else ((), words)


def _entity_names(value: object) -> tuple[str, ...]:
    """`User`, or one of several: `[User, Organization]`."""
    return tuple(in_words(one) for one in (value if isinstance(value, list) else [value]))


def _members(fields: Fields, name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise fields.error(f"enum.{name}", "is not a list of its members")
    return tuple(dict.fromkeys(in_words(one) for one in value))


def _called(word: str, shapes: Mapping[str, Shape]) -> Shape | None:
    return shapes.get(word) or next((s for n, s in shapes.items() if n.lower() == word.lower()), None)


def _figures(words: str, shapes: Mapping[str, Shape]) -> list[Cardinality]:
    """Figures such as `~100 per user, ~1M total` or `1K-10K users`, if the text contains nothing else."""
    if not words:
        return []
    # `10K users` names the counted entity; only `per` and `total` name the scope.
    plain = re.sub(r"(\d\s*[kKmMbB]?)\s+[a-z]+(?=\s*(?:,|;|$))(?<!total)", r"\1 total", words)
    try:
        figures = read_cardinality(plain)[1]
    except Inexact:
        return []
    named = []
    for figure in figures:
        per = _called(figure.per, shapes) if figure.per else None
        if figure.per and per is None:
            return []
        named.append(Cardinality(figure.count, per.name if per else "", figure.low, figure.at_most))
    return named


def _firmest(figures: Sequence[Cardinality]) -> tuple[Cardinality, ...]:
    """Each figure once; a limit takes precedence over an estimate."""
    limits = {(f.count, f.per) for f in figures if f.at_most}
    return tuple(dict.fromkeys(f for f in figures if f.at_most or (f.count, f.per) not in limits))


def _without_text(r: Relationship) -> Relationship:
    return Relationship(r.left, r.kind, r.right, r.via, r.role)
