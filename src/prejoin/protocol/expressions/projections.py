"""Parse a ProjectionExpression: document paths with commas between them."""

from __future__ import annotations

from functools import lru_cache

from prejoin.protocol.expressions.nodes import Projection
from prejoin.protocol.expressions.reader import Reader


@lru_cache(maxsize=2048)
def parse_projection(text: str, parameter: str = "ProjectionExpression") -> Projection:
    """The paths with their placeholders still in them.

    >>> [str(path) for path in parse_projection("a, b.c[1]").paths]
    ['[a]', '[b, c, [1]]']
    """
    reader = Reader(text, parameter, keywords=frozenset(), functions=frozenset())
    paths = [reader.path()]
    while reader.accept(","):
        paths.append(reader.path())
    if reader.token.kind != "end":
        reader.fail()
    reader.finish("reserved", "position", "nesting")
    return Projection(tuple(paths))
