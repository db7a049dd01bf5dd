"""A checker for strict serializability: finds anomalies in a history of transactions.

The method is that of Elle (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations",
VLDB 2020). Clients append unique numbers to lists and read whole lists. A list that was read tells the order of all
writes to its key, so the order of versions need not be guessed: every read of a key must be a prefix of the longest
one. From the versions follow the dependencies between transactions:

    ww  A wrote a version, B wrote the next one
    wr  A wrote a version, B read it
    rw  A read a version, B wrote the next one
    rt  A was answered before B was sent (real time)

A history is strictly serializable if this graph has no cycle: then any topological order of it is a serial execution
that explains all reads. A cycle is an anomaly, named by its edges as Adya does: G0 (ww only), G1c (ww and wr), G-single
(one rw), G2 (several rw). A cycle that needs an rt edge is a real-time violation, such as a stale read. Strongly
connected components come from Tarjan's algorithm, so a check takes linear time, and a cycle is searched only in a
component.

Registers (one value, overwritten) are checked as well. Their order of versions is known as far as a transaction read a
version and wrote the next, which a conditional write does.

A transaction whose answer was lost is `unknown`: it may have happened, at any time after it was sent. It takes part if
somebody saw one of its writes, and no real-time edge leaves it. A `failed` one must not be seen at all.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Outcome = Literal["ok", "failed", "unknown"]
Kind = Literal["ww", "wr", "rw", "rt"]


@dataclass(frozen=True, slots=True)
class Append:
    key: str
    value: int


@dataclass(frozen=True, slots=True)
class ReadList:
    key: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Sets a register."""

    key: str
    value: int


@dataclass(frozen=True, slots=True)
class ReadRegister:
    key: str
    value: int | None
    """None: the register had never been written."""


Operation = Append | ReadList | Write | ReadRegister


@dataclass(frozen=True, slots=True)
class Transaction:
    """What one request did, atomically, in the order of `operations`."""

    name: str
    operations: tuple[Operation, ...]
    start: float
    end: float
    outcome: Outcome = "ok"


@dataclass(frozen=True, slots=True)
class Anomaly:
    name: str
    """G0, G1a, G1b, G1c, G-single, G2, lost update, real-time violation, …"""
    detail: str

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


@dataclass(frozen=True, slots=True)
class _Edge:
    kind: Kind
    to: int
    why: str


Graph = Mapping[int, Sequence[_Edge]]


def check(history: Sequence[Transaction]) -> list[Anomaly]:
    """All anomalies that a history shows; none if it is strictly serializable as far as its reads can tell.

    >>> append = Transaction("A", (Append("x", 1),), start=0, end=1)
    >>> stale = Transaction("B", (ReadList("x", ()),), start=2, end=3)
    >>> [anomaly.name for anomaly in check([append, stale])]
    ['real-time violation']
    """
    return _Checker(history).anomalies()


class _Checker:
    def __init__(self, history: Sequence[Transaction]) -> None:
        self._history = history
        self._found: list[Anomaly] = []
        self._writers: dict[tuple[str, int], int] = {}
        """The transaction that wrote a value to a key."""
        self._last: set[tuple[str, int]] = set()
        """Values that are the last of their transaction for their key."""
        self._list_reads: dict[str, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        """For each key the transactions that read it, with the version that was there before their own writes."""
        self._longest: dict[str, tuple[int, ...]] = defaultdict(tuple)
        """For each list the longest version that anybody read."""
        self._register_reads: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
        self._edges: dict[int, list[_Edge]] = defaultdict(list)

    def anomalies(self) -> list[Anomaly]:
        self._collect_writes()
        for number, transaction in enumerate(self._history):
            if transaction.outcome == "ok":
                self._collect_reads(number, transaction)
        self._order_lists()
        self._order_registers()
        self._find_lost_updates()
        self._find_cycles()
        return list(dict.fromkeys(self._found))

    # --- What was written and read ----------------------------------------------------------------------------------

    def _collect_writes(self) -> None:
        for number, transaction in enumerate(self._history):
            last: dict[str, int] = {}
            for operation in transaction.operations:
                if isinstance(operation, Append | Write):
                    assert (operation.key, operation.value) not in self._writers, "values are unique for each key"
                    self._writers[operation.key, operation.value] = number
                    last[operation.key] = operation.value
            self._last.update(last.items())

    def _collect_reads(self, number: int, transaction: Transaction) -> None:
        """Checks reads against the transaction's own writes; keeps the rest as reads of others' versions."""
        appended: dict[str, tuple[int, ...]] = defaultdict(tuple)
        written: dict[str, int] = {}
        for operation in transaction.operations:
            match operation:
                case Append(key, value):
                    appended[key] += (value,)
                case Write(key, value):
                    written[key] = value
                case ReadList(key, values):
                    own = appended[key]
                    before = values[: len(values) - len(own)]
                    if values != before + own:
                        self._say("internal", f"{transaction.name} read {key} = {values} after it appended {own}")
                        continue
                    self._list_reads[key].append((number, before))
                    self._longest[key] = max(self._longest[key], values, key=len)
                    self._check_list(transaction, key, values)
                case ReadRegister(key, seen):
                    if key in written:
                        if seen != written[key]:
                            self._say(
                                "internal", f"{transaction.name} read {key} = {seen} after it wrote {written[key]}"
                            )
                        continue
                    self._register_reads[key].append((number, seen))
                    if seen is not None:
                        self._check_value(transaction, key, seen, last=True)

    def _check_list(self, transaction: Transaction, key: str, values: tuple[int, ...]) -> None:
        if len(set(values)) < len(values):
            twice = sorted({value for value in values if values.count(value) > 1})
            self._say("duplicate", f"{transaction.name} read {key} with {twice} more than once: applied twice")
        for value in values:
            self._check_value(transaction, key, value, last=value == values[-1])

    def _check_value(self, transaction: Transaction, key: str, value: int, *, last: bool) -> None:
        writer = self._writers.get((key, value))
        if writer is None:
            self._say("garbage", f"{transaction.name} read {key} = {value}, which nobody wrote")
            return
        by = self._history[writer]
        if by.outcome == "failed":
            self._say("G1a", f"{transaction.name} read {key} = {value}, written by {by.name}, which failed")
        if last and by is not transaction and (key, value) not in self._last:
            self._say("G1b", f"{transaction.name} read {key} = {value}, which {by.name} wrote on its way to another")

    # --- Versions and dependencies ----------------------------------------------------------------------------------

    def _order_lists(self) -> None:
        appended = {
            one.key for transaction in self._history for one in transaction.operations if isinstance(one, Append)
        }
        for key in sorted(appended | self._list_reads.keys()):
            longest = self._longest[key]
            for number, values in self._list_reads[key]:
                if values != longest[: len(values)]:
                    name = self._history[number].name
                    self._say("incompatible order", f"{name} read {key} = {values}, and another read {longest}")
            self._depend_on_list(key, longest)

    def _depend_on_list(self, key: str, longest: tuple[int, ...]) -> None:
        writers = [self._writers.get((key, value)) for value in longest]
        seen = set(longest)
        # Whatever was acknowledged and never read comes after all that was: lists only grow.
        unseen = sorted(
            {
                writer
                for (of, value), writer in self._writers.items()
                if of == key and value not in seen and self._history[writer].outcome == "ok"
            }
        )
        for one, two in pairwise(writers):
            self._edge("ww", one, two, key)
        for late in unseen:
            self._edge("ww", writers[-1] if writers else None, late, key)
        for number, values in self._list_reads[key]:
            if values != longest[: len(values)]:
                continue
            if values:
                self._edge("wr", writers[len(values) - 1], number, key)
            following = [writers[len(values)]] if len(values) < len(writers) else unseen
            for writer in following:
                self._edge("rw", number, writer, key)

    def _order_registers(self) -> None:
        successors: dict[tuple[str, int | None], set[int]] = defaultdict(set)
        for number, transaction in enumerate(self._history):
            if not self._took_place(number):
                continue
            before: dict[str, int | None] = {}
            for operation in transaction.operations:
                if isinstance(operation, ReadRegister):
                    before.setdefault(operation.key, operation.value)
                elif isinstance(operation, Write):
                    # A register is never deleted, so every write comes after the first version, None.
                    successors[operation.key, None].add(number)
                    if operation.key in before:
                        previous = before[operation.key]
                        successors[operation.key, previous].add(number)
                        if previous is not None:
                            self._edge("ww", self._writers.get((operation.key, previous)), number, operation.key)
        for key, reads in self._register_reads.items():
            for number, value in reads:
                if value is not None:
                    self._edge("wr", self._writers.get((key, value)), number, key)
                for writer in successors[key, value]:
                    self._edge("rw", number, writer, key)

    def _took_place(self, number: int) -> bool:
        """Whether a transaction was acknowledged, or somebody saw what it wrote."""
        transaction = self._history[number]
        if transaction.outcome != "unknown":
            return transaction.outcome == "ok"
        written = {(one.key, one.value) for one in transaction.operations if isinstance(one, Write)}
        return any((key, value) in written for key, reads in self._register_reads.items() for _, value in reads)

    def _edge(self, kind: Kind, one: int | None, two: int | None, key: str) -> None:
        if one is not None and two is not None and one != two:
            self._edges[one].append(_Edge(kind, two, key))

    # --- Anomalies --------------------------------------------------------------------------------------------------

    def _find_lost_updates(self) -> None:
        """Two transactions that read the same version of a key and both replaced it."""
        replaced: dict[tuple[str, object], list[str]] = defaultdict(list)
        for reads in (self._list_reads, self._register_reads):
            for key, found in reads.items():
                for number, version in found:
                    transaction = self._history[number]
                    if any(isinstance(one, Append | Write) and one.key == key for one in transaction.operations):
                        replaced[key, version].append(transaction.name)
        for (key, seen), names in replaced.items():
            distinct = sorted(set(names))
            if len(distinct) > 1:
                self._say("lost update", f"{' and '.join(distinct)} both read {key} = {seen} and wrote it")

    def _find_cycles(self) -> None:
        data: dict[int, list[_Edge]] = self._edges
        kinds: list[tuple[str, set[Kind]]] = [("G0", {"ww"}), ("G1c", {"ww", "wr"})]
        explained: set[int] = set()
        for name, wanted in kinds:
            graph = _only(data, wanted)
            for component in _components(graph):
                if not component & explained:
                    explained |= component
                    start = min(component)
                    self._say_cycle(name, start, _path(graph, component, start, start))
        for component in _components(data):
            if component & explained:
                continue
            explained |= component
            self._say_antidependency(data, component)
        everything = _with_real_time(self._history, data)
        for component in _components(everything):
            if not component & explained:
                self._say_real_time(everything, component)

    def _say_antidependency(self, graph: Graph, component: set[int]) -> None:
        reliable = _only(graph, {"ww", "wr"})
        for one in sorted(component):
            for edge in graph.get(one, ()):
                if edge.kind == "rw" and edge.to in component:
                    back = _path(reliable, component, edge.to, one)
                    if back is not None:
                        self._say_cycle("G-single", one, [edge, *back])
                        return
        start = min(component)
        self._say_cycle("G2", start, _path(graph, component, start, start))

    def _say_real_time(self, graph: Graph, component: set[int]) -> None:
        """Names the shortest cycle of a component, begun with a read where there is one: that is the stale read."""
        best: tuple[int, list[_Edge]] | None = None
        for one in sorted(number for number in component if number >= 0)[:200]:
            cycle = _path(graph, component, one, one)
            if cycle is not None and (best is None or len(cycle) < len(best[1])):
                best = one, cycle
        assert best is not None
        self._say_cycle("real-time violation", *best)

    def _say_cycle(self, name: str, start: int, cycle: Sequence[_Edge] | None) -> None:
        assert cycle is not None
        said = [self._history[start].name]
        said += [
            f"→{edge.kind}{f' {edge.why}' if edge.why else ''}→ {self._history[edge.to].name}"
            for edge in cycle
            if edge.to >= 0
        ]
        self._say(name, " ".join(said))

    def _say(self, name: str, detail: str) -> None:
        self._found.append(Anomaly(name, detail))


def _only(graph: Graph, kinds: set[Kind]) -> Graph:
    return {one: [edge for edge in edges if edge.kind in kinds] for one, edges in graph.items()}


def _with_real_time(history: Sequence[Transaction], data: Graph) -> Graph:
    """The graph with an edge from each transaction to all that were sent after its answer.

    An edge for each pair would be quadratic. Instead the ends lie on a chain of nodes with negative numbers: a
    transaction points to its end, each end to the next one, and the last end before a start points to that start.
    """
    graph: dict[int, list[_Edge]] = {one: list(edges) for one, edges in data.items()}
    ends = sorted(
        (transaction.end, number)
        for number, transaction in enumerate(history)
        if transaction.outcome == "ok" and math.isfinite(transaction.end)
    )
    for place, (_, number) in enumerate(ends):
        graph.setdefault(number, []).append(_Edge("rt", -place - 1, ""))
        if place + 1 < len(ends):
            graph.setdefault(-place - 1, []).append(_Edge("rt", -place - 2, ""))
    place = 0
    for number in sorted(range(len(history)), key=lambda one: history[one].start):
        while place < len(ends) and ends[place][0] < history[number].start:
            place += 1
        if place and history[number].outcome != "failed":
            graph.setdefault(-place, []).append(_Edge("rt", number, ""))
    return graph


def _path(graph: Graph, within: set[int], start: int, goal: int) -> list[_Edge] | None:
    """The shortest way from `start` to `goal` with at least one edge."""
    reached: dict[int, tuple[int, _Edge]] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for edge in graph.get(node, ()):
            if edge.to not in within or edge.to in reached:
                continue
            reached[edge.to] = node, edge
            if edge.to == goal:
                way = [edge]
                while node != start:
                    node, before = reached[node]
                    way.append(before)
                return way[::-1]
            queue.append(edge.to)
    return None


def _components(graph: Graph) -> list[set[int]]:
    """The strongly connected components with more than one node (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[set[int]] = []
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(graph.get(root, ())))]
        while work:
            node, edges = work[-1]
            for edge in edges:
                if edge.to not in index:
                    index[edge.to] = low[edge.to] = len(index)
                    stack.append(edge.to)
                    on_stack.add(edge.to)
                    work.append((edge.to, iter(graph.get(edge.to, ()))))
                    break
                if edge.to in on_stack:
                    low[node] = min(low[node], index[edge.to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component: set[int] = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                        if member == node:
                            break
                    if len(component) > 1:
                        found.append(component)
    return found
