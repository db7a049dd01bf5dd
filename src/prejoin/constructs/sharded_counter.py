"""Sharded counters: additions to a number go to one of several items beside its item, its shards, at random.

One item takes 1,000 write units a second, and `views += 1` of a page that everybody reads is more. The number is the
sum of the shards and of what the item itself holds. A read sums them, and a delete deletes them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from prejoin.constructs.construct import AddedConstruct, DeclaredConstruct, SchemaCall, Usage
from prejoin.design.model import Call, Counter, Design, Did, ItemAction, ItemChange, ItemName, Request
from prejoin.keys import Template, TemplateError
from prejoin.keys.counter import SHARD, counter_key
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.workload.model import Action, Entity, Verb

SHARD_SIZE = 150
"""Bytes of a shard: its key and the numbers."""


def sharded_counter_of(
    entity: Entity, design: Design, declared: tuple[DeclaredConstruct, ...]
) -> Iterator[ShardedCounter]:
    """The sharded counter of an entity, if it has one in a design."""
    for counter in design.counters:
        if counter.entity == entity.name:
            yield ShardedCounter(entity, declared, counter)


def counted_apart(counter: Counter, action: Action) -> frozenset[str]:
    """The numbers that an action changes in a shard, and not in the item."""
    return frozenset(counter.attributes) if action.updates else frozenset()


@dataclass(frozen=True, slots=True)
class ShardedCounter(AddedConstruct):
    """Numbers of an entity whose additions are spread over shards."""

    counter: Counter

    # Writes

    def diverted_names(self, action: Action) -> frozenset[str]:
        return counted_apart(self.counter, action)

    def expand(self, action: Action, changes: Mapping[str, ItemChange], design: Design) -> Iterator[ItemAction]:
        """An addition to one shard. A delete deletes all of them."""
        # DynamoDB takes about 1,000 write units a second for one item: only the shards take additions.
        numbers = self.diverted_names(action)
        additions = tuple(replace(change, is_from_zero=True) for name, change in changes.items() if name in numbers)
        if not additions and action.verb is not Verb.DELETE:
            return
        pk, sk = (template.text for template in self.templates(design))
        effect = Did.DELETE if action.verb is Verb.DELETE else Did.UPDATE
        yield ItemAction(effect, self.item_name, pk, sk, action.many, additions)

    @property
    def precedes_copies(self) -> bool:
        return True  # an addition takes the place of a change of the item

    def times(self, effect: Did) -> int:
        return self.counter.shards if effect is Did.DELETE else 1

    @property
    def may_be_missing(self) -> bool:
        return False

    # Reads

    def complete(self, is_wanted: Callable[[str], bool], is_consistent: bool, design: Design) -> Iterator[Request]:
        """The sum of the shards of each item."""
        if not any(is_wanted(name) for name in self.counter.attributes):
            return
        pk, sk = self.templates(design)
        yield Request(
            Call.BATCH_GET,
            entities=(self.entity.name,),
            pk=pk.text,
            sk=SortCondition("=", sk.text),
            shards=self.counter.shards,
            consistent=is_consistent,
            counter=self.item_name,
        )

    # The design

    @property
    def item_name(self) -> ItemName:
        return self.counter.item_name

    def templates(self, design: Design) -> tuple[Template, ...]:
        item = design.item(self.entity.name)
        facet = item.facets[0] if item and item.facets else None
        if item is None or facet is None or len(facet.pk) != 1 or len(facet.sk) != 1:
            raise TemplateError(f"a shard of {self.entity.name} has no key: its item has no partition and sort key")
        memo_key = ("counter", item.tag, facet.pk, facet.sk, design.separator)
        templates: tuple[Template, Template] | None = self.entity.memo.get(memo_key)
        if templates is None:  # the solver maps thousands of designs of the same few counters
            types = self.entity.types
            pk, sk = (Template.of(text, types, design.separator) for text in (facet.pk[0], facet.sk[0]))
            templates = counter_key(item.tag, pk, sk, types, design.separator)
            self.entity.memo[memo_key] = templates
        return templates

    @property
    def sample(self) -> Mapping[str, object]:
        return {SHARD: 0}

    @property
    def has_own_word(self) -> bool:
        return True

    def tag(self, design: Design) -> str:
        return "counter"

    @property
    def item_size(self) -> int:
        return SHARD_SIZE

    @property
    def size_words(self) -> str:
        return "the size of a shard of the counter"

    def stored_count(self, usage: Usage) -> float:
        return usage.count * self.counter.shards

    # Renderings

    @property
    def note(self) -> str:
        return f"one of {self.counter.shards} shards of {', '.join(self.counter.attributes)}"

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        twin_options = [("twin", copy) for copy in twins]
        yield SchemaCall(
            "ShardedCounter", self.counter.attributes, options=(("shards", self.counter.shards), *twin_options)
        )
