"""Layered layout of a graph, from left to right: a column for each rank, with few crossings.

The usual steps (Sugiyama): ranks by the longest way from a start, a place kept free in each column that a long arrow
passes, an order within columns by the middle of the neighbours, then the boxes stacked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 12
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
    nodes: list[tuple[int, float]] = [(ranks[at], height) for at, height in enumerate(heights)]
    edges: list[tuple[int, int]] = []
    lanes: dict[Arrow, list[int]] = {}
    for arrow in arrows:
        low, high = sorted((arrow.start, arrow.end), key=lambda at: ranks[at])
        before = low
        lanes[arrow] = []
        for rank in range(ranks[low] + 1, ranks[high]):
            nodes.append((rank, _LANE))
            lanes[arrow].append(len(nodes) - 1)
            edges.append((before, len(nodes) - 1))
            before = len(nodes) - 1
        edges.append((before, high))
        if ranks[arrow.start] > ranks[arrow.end]:
            lanes[arrow].reverse()
    order = _order_columns([rank for rank, _ in nodes], edges)
    tops = _stack_columns(order, [height for _, height in nodes], edges, gap)
    lowest = min(tops, default=0)
    tops = [top - lowest for top in tops]
    total = max((top + nodes[at][1] for at, top in enumerate(tops)), default=0)
    passes = {arrow: tuple((nodes[at][0], tops[at] + _LANE / 2) for at in between) for arrow, between in lanes.items()}
    return Placed(tuple(ranks), tuple(tops[: len(heights)]), total, passes)


def _ranks(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """The longest path from a start to each box; arrows that would close a cycle do not count."""
    forward: dict[int, list[int]] = {at: [] for at in range(count)}
    for arrow in arrows:
        if not _reaches(forward, arrow.end, arrow.start):
            forward[arrow.start].append(arrow.end)
    ranks = [0] * count
    for _ in range(count):
        for start, ends in forward.items():
            for end in ends:
                ranks[end] = max(ranks[end], ranks[start] + 1)
    # What starts somewhere moves next to what it points at: short arrows are easier to follow.
    pointed_nodes = {end for ends in forward.values() for end in ends}
    for start, ends in forward.items():
        if ends and start not in pointed_nodes:
            ranks[start] = min(ranks[end] for end in ends) - 1
    return ranks


def _spread(ranks: list[int], heights: Sequence[float], arrows: Sequence[Arrow]) -> None:
    """Puts each box without arrows into the shortest column, so that they do not make one long column."""
    connected_nodes = {at for arrow in arrows for at in (arrow.start, arrow.end)}
    single_nodes = [at for at in range(len(ranks)) if at not in connected_nodes]
    columns = [0.0] * max(max((ranks[at] + 1 for at in connected_nodes), default=0), min(math.isqrt(len(ranks)) + 1, 4))
    for at in connected_nodes:
        columns[ranks[at]] += heights[at]
    for at in single_nodes:
        ranks[at] = columns.index(min(columns))
        columns[ranks[at]] += heights[at]


def _reaches(forward: Mapping[int, Sequence[int]], start: int, end: int) -> bool:
    visited, pending = set[int](), [start]
    while pending:
        at = pending.pop()
        if at == end:
            return True
        if at not in visited:
            visited.add(at)
            pending += forward[at]
    return False


def _order_columns(ranks: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each column from top to bottom: the order with the fewest crossings that the sweeps find."""
    columns = [[at for at, rank in enumerate(ranks) if rank == column] for column in range(max(ranks, default=-1) + 1)]
    near: dict[int, list[int]] = {at: [] for at in range(len(ranks))}
    for node, neighbour in edges:
        near[node].append(neighbour)
        near[neighbour].append(node)
    best, fewest = [list(column) for column in columns], _crossings(columns, edges, ranks)
    for sweep in range(_SWEEPS):
        sequence = range(len(columns)) if sweep % 2 == 0 else range(len(columns) - 1, -1, -1)
        for number in sequence:
            side = number - 1 if sweep % 2 == 0 else number + 1
            if not 0 <= side < len(columns):
                continue
            side_places = {at: place / max(len(columns[side]), 1) for place, at in enumerate(columns[side])}
            own_places = {at: place / max(len(columns[number]), 1) for place, at in enumerate(columns[number])}
            columns[number].sort(
                key=lambda at: (
                    _middle(
                        [side_places[neighbour] for neighbour in near[at] if neighbour in side_places], own_places[at]
                    ),
                    own_places[at],
                )
            )
        crossings = _crossings(columns, edges, ranks)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    return best


def _middle(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(columns: Sequence[Sequence[int]], edges: Sequence[tuple[int, int]], ranks: Sequence[int]) -> int:
    places = {at: place for column in columns for place, at in enumerate(column)}
    crossings = 0
    by_rank: dict[int, list[tuple[int, int]]] = {}
    for node, neighbour in edges:
        by_rank.setdefault(ranks[node], []).append((places[node], places[neighbour]))
    for pairs in by_rank.values():
        for at, (start, end) in enumerate(pairs):
            crossings += sum(
                (start - other_start) * (end - other_end) < 0 for other_start, other_end in pairs[at + 1 :]
            )
    return crossings


def _stack_columns(
    columns: Sequence[Sequence[int]], heights: Sequence[float], edges: Sequence[tuple[int, int]], gap: float
) -> list[float]:
    """The top of each node: near the middle of its neighbours, and clear of the one above."""
    near: dict[int, list[int]] = {at: [] for at in range(len(heights))}
    for start, end in edges:
        near[start].append(end)
        near[end].append(start)
    tops = [0.0] * len(heights)
    for column in columns:
        at = -(sum(heights[n] for n in column) + gap * (len(column) - 1)) / 2
        for node in column:
            tops[node] = at
            at += heights[node] + gap
    for sweep in range(6):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            wanted_middles = {
                member: _middle(
                    [tops[neighbour] + heights[neighbour] / 2 for neighbour in near[member]],
                    tops[member] + heights[member] / 2,
                )
                for member in column
            }
            _settle(column, {n: wanted_middles[n] - heights[n] / 2 for n in column}, heights, gap, tops)
    return tops


def _settle(
    column: Sequence[int], targets: Mapping[int, float], heights: Sequence[float], gap: float, tops: list[float]
) -> None:
    """Moves the nodes of a column to where they want to be, as far as there is room; blocks move as a whole."""
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
    for (top, size, _), (below, _, _) in pairwise(blocks):
        assert below >= top + size
    for top, _, members in blocks:
        at = top
        for node in members:
            tops[node] = at
            at += heights[node] + gap
