"""The result of a read: count, sort order, pages, consistency, and the combination of several entities."""

from __future__ import annotations

import re
from typing import assert_never

from prejoin.workload.grammar.lexer import CellTokens, Inexact, TokenKind, write_name
from prejoin.workload.model import Combine, Consistency, Direction, Result, Sort

RESULT_FIX = "write `Single`, `Collection` or `Count`; `Collection (orderId, total), limit 20` says more"
SORT_FIX = "write the attribute and the direction: `createdAt DESC`"
YES_NO_FIX = "write `Yes` or `No`"
PAGE_FIX = "write `Yes`, `No`, or the items to a page: `Yes (20)`"
COMBINE_FIX = (
    "write `No`, `Collection` (read side by side under one id: a user and their orders) or `Join` "
    "(the first names the second: followers with their profiles)"
)
CONSISTENCY_FIX = "write `Eventual`, `Strong` or `Transactional`"


def read_result(text: str) -> tuple[Result, tuple[str, ...], int | None]:
    """The result, the wanted attributes, and the limit.

    >>> read_result("Collection (orderId, total), limit 20")
    (<Result.MANY: 'Collection'>, ('orderId', 'total'), 20)
    """
    tokens = CellTokens(text)
    word = tokens.take()
    result = next((r for r in Result if r.value.lower() == word.text.lower()), None)
    if result is None or word.kind is not TokenKind.WORD:
        raise tokens.inexact(f"`{text.strip()}` is not a result", RESULT_FIX, word)
    needs = []
    if tokens.sign("("):
        needs.append(tokens.name("an attribute"))
        while tokens.sign(","):
            needs.append(tokens.name("an attribute"))
        if not tokens.sign(")"):
            raise tokens.inexact("the list of attributes is not closed", RESULT_FIX)
    tokens.separators()
    limit = None
    if tokens.word("limit"):
        figure = tokens.take()
        if figure.kind is not TokenKind.NUMBER or not figure.text.isdigit() or not 0 < int(figure.text[:10]) < 10**9:
            raise tokens.inexact("the limit is not a number of items", "write `limit 20`", figure)
        limit = int(figure.text)
    tokens.expect_end(RESULT_FIX)
    return result, tuple(needs), limit


def write_result(result: Result, needs: tuple[str, ...], limit: int | None) -> str:
    attributes = f" ({', '.join(write_name(n) for n in needs)})" if needs else ""
    return f"{result}{attributes}" + (f", limit {limit}" if limit else "")


def read_sort(text: str) -> tuple[Sort, ...]:
    """The sort order.

    >>> read_sort("status, createdAt DESC")[1]
    Sort(attribute='createdAt', direction=<Direction.DESC: 'DESC'>)
    """
    tokens = CellTokens(text)
    sort = []
    while not tokens.done:
        name = tokens.names("the attribute to sort by")
        if tokens.word("by"):
            name = f"{name}.{tokens.name('the attribute to sort by')}"
        direction = tokens.word("asc", "desc", "ascending", "descending") or "asc"
        sort.append(Sort(name, Direction.DESC if direction.startswith("desc") else Direction.ASC))
        if not tokens.separators():
            tokens.expect_end(SORT_FIX)
    return tuple(sort)


def write_sort(sort: tuple[Sort, ...]) -> str:
    return ", ".join(f"{write_name(s.attribute)} {s.direction}" for s in sort)


def read_yes_no(text: str, fix: str = YES_NO_FIX) -> bool:
    word = text.strip().lower()
    if word not in {"yes", "no", "true", "false"}:
        raise Inexact(f"`{text.strip()}` is neither yes nor no", fix, 0, text.strip())
    return word in {"yes", "true"}


def read_page(text: str) -> tuple[bool, int | None]:
    """Whether there are pages, and their size.

    >>> read_page("Yes (20)")
    (True, 20)
    """
    match = re.fullmatch(r"(yes)?\s*+\(?\s*+(\d{1,6})\s*+\)?", text.strip(), re.IGNORECASE | re.ASCII)
    return (True, int(match[2])) if match and int(match[2]) else (read_yes_no(text, PAGE_FIX), None)


def write_page(paginated: bool, page: int | None) -> str:
    return f"Yes ({page})" if page else "Yes" if paginated else "No"


def read_consistency(text: str) -> Consistency:
    word = text.strip().lower()
    for consistency in Consistency:
        if word in {consistency.value.lower(), f"{consistency.value.lower()}ly consistent"}:
            return consistency
    raise Inexact(f"`{text.strip()}` is not a consistency", CONSISTENCY_FIX, 0, text.strip())


def read_combine(text: str) -> tuple[Combine | bool, str]:
    """How the entities are combined, and the attribute that a join follows.

    False stands for a single entity, True for a plain yes.

    >>> read_combine("Join via followerId")
    (<Combine.JOIN: 'Join'>, 'followerId')
    """
    word, _, via = text.strip().partition(" via ")
    for combine in Combine:
        if word.lower() == combine.value.lower():
            if not via:
                return combine, ""
            tokens = CellTokens(via)
            name = tokens.name("the attribute that the join follows")
            tokens.expect_end(COMBINE_FIX)
            match combine:
                case Combine.JOIN:
                    return combine, name
                case Combine.COLLECTION:  # it follows no attribute
                    pass
                case _:
                    assert_never(combine)
    return read_yes_no(text, COMBINE_FIX), ""


def write_combine(combine: Combine, via: str) -> str:
    return f"{combine} via {write_name(via)}" if via else combine.value
