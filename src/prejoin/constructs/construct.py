"""The hooks of constructs: what a line of an entity, such as `History: 20 versions`, means at each stage.

`Construct` is the kind: how its line is written. `BoundConstruct` is the construct of one entity. Expiry, which is the
flag of an attribute, is only a `DeclaredConstruct`. `AddedConstruct` is one that a design adds to an entity: a guard of
unique values. `RefreshedConstruct` is one of the flags of attributes that follow another entity's, whose kind is an
`AttributeFlag`. All are an `EntityConstruct`. All hooks do nothing by default. They are named like those of the run
side (`table/schema/pattern.py`) where they mean the same:

1. The document: `read` and `write` its line, `problems` and `write_problems` check it.
2. Writes: `maintained_names` are the attributes that the client writes, `rewrite` and `also_changes` change an action,
   `depends` and `located_by` name stored values that a write needs, `diverted_names` those that it changes elsewhere.
   `expand` adds actions on the construct's own items, and `vacancy` is the condition that the client adds to these.
   `prepare` names what the client stores before it writes the item.
3. Reads and writes: `visible` is true of the items that they find. `held_names` are what it tests: every index and
   copy has them.
   `present` is a test that the client adds by itself, and `vacant` is true of the items that it replaces as if absent.
   `complete` reads what the construct's own items hold.
4. The design: `items` are the construct's own items, `stored_count` is how many, `ends` whether they expire.
5. Renderings: `schema_calls`, `effect_words`, `explanation`, `usage_words`, and rows of the documents.
6. The proof: `initial`, `expected_change`, `companions`, `kept_pieces`, `hidden_values`, `refreshed_values`.

A construct may import the model of workloads and of designs and the lexer of the grammar, and nothing that imports
constructs: the other stages ask the registry (`constructs/registry.py`; `constructs/refreshed.py` for the flags).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from prejoin.design.model import Design, Did, ItemAction, ItemChange, ItemName, Request
from prejoin.diagnostics import Code
from prejoin.keys import Facet, Template
from prejoin.workload.model import Action, Attribute, Change, Entity, Leaf, Test, Verb, Workload, Write

T = TypeVar("T")


# --- What the hooks take and return ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LineGrammar:
    """How the line of a construct is written."""

    label: str
    meaning: str
    """What the line holds, for the guide's table of labels."""
    examples: tuple[tuple[str, str] | tuple[str, str, tuple[str, ...]], ...]
    """Texts with what they mean, and other spellings of the same."""


@dataclass(frozen=True, slots=True)
class DesignSection:
    """The section of a construct in the table design and on the page of keys."""

    title: str
    synonyms: tuple[str, ...]
    columns: tuple[str, ...]
    """Those of the table design. The first is Entity."""
    introduction: str
    owner: str
    """The column of the entity on the page of keys."""
    map_columns: tuple[str, ...]
    """Those of the page of keys."""
    map_introduction: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a construct, for a diagnostic."""

    code: Code
    message: str
    fix: str
    column: str = ""
    """The column of the pattern that it is about: `actions`, `checks`."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the cost of a construct's items depends on."""

    count: float
    """The items of the entity."""
    retention: float
    """The seconds that an item is kept."""
    written: Callable[..., float]
    """The items that some verbs are done to in a second."""
    replaced: Callable[[str], float]
    """The values of an attribute that are replaced, or deleted with their item, in a second."""


@dataclass(frozen=True, slots=True)
class KeptItem:
    """An item of a construct, with the templates of its key."""

    name: ItemName
    pk: str
    sk: str
    note: str
    """What it is, in a few words: `earlier version`."""
    plural: str
    """Several of them."""


@dataclass(frozen=True, slots=True)
class SchemaCall:
    """A pattern of the generated schema: `History(Key(…), keep=20)`, `Follows(User, {"author": "name"})`."""

    name: str
    attributes: tuple[str, ...] = ()
    """Attributes, which become the names of their fields."""
    key: tuple[str, ...] = ()
    """The templates of a key."""
    variables: tuple[str, ...] = ()
    """Names of the schema's module: `store`."""
    options: tuple[tuple[str, object], ...] = ()
    """Keywords with texts, numbers, booleans or timedeltas."""
    of: str = ""
    """Another entity, the first argument."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Attributes of the entity, each with one of the other."""
    by: tuple[tuple[str, str], ...] = ()
    """The parts of the other's id, each with the attribute that holds it."""


@dataclass(frozen=True, slots=True)
class ContentPieces:
    """The pieces of a content, which the client stores before it writes the item: in the table, or in a store."""

    content: str
    """`Document.body`."""
    inline: int
    """The bytes up to which a content has no pieces, and is in its item."""
    size: int
    """The bytes of each piece."""
    sk: str = ""
    """In the table, the template of the sort key. The partition is that of the item."""
    tag: str = ""
    """Appended to the type of the entity's item."""
    folder: str = ""
    """In a store, the folder of the objects; empty if they are in the table."""


@dataclass(frozen=True, slots=True)
class ExpectedItem:
    """An item that the table has to hold beside the data, after an item was replaced or deleted."""

    pk: str
    sk: str
    tag: str
    """Appended to the type of the entity's item."""
    values: Mapping[str, Any]
    """The attributes of the entity's item, which are stored as one object."""
    ends: int | None = None
    """The seconds after which it expires."""


@dataclass(frozen=True, slots=True)
class ExpectedChange:
    """What a construct keeps in the table and deletes from it when an item is replaced or deleted."""

    kept: tuple[ExpectedItem, ...] = ()
    dropped: tuple[ExpectedItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Companion:
    """An item that the table has to hold as long as an item of the entity."""

    pk: Template
    sk: Template | None
    tag: str
    """Appended to the type of the entity's item."""
    stored: tuple[str, ...] = ()
    """The attributes of the entity's item that it has, too."""


@dataclass(frozen=True, slots=True)
class ExpectedPiece:
    """A part that the table has to hold for a content that an item refers to."""

    pk: Template
    sk: Template
    tag: str
    """Appended to the type of the entity's item."""
    fields: Mapping[str, Any]
    """The values in the key that are no attributes of the item."""
    data: bytes


OWNER = "owner"
"""The attribute of a guard with the key of the item whose value is unique, as a map."""


@dataclass(frozen=True, slots=True)
class Vacancy:
    """The condition that there is no item under a key, or only that of the item that is written."""

    owner: tuple[str, str]
    """The templates of the key of the item that it must be of. The sort key is empty if the table has none."""
    vacant: Test | None = None
    """True of the items that count as none."""


@dataclass(frozen=True, slots=True)
class PutAttribute:
    """An attribute of an item of a construct as it is put, beside its key and its type."""

    name: str
    words: str
    """What its value is: `the key of the item, {pk: …, sk: …}`."""
    is_optional: bool = False
    """Whether it may be absent."""


# --- The hooks ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntityConstruct:
    """A construct of one entity, however the document says it: the hooks for its own items."""

    entity: Entity

    # Writes

    def depends(self, action: Action) -> frozenset[str]:
        """The stored attributes for which a write reads the item first, whatever it knows."""
        return frozenset()

    def located_by(self, action: Action, changed: Set[str], design: Design) -> frozenset[str]:
        """The stored attributes that say where items of its own are. A write that does not know them reads them."""
        return frozenset()

    def diverted_names(self, action: Action) -> frozenset[str]:
        """The attributes that an action changes in items of its own, and not in the entity's item."""
        return frozenset()

    def expand(self, action: Action, changes: Mapping[str, ItemChange], design: Design) -> Iterator[ItemAction]:
        """The actions on the construct's own items, in the same transaction, from the changes by their attributes."""
        return iter(())

    def prepare(self, written: Set[str], design: Design) -> Iterator[ContentPieces]:
        """What the client stores before it writes an item, from the attributes to which the write gives values."""
        return iter(())

    @property
    def precedes_copies(self) -> bool:
        """Whether the client writes its own items before the copies of the entity's item."""
        return False

    def times(self, effect: Did) -> int:
        """How many items of its own an action on them is done to."""
        return 1

    def vacancy(self, action: ItemAction, design: Design) -> Vacancy | None:
        """The condition that the client adds to an action on an item of its own."""
        return None

    def put_attributes(self, design: Design) -> Iterator[PutAttribute]:
        """The attributes of an item of its own as the client puts it."""
        return iter(())

    @property
    def may_be_missing(self) -> bool:
        """Whether an item of the entity may have no item of the construct."""
        return True

    # Reads

    def complete(self, is_wanted: Callable[[str], bool], is_consistent: bool, design: Design) -> Iterator[Request]:
        """The requests for what its own items hold of the items that a read returned."""
        return iter(())

    # The design

    def tag(self, design: Design) -> str:
        """The type of its own items, after that of the entity's items and a space."""
        raise NotImplementedError

    @property
    def item_size(self) -> int | None:
        """The bytes of an item of its own; None if it is as large as one of the entity."""
        return None

    def stored_count(self, usage: Usage) -> float:
        """How many items of its own are kept at a time, of all items of the entity."""
        return 0.0

    def expiry_rate(self, usage: Usage) -> float:
        """How many items of its own DynamoDB deletes in a second, by a time to live that the item has not."""
        return 0.0

    def beside(self, item: Facet, design: Design) -> Iterator[Facet]:
        """The facets of items of its own that are in the partition of the entity's item, which has this facet."""
        return iter(())

    # Renderings

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        """The patterns of the generated schema. `twins` are the copies that have the construct, too."""
        return iter(())

    def explanation(self, design: Design) -> Iterator[str]:
        """Sentences about the construct in the explanation of the entity."""
        return iter(())

    # The proof. It shares nothing with the hooks for writes: it says what is in the table, not how it comes there.

    def expected_change(
        self, before: Mapping[str, Any], after: Mapping[str, Any] | None, design: Design
    ) -> ExpectedChange:
        """What is in the table beside the data after an item was replaced, or deleted (`after` is None)."""
        return ExpectedChange()

    def companions(self, values: Mapping[str, Any], design: Design) -> Iterator[Companion]:
        """The items that are in the table as long as an item with these values."""
        return iter(())

    def kept_pieces(self, upload: str, data: bytes, design: Design) -> Iterator[ExpectedPiece]:
        """The parts in the table of a content that was stored under the id of an upload."""
        return iter(())


@dataclass(frozen=True, slots=True)
class DeclaredConstruct(EntityConstruct):
    """A construct of one entity that the document declares, by a line or by the flag of an attribute."""

    # The document

    def write_problems(self, write: Write) -> Iterator[Problem]:
        """What is wrong with a write, because of the construct."""
        return iter(())

    def counter_obstacle(self, number: str) -> str:
        """Why a number of the entity cannot be a sharded counter; empty if it can."""
        return ""

    # Writes

    @property
    def maintained_names(self) -> frozenset[str]:
        """The attributes that the client writes by itself. They are no inputs."""
        return frozenset()

    def rewrite(self, action: Action) -> Action:
        """The action as it is written out, once the document is read: a delete becomes an update."""
        return action

    def shorten(self, action: Action) -> Action:
        """The action as a document has it: the opposite of `rewrite`."""
        return action

    def client_verb(self, action: Action) -> Verb:
        """The method of the client that does a written out action."""
        return action.verb

    def also_changes(self, action: Action) -> tuple[Change, ...]:
        """The changes that the client adds to an update that changes something."""
        return ()

    def frees_unique(self, action: Action) -> bool:
        """Whether an action deletes the guards of the item's unique values, and leaves the item."""
        return False

    @property
    def releasing(self) -> frozenset[str]:
        """The attributes that tell whether an item holds its unique values, or has released them."""
        return frozenset()

    # Reads and writes

    @property
    def visible(self) -> Leaf | None:
        """True of the items that reads return and writes find; None for all."""
        return None

    @property
    def visible_percent(self) -> float:
        """The part of the stored items that are visible, which is assumed."""
        return 100.0

    @property
    def held_names(self) -> frozenset[str]:
        """The attributes that every index and copy holds, because reads test them."""
        return frozenset()

    def present(self, design: Design) -> Test | None:
        """What is true of the items that reads and writes find, and that the client tests by itself; None for all.

        Operations do not list it: it is in their requests only.
        """
        return None

    def vacant(self, design: Design) -> Test | None:
        """True of the items that a create replaces as if they were absent; None for none."""
        return None

    # The design

    @property
    def ending(self) -> Attribute | None:
        """The attribute with the time after which DynamoDB deletes an item of the entity."""
        return None

    @property
    def retention(self) -> int | None:
        """The seconds that an item is assumed to be kept; None if the construct does not limit them."""
        return None

    @property
    def keeps_contents(self) -> bool:
        """Whether large contents are still referred to after their item was changed or deleted."""
        return False

    @property
    def leaves_contents(self) -> bool:
        """Whether large contents stay when nothing refers to them any more, because `remove_garbage` is refused."""
        return False

    # Renderings

    def presence_words(self, entities: str, design: Design) -> str:
        """A sentence about `present` of some entities, which are a list in words; empty if there is nothing to say."""
        return ""

    def expiry_words(self) -> str:
        """What DynamoDB does with an item by itself, after "some time after": a sentence; empty if nothing."""
        return ""

    # The proof

    @property
    def initial(self) -> Mapping[str, Any]:
        """The values that a new item has, whatever its object says."""
        return {}

    @property
    def hidden_words(self) -> str:
        """How a hidden item is named, after "an item that": empty if the construct hides none."""
        return ""

    def is_hidden(self, values: Mapping[str, Any], now: datetime) -> bool:
        """Whether no read returns an item with these values, and no update finds it."""
        return False

    def hidden_values(self, values: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
        """The values of an item after it was hidden. The construct has `hidden_words`."""
        raise NotImplementedError

    def is_without_guards(self, values: Mapping[str, Any]) -> bool:
        """Whether an item with these values does not hold its unique values."""
        return False


@dataclass(frozen=True, slots=True)
class BoundConstruct(DeclaredConstruct):
    """A construct of one entity, from its line in the document."""

    construct: Construct[Any]

    # The document

    def problems(self) -> Iterator[Problem]:
        """What is wrong with the entity's line."""
        return iter(())

    # Writes

    def function_actions(self) -> Iterator[Action]:
        """What functions of the client do to an item that no pattern of a document says, as actions: `purge`."""
        return iter(())

    # The design

    def items(self, design: Design) -> Iterator[KeptItem]:
        """The construct's own items. The entity has an item in the design."""
        return iter(())

    def tag(self, design: Design) -> str:
        return self.construct.name

    @property
    def ends(self) -> bool:
        """Whether items of its own expire, so that the table needs a TTL attribute."""
        return False

    # Renderings

    def usage_words(self) -> str:
        """How the client uses it, for the page of query interfaces: a sentence after the entity's name."""
        return ""

    def design_row(self, design: Design) -> Mapping[str, str]:
        """The cells of its row in the table design and on the page of keys, beside Entity. Keys are in backticks."""
        return {}

    def removal_words(self) -> str:
        """What becomes of its items if the next design has it no more: a sentence after the entity's name.

        `{design}` stands for the name of that design.
        """
        return ""

    def addition_words(self) -> str:
        """What to mind while code without the construct still runs: as `removal_words`, of the design that adds it."""
        return ""

    def change_words(self, before: BoundConstruct) -> str:
        """What becomes of the items that were written while its line was another: as `removal_words`."""
        return ""


@dataclass(frozen=True, slots=True)
class AddedConstruct(EntityConstruct):
    """A construct that a design adds to an entity. The entity has an item in the design."""

    declared: tuple[DeclaredConstruct, ...]
    """The constructs that the document declares for the entity."""

    @property
    def item_name(self) -> ItemName:
        """The name of its items."""
        raise NotImplementedError

    def templates(self, design: Design) -> tuple[Template, ...]:
        """The templates of the key of its items; none if it has no items. TemplateError if there is no such key."""
        raise NotImplementedError

    def folder(self, design: Design) -> str:
        """The folder of its objects in a store, in that of the table; empty if it has none."""
        return ""

    @property
    def sample(self) -> Mapping[str, object]:
        """Values of the fields in its templates that are no attributes, for the key of a sample."""
        return {}

    @property
    def has_own_word(self) -> bool:
        """Whether its sort keys begin with a word that no other sort key has."""
        return False

    @property
    def note(self) -> str:
        """What an item of its own is, in a few words: `guard of email`."""
        raise NotImplementedError

    @property
    def size_words(self) -> str:
        """What the size is of, as an assumption; empty if it is none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RefreshedConstruct(EntityConstruct):
    """A construct by which items repeat values of an item of another entity, their source.

    The write that changes a source does not touch them. They are refreshed afterwards: found by a key, and updated.
    """

    flag: AttributeFlag
    source: Entity
    attributes: Mapping[str, str]
    """For each attribute of the entity that is refreshed, that of the source."""
    by: Mapping[str, str]
    """For each part of the source's id, the attribute of the entity that holds it."""
    within: int | None
    """Seconds after which a change of the source has arrived, by a stream; None if the application refreshes."""

    @property
    def label(self) -> str:
        """It in messages: `Comment.author follows User`."""
        return f"{self.entity.name}.{next(iter(self.attributes))} {self.flag.name} {self.source.name}"

    def write_problems(self, write: Write) -> Iterator[Problem]:
        """What is wrong with a write, because of the construct."""
        return iter(())

    def source_changes(self, write: Write) -> Iterator[Action]:
        """The actions of a write on sources after which items are refreshed."""
        return iter(())

    @property
    def client_function(self) -> str:
        """The function of the client that the application calls after a change; empty if it need not."""
        return ""

    def usage_words(self, source: str, writes: str) -> str:
        """How old the values may be, for the page of query interfaces, with the names of the source and its writes."""
        return ""

    def refreshed_values(self, source: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The values that an item has after a refresh of a source; None if it is not refreshed by that."""
        return None


class AttributeFlag:
    """A kind of construct that is a flag of attributes. `workload/grammar/attributes.py` reads and writes it."""

    name: ClassVar[str]
    """The word of the flag, which is also a verb: `follows`."""
    title: ClassVar[str]
    """The heading of its section on the page of query interfaces."""

    def problems(
        self,
        workload: Workload,
        entity: Entity,
        attribute: Attribute,
        is_found: Callable[[Entity, Iterable[str]], bool],
    ) -> Iterator[Problem]:
        """What is wrong with an attribute. `is_found` tells whether a read finds all items of an entity by others."""
        return iter(())

    def bind(self, workload: Workload) -> Iterator[RefreshedConstruct]:
        """The constructs of all entities of a workload."""
        raise NotImplementedError


class Construct(Generic[T]):
    """A kind of construct: a line of an entity in the document. It is a field of `Entity` in `workload/model.py`."""

    name: ClassVar[str]
    """The name of the field, and of its items in operations: `history` of `Article@history`."""
    grammar: ClassVar[LineGrammar]
    section: ClassVar[DesignSection | None] = None
    functions: ClassVar[Mapping[str, str]] = {}
    """Words that are no verbs of a write, because functions of the client do it: what to write instead, by word."""
    restores: ClassVar[bool] = False
    """Whether its items can be restored, and so be read and written as items of the entity."""

    def read(self, text: str) -> T:
        """The value of the line. Raise `Inexact` if it is not exact."""
        raise NotImplementedError

    def write(self, value: T) -> str:
        """The value as it is written in the document."""
        raise NotImplementedError

    def effect_words(self, effect: Did) -> str:
        """What an action on an item of its own writes, without the entity: `the replaced version`."""
        raise NotImplementedError

    def bind(self, entity: Entity, value: T) -> BoundConstruct:
        """The construct of an entity."""
        raise NotImplementedError
