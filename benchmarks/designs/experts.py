"""What an expert's solution comes to: the structures it keeps, and how it answers each pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from corpus.source import Fields, in_words

_GUARD = re.compile(r"\b(?:uniqueness|unique|guard|constraint)\b", re.IGNORECASE)
_NOTHING = re.compile(r"\b(?:scan|none|not (?:served|supported|possible))\b", re.IGNORECASE)
_STEP = re.compile(r"\bthen\b|\+|;|&|\band\b|\bper (?!shard|page|bucket)", re.IGNORECASE)


@dataclass(frozen=True)
class Answered:
    """How a pattern is answered."""

    served: bool = True
    requests: int = 1
    """One after the other; those sent side by side to shards are one."""
    filtered: bool = False
    """Whether items are read and left out though the pattern does not ask for that."""


@dataclass(frozen=True)
class Expert:
    gsis: int = 0
    lsis: int = 0
    copies: int = 0
    """Items beyond the first that an entity is stored as."""
    guards: int = 0
    """Those of them that only make a value unique: not counted among the structures."""
    tables: int = 1
    answered: Mapping[str, Answered] = field(default_factory=dict)

    @property
    def structures(self) -> int:
        return self.gsis + self.lsis + self.copies


def read_expert(fields: Fields, outside: frozenset[str]) -> Expert | None:
    """The expert's solution in a corpus file; None where there is none. `outside` are patterns out of scope.

    >>> data = {"expert_solution": {"gsis": [{"name": "GSI1"}], "keys": {"Follow": [{"pk": "a"}, {"pk": "b"}]},
    ...                             "operations": [{"ap": "A1", "op": "Query then BatchGetItem (posts)"}]}}
    >>> expert = read_expert(Fields(data, "x.yaml"), frozenset())
    >>> expert.structures, expert.answered["A1"].requests
    (2, 2)
    """
    solution = fields.fields("expert_solution")
    keys = solution.mapping("keys")
    operations = [one for one in solution.entries("operations", "ap") if one.word("ap") not in outside]
    if not keys and not operations:
        return None
    filters = {p.word("id"): bool(p.get("filter")) for p in fields.entries("access_patterns", "id")}
    further = [*_tables(solution, "extra_tables"), *_tables(solution, "tables")[1:]]
    # A table that only patterns out of scope are asked of is out of scope with them.
    asked = " ".join(one.words("index") for one in operations)
    further = [table for table in further if not table.where or table.where in asked or not operations]
    tables = [solution, *further]
    answered: dict[str, Answered] = {}
    for one in operations:
        name = one.word("ap")
        here = _answered(one, filters.get(name, False))
        answered[name] = _after(answered[name], here) if name in answered else here
    return Expert(
        sum(_count(table, "gsis") for table in tables),
        sum(_count(table, "lsis") for table in tables),
        sum(max(0, len(stored) - 1) for stored, _ in map(_items, keys.values())),
        sum(len(guards) for _, guards in map(_items, keys.values())),
        len(tables),
        answered,
    )


def _tables(solution: Fields, name: str) -> list[Fields]:
    value = solution.get(name)
    entries = [{"name": k, **v} for k, v in value.items() if isinstance(v, dict)] if isinstance(value, dict) else value
    found = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    return [Fields(one, in_words(one.get("name"))) for one in found]


def _count(table: Fields, name: str) -> int:
    value = table.get(name)
    if isinstance(value, list | dict):
        return len(value)
    return value if isinstance(value, int) else 0


def _items(stored: object) -> tuple[list[object], list[object]]:
    """The items that an entity is stored as, and those that only make a value unique."""
    items: list[object] = [one for one in stored if isinstance(one, dict)] if isinstance(stored, list) else [stored]
    guards: list[object] = [one for one in items if isinstance(one, dict) and _GUARD.search(in_words(one.get("item")))]
    return [one for one in items if one not in guards], guards


def _answered(operation: Fields, asks_for_filter: bool) -> Answered:
    said = re.sub(r"\([^)]*\)", "", operation.words("op"))
    if not said.strip() or _NOTHING.search(said):
        return Answered(served=False)
    later = [operation.words(name) for name in ("then", "and_then", "followed_by")]
    requests = sum(len(list(_steps(text))) for text in (said, *later) if text)
    return Answered(True, max(1, requests), bool(operation.words("filter")) and not asks_for_filter)


def _steps(text: str) -> Iterator[str]:
    """`Query then GetItem` is two; `Query x5` is one, sent to five shards; `GetItem or Query` is one."""
    yield from (step for step in _STEP.split(text) if step.strip())


def _after(one: Answered, other: Answered) -> Answered:
    return Answered(one.served and other.served, one.requests + other.requests, one.filtered or other.filtered)
