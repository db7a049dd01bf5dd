"""History: the versions that updates and deletes replace are kept beside the item.

    - **History**: 20 versions, 90 days

An update counts `version`, and its transaction puts the version that it replaces into a partition of its own, and
deletes the oldest if they are too many. So each update and delete reads the whole item first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from prejoin.constructs.construct import (
    BoundConstruct,
    Construct,
    DesignSection,
    ExpectedChange,
    ExpectedItem,
    KeptItem,
    LineGrammar,
    Problem,
    PutAttribute,
    SchemaCall,
    Usage,
)
from prejoin.design.model import Design, Did, ItemAction, ItemChange, ItemName
from prejoin.types import Kind
from prejoin.workload.codes import CATALOGUE
from prejoin.workload.conditions import leaves
from prejoin.workload.grammar.lexer import CellTokens
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.grammar.values import read_span
from prejoin.workload.model import (
    Absence,
    Action,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    History,
    Leaf,
    Op,
    Value,
    Verb,
    Write,
)

VERSION = "version"
"""The attribute with the number of the version."""
_CODE = CATALOGUE["PJ226"]
_FIX = "write `20 versions`, `90 days`, `20 versions, 90 days` or `all versions`"
_REPLACING = (Verb.UPDATE, Verb.DELETE)
"""The actions that replace a version. What puts and upserts replace is not known, and they are refused."""


class HistoryConstruct(Construct[History]):
    name = "history"
    grammar = LineGrammar(
        "History",
        "how many earlier versions of an item are kept, and for how long",
        (
            ("20 versions", "the last 20 versions before the current one; a write deletes the one before them"),
            ("90 days", "each for 90 days after it was replaced; DynamoDB deletes it by its `ttl`"),
            ("20 versions, 90 days", "whichever ends first", ("20 versions; 90 days",)),
            ("all versions", "all, for ever"),
        ),
    )
    section = DesignSection(
        "Version Histories",
        ("histories", "history", "versions"),
        ("Entity", "Keeps", "Partition Key", "Sort Key"),
        "Each update or delete puts the version that it replaces, in the same transaction. The document says how many "
        "are kept, and their keys follow from those of the items.",
        "Versions of",
        ("Partition Key", "Sort Key", "Versions of", "Keeps", "Written by"),
        "Each holds an earlier version of an item. Reads of the entity do not return it.",
    )
    restores = True

    def read(self, text: str) -> History:
        """
        >>> HistoryConstruct().read("20 versions, 90 days")
        History(versions=20, seconds=7776000)
        >>> HistoryConstruct().read("all versions")
        History(versions=None, seconds=None)
        """
        tokens = CellTokens(text)
        versions = seconds = None
        if not tokens.words("all versions"):
            if tokens.peek().text.lower() in {"version", "versions"}:
                count = tokens.take()
                tokens.take()
                if not count.text.isdigit() or len(count.text) > 9:
                    raise tokens.inexact(f"`{count.raw}` is not a number of versions", _FIX, count)
                versions = int(count.text)
                tokens.separators()
            if not tokens.done:
                seconds = read_span(tokens)
        tokens.expect_end(_FIX)
        return History(versions, seconds)

    def write(self, value: History) -> str:
        """
        >>> HistoryConstruct().write(History(20, 7_776_000)), HistoryConstruct().write(History())
        ('20 versions, 90 days', 'all versions')
        """
        count = [f"{value.versions} versions"] if value.versions is not None else []
        span = [write_span(value.seconds)] if value.seconds is not None else []
        return ", ".join([*count, *span]) or "all versions"

    def effect_words(self, effect: Did) -> str:
        return "the oldest version" if effect is Did.DELETE else "the replaced version"

    def bind(self, entity: Entity, value: History) -> BoundConstruct:
        return VersionHistory(entity, self, value)


@dataclass(frozen=True, slots=True)
class VersionHistory(BoundConstruct):
    kept: History

    # The document

    def problems(self) -> Iterator[Problem]:
        entity, version = self.entity, self.entity.attribute(VERSION)
        if 0 in (self.kept.versions, self.kept.seconds):
            yield Problem(_CODE, f"the history of `{entity.name}` keeps nothing", _FIX)
        if version is None or version.type.kind is not Kind.INTEGER:
            message = f"`{entity.name}` has a history, and no whole number `{VERSION}` that tells its versions apart"
            yield Problem(_CODE, message, f"add the attribute `` `{VERSION}` (integer, mutable) ``")
        elif version.id or version.unique or version.optional or version.ttl or version.repeats:
            message = f"`{VERSION}` of `{entity.name}` is counted by each write"
            yield Problem(_CODE, message, f"write `` `{VERSION}` (integer, mutable) ``")
        if following_name := next((a.name for a in entity.attributes if a.follows), ""):
            message = (
                f"`{following_name}` follows another attribute, and each refresh would add a version of `{entity.name}`"
            )
            yield Problem(_CODE, message, "remove `follows`, or the history")

    def write_problems(self, write: Write) -> Iterator[Problem]:
        """The parts of a write that set a version, or do not know the one that they replace."""
        name = self.entity.name
        for action in write.actions:
            if action.entity != name:
                continue
            if action.verb in (Verb.PUT, Verb.UPSERT):
                message = f"{write.id} does not know the version of `{name}` that it replaces"
                yield Problem(_CODE, message, f"write `create {name}`, or `update {name} (…)`", "actions")
            if any(change.attribute == VERSION for change in action.changes):
                message = f"{write.id} sets `{name}.{VERSION}`, which is counted by each write"
                fix = f"leave it out; to check it, add the condition `{VERSION} = {VERSION}`"
                yield Problem(_CODE, message, fix, "actions")
        for check in write.checks:
            for leaf in leaves(check):
                if (leaf.entity or write.first_entity) != name or leaf.attribute != VERSION:
                    continue
                if check is not leaf or not _compares_with_input(leaf):
                    message = f"{write.id} compares a `{VERSION}` otherwise than with one that the caller has read"
                    yield Problem(_CODE, message, f"give it as an input: `{VERSION} = {VERSION}`", "checks")

    def counter_obstacle(self, number: str) -> str:
        return f"each change of a {self.entity.name} is a version in its history"

    # Writes

    @property
    def maintained_names(self) -> frozenset[str]:
        return frozenset({VERSION}) if self.entity.attribute(VERSION) else frozenset()

    def also_changes(self, action: Action) -> tuple[Change, ...]:
        return tuple(Change(name, ChangeOp.ADD, Value(const="1")) for name in self.maintained_names)

    def depends(self, action: Action) -> frozenset[str]:
        """The whole item, which becomes a version."""
        return frozenset(self.entity.types) if action.verb in _REPLACING else frozenset()

    def expand(self, action: Action, changes: Mapping[str, ItemChange], design: Design) -> Iterator[ItemAction]:
        """The replaced version is put, and the one that is too many is deleted."""
        if action.verb not in _REPLACING:
            return
        pk, sk = self._key(design)
        yield ItemAction(Did.PUT, self._item_name, pk, sk, action.many, conditions=(Absence(),))
        if self.kept.versions is not None:
            yield ItemAction(Did.DELETE, self._item_name, pk, sk, action.many)

    def put_attributes(self, design: Design) -> Iterator[PutAttribute]:
        yield PutAttribute("object", "a map of all attributes of the item as it was read")
        if self.kept.seconds is not None:
            end = f"the time of the call + {write_span(self.kept.seconds)}, in seconds since 1970"
            yield PutAttribute(design.ttl_attribute, end)

    # The design

    @property
    def _item_name(self) -> ItemName:
        return ItemName(self.entity.name, construct=self.construct.name)

    def _key(self, design: Design, copy: str = "") -> tuple[str, str]:
        """The templates of the key of the versions of the item, or of one of its copies.

        Each item has a partition for its versions, which begins with the item's own key, so that policies for the
        partitions of a tenant apply to them.
        """
        item = design.item(self.entity.name, copy)
        assert item is not None  # a design without a key for an entity does not fit its workload
        facet = item.facets[0]
        return design.separator.join((*facet.pk, *facet.sk, "HISTORY")), f"{{{VERSION}}}"

    def items(self, design: Design) -> Iterator[KeptItem]:
        yield KeptItem(self._item_name, *self._key(design), "earlier version", "earlier versions")

    def stored_count(self, usage: Usage) -> float:
        seconds = usage.retention if self.kept.seconds is None else self.kept.seconds
        replaced_count = usage.written(*_REPLACING) * seconds
        return replaced_count if self.kept.versions is None else min(replaced_count, usage.count * self.kept.versions)

    def expiry_rate(self, usage: Usage) -> float:
        # If versions are counted, too, each write deletes the one that is too many, and a request does it.
        is_by_time = self.kept.seconds is not None and self.kept.versions is None
        return usage.written(*_REPLACING) if is_by_time else 0.0

    @property
    def ends(self) -> bool:
        return self.kept.seconds is not None

    @property
    def keeps_contents(self) -> bool:
        return True

    @property
    def leaves_contents(self) -> bool:
        return self.kept != History()  # a version that is dropped leaves its content

    # Renderings

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        limits: list[tuple[str, object]] = []
        if self.kept.versions is not None:
            limits.append(("keep", self.kept.versions))
        if self.kept.seconds is not None:
            limits.append(("keep_for", timedelta(seconds=self.kept.seconds)))
        yield SchemaCall("Version", (VERSION,))
        yield SchemaCall("History", key=self._key(design), options=tuple(limits))
        for copy in twins:
            yield SchemaCall("History", key=self._key(design, copy), options=(*limits, ("of", copy)))

    def explanation(self, design: Design) -> Iterator[str]:
        pk, sk = self._key(design)
        deletion = " and deletes the one that is too many" if self.kept.versions is not None else ""
        yield (
            f"Earlier versions of each item ({self.construct.write(self.kept)}) are kept under `{pk}`, `{sk}`: an "
            f"update or a delete reads the item, and its transaction puts the version that it replaces{deletion}."
        )

    def usage_words(self) -> str:
        return (
            f"keeps {self.construct.write(self.kept)}. `history` lists them, `version_of` reads one, "
            "`compare_versions` compares two, and `restore_version` writes one anew, as the next version. All are in "
            "`prejoin`."
        )

    def design_row(self, design: Design) -> Mapping[str, str]:
        pk, sk = self._key(design)
        return {"Keeps": self.construct.write(self.kept), "Partition Key": f"`{pk}`", "Sort Key": f"`{sk}`"}

    def removal_words(self) -> str:
        return "has no history in `{design}`. Its versions stay in the table, and are not read any more"

    # The proof

    @property
    def initial(self) -> Mapping[str, Any]:
        return dict.fromkeys(self.maintained_names, 1)

    def expected_change(
        self, before: Mapping[str, Any], after: Mapping[str, Any] | None, design: Design
    ) -> ExpectedChange:
        pk, sk = self._key(design)
        version_item = ExpectedItem(pk, sk, "history", before, self.kept.seconds)
        too_old = before[VERSION] - (self.kept.versions or before[VERSION])
        dropped_items = (ExpectedItem(pk, sk, "history", {**before, VERSION: too_old}),) if too_old > 0 else ()
        return ExpectedChange((version_item,), dropped_items)


def _compares_with_input(leaf: Leaf) -> bool:
    """Whether a condition compares a version with an input; or with itself, which is reported: the input is missing."""
    if not isinstance(leaf, Comparison) or leaf.op is not Op.EQ:
        return False
    return leaf.values[0].param is not None or leaf.values[0].const == VERSION
