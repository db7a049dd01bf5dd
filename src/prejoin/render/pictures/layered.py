"""Layered layout of a graph, from left to right: a column for each rank, with few crossings.

The usual steps (Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981):
ranks by the longest path from a start, a place kept free in each column that a long arrow passes, an order within
columns by the middle of the neighbours, then the boxes stacked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, pairwise
from operator import add

_SWEEPS = 12
_MOVES = 6
"""How often the boxes are moved, to the right and back in turn."""
_LANE = 26
"""The height that is kept free in a column for an arrow that passes it."""


@dataclass(frozen=True, slots=True)
class Arrow:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Placed:
    """The column and top of each box, and the heights at which arrows pass the columns in between."""

    columns: tuple[int, ...]
    tops: tuple[float, ...]
    height: float
    passes: Mapping[Arrow, tuple[tuple[int, float], ...]]
    """By arrow, the columns in between with the height there, from its start to its end."""


def place(heights: Sequence[float], arrows: Sequence[Arrow], gap: float) -> Placed:
    """Places boxes of these heights.

    >>> placed = place([40, 40, 40], [Arrow(0, 1), Arrow(1, 2), Arrow(0, 2)], gap=20)
    >>> placed.columns, [at for _, at in placed.passes[Arrow(0, 2)]] != []
    ((0, 1, 2), True)
    """
    arrows = [arrow for arrow in dict.fromkeys(arrows) if arrow.start != arrow.end]
    ranks = _ranks(len(heights), arrows)
    _spread(ranks, heights, arrows)
    graph = _Graph([*ranks], [*heights])
    lanes = {arrow: graph.add(arrow) for arrow in arrows}
    columns = _order_columns(graph)
    tops = _stack_columns(columns, graph, gap)
    # The boxes were stacked around the middle: the highest of all begins at 0.
    highest = min(tops, default=0)
    tops = [top - highest for top in tops]
    total = max(map(add, tops, graph.heights), default=0)
    passes: dict[Arrow, tuple[tuple[int, float], ...]] = {}
    for arrow, nodes in lanes.items():
        passes[arrow] = tuple((graph.ranks[node], tops[node] + _LANE / 2) for node in nodes)
    return Placed(tuple(ranks), tuple(tops[: len(heights)]), total, passes)


@dataclass(frozen=True, slots=True)
class _Graph:
    """The boxes, and after them a node for each column that an arrow passes: an edge joins neighbouring columns."""

    ranks: list[int]
    heights: list[float]
    edges: list[tuple[int, int]] = field(default_factory=list)

    def add(self, arrow: Arrow) -> list[int]:
        """Adds the edges of an arrow, and gives the nodes that it passes, from its start to its end."""
        low, high = sorted((arrow.start, arrow.end), key=lambda node: self.ranks[node])
        passed_nodes: list[int] = []
        last = low
        for rank in range(self.ranks[low] + 1, self.ranks[high]):
            node = len(self.ranks)
            self.ranks.append(rank)
            self.heights.append(_LANE)
            self.edges.append((last, node))
            passed_nodes.append(node)
            last = node
        self.edges.append((last, high))
        return passed_nodes if low == arrow.start else passed_nodes[::-1]

    def neighbours(self) -> list[list[int]]:
        """The neighbours of each node."""
        near: list[list[int]] = [[] for _ in self.ranks]
        for start, end in self.edges:
            near[start].append(end)
            near[end].append(start)
        return near


def _ranks(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """The longest path from a start to each box; arrows that would close a cycle do not count."""
    forward: dict[int, list[int]] = {node: [] for node in range(count)}
    for arrow in arrows:
        if not _reaches(forward, arrow.end, arrow.start):
            forward[arrow.start].append(arrow.end)
    ranks = [0] * count
    # The longest path has fewer edges than nodes: after so many rounds nothing changes.
    for _ in range(count):
        for start, ends in forward.items():
            for end in ends:
                ranks[end] = max(ranks[end], ranks[start] + 1)
    # A node that only starts arrows moves next to the nearest one it points at: short arrows are easier to follow.
    pointed_nodes = set(chain.from_iterable(forward.values()))
    for start, ends in forward.items():
        if ends and start not in pointed_nodes:
            ranks[start] = min(ranks[end] for end in ends) - 1
    return ranks


def _spread(ranks: list[int], heights: Sequence[float], arrows: Sequence[Arrow]) -> None:
    """Puts each box without arrows into the shortest column, so that they do not make one long column."""
    connected_nodes: set[int] = set()
    for arrow in arrows:
        connected_nodes |= {arrow.start, arrow.end}
    used_columns = max((ranks[node] + 1 for node in connected_nodes), default=0)
    # Boxes without arrows make about a square, of four columns at most.
    square_columns = min(math.isqrt(len(ranks)) + 1, 4)
    column_heights = [0.0] * max(used_columns, square_columns)
    for node in connected_nodes:
        column_heights[ranks[node]] += heights[node]
    for node in range(len(ranks)):
        if node not in connected_nodes:
            ranks[node] = column_heights.index(min(column_heights))
            column_heights[ranks[node]] += heights[node]


def _reaches(forward: Mapping[int, Sequence[int]], start: int, end: int) -> bool:
    visited_nodes, pending_nodes = set[int](), [start]
    while pending_nodes:
        node = pending_nodes.pop()
        if node == end:
            return True
        if node not in visited_nodes:
            visited_nodes.add(node)
            pending_nodes += forward[node]
    return False


def _order_columns(graph: _Graph) -> list[list[int]]:
    """The nodes of each column from top to bottom: the order with the fewest crossings that the sweeps find."""
    columns: list[list[int]] = [[] for _ in range(max(graph.ranks, default=-1) + 1)]
    for node, rank in enumerate(graph.ranks):
        columns[rank].append(node)
    near = graph.neighbours()
    best, fewest = list(map(list, columns)), _crossings(columns, graph)
    for sweep in range(_SWEEPS):
        _sweep(columns, near, backwards=sweep % 2 == 1)
        # A sweep may make it worse, and a later one better than before.
        crossings = _crossings(columns, graph)
        if crossings < fewest:
            best, fewest = list(map(list, columns)), crossings
    return best


def _sweep(columns: list[list[int]], near: Sequence[Sequence[int]], *, backwards: bool) -> None:
    """Sorts each column by the middle of the neighbours in the column before it; backwards, in the one after it."""
    numbers = range(len(columns))
    for number in reversed(numbers) if backwards else numbers:
        side = number + 1 if backwards else number - 1
        if side not in numbers:
            continue
        side_places, own_places = _relative_places(columns[side]), _relative_places(columns[number])
        sort_keys: dict[int, tuple[float, float]] = {}
        for node, own_place in own_places.items():
            places = [side_places[neighbour] for neighbour in near[node] if neighbour in side_places]
            sort_keys[node] = (_middle(places, own_place), own_place)
        columns[number].sort(key=sort_keys.__getitem__)


def _relative_places(column: Sequence[int]) -> dict[int, float]:
    """The place of each node of a column, from 0 for the first one to almost 1."""
    return {node: place / len(column) for place, node in enumerate(column)}


def _middle(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(columns: Sequence[Sequence[int]], graph: _Graph) -> int:
    """The number of pairs of edges that cross: their ends are in the opposite order of their starts."""
    places: dict[int, int] = {}
    for column in columns:
        places |= {node: place for place, node in enumerate(column)}
    edges_by_rank: dict[int, list[tuple[int, int]]] = {}
    for start, end in graph.edges:
        edges_by_rank.setdefault(graph.ranks[start], []).append((places[start], places[end]))
    crossings = 0
    for edges in edges_by_rank.values():
        for (start, end), (other_start, other_end) in combinations(edges, 2):
            crossings += (start - other_start) * (end - other_end) < 0
    return crossings


def _stack_columns(columns: Sequence[Sequence[int]], graph: _Graph, gap: float) -> list[float]:
    """The top of each node: near the middle of its neighbours, and clear of the one above."""
    heights, near = graph.heights, graph.neighbours()
    tops = [0.0] * len(heights)
    for column in columns:
        top = -(sum(heights[node] for node in column) + gap * (len(column) - 1)) / 2
        for node in column:
            tops[node] = top
            top += heights[node] + gap
    for sweep in range(_MOVES):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            targets: dict[int, float] = {}
            for node in column:
                middles = [tops[neighbour] + heights[neighbour] / 2 for neighbour in near[node]]
                targets[node] = _middle(middles, tops[node] + heights[node] / 2) - heights[node] / 2
            _settle(column, targets, heights, gap, tops)
    return tops


def _settle(
    column: Sequence[int], targets: Mapping[int, float], heights: Sequence[float], gap: float, tops: list[float]
) -> None:
    """Moves the nodes of a column to their targets, as far as there is room.

    Nodes that would overlap become a block, which stands where its members would be on average.
    """
    blocks: list[tuple[float, float, list[int]]] = []
    for node in column:
        top, size, members = targets[node], heights[node], [node]
        while blocks and blocks[-1][0] + blocks[-1][1] + gap > top:
            above_top, above_size, above = blocks.pop()
            weight, total = len(above), len(above) + len(members)
            shifted_top = top - above_size - gap
            top = (above_top * weight + shifted_top * len(members)) / total
            size, members = above_size + gap + size, above + members
        blocks.append((top, size, members))
    for (top, size, _), (next_top, _, _) in pairwise(blocks):
        assert next_top >= top + size
    for top, _, members in blocks:
        for node in members:
            tops[node] = top
            top += heights[node] + gap
