"""Answers to "why …?": all that is said about an entity, an index, a copy or an access pattern."""

from __future__ import annotations

from prejoin.design.explain.model import Explanation
from prejoin.design.explain.phrases import listed
from prejoin.design.explain.text import (
    WIDTH,
    Block,
    block_lines,
    copy_block,
    entity_block,
    index_block,
    partition_block,
    pattern_block,
)
from prejoin.workload.lookup import suggest


class UnknownTopicError(LookupError):
    """Nothing of that name; `meant` is what may have been."""

    def __init__(self, topic: str, meant: str | None, known: tuple[str, ...]) -> None:
        self.topic = topic
        self.meant = meant
        self.known = known
        hint = f"did you mean {meant}?" if meant else f"ask about {listed(known)}"
        super().__init__(f"there is no entity, index, copy or access pattern `{topic}`: {hint}")


def topics(explanation: Explanation) -> tuple[str, ...]:
    """What can be asked about."""
    return (
        *(one.entity for one in explanation.entities),
        *(one.index for one in explanation.indexes),
        *(f"{one.entity}/{one.copy}" for one in explanation.copies),
        *(one.pattern for one in explanation.patterns),
    )


def why(explanation: Explanation, topic: str, width: int = WIDTH) -> list[str]:
    """What there is to say about a topic, as lines; UnknownTopicError with what may have been meant."""
    known = topics(explanation)
    name = _meant(topic, known)
    if name is None:
        raise UnknownTopicError(topic, suggest(topic.strip(), known), known)
    blocks = _blocks(explanation, name)
    lines = [["", *block_lines(block, width)] for block in blocks]
    return [line for group in lines for line in group][1:]


def _meant(topic: str, known: tuple[str, ...]) -> str | None:
    """The topic as it is written; case does not count where that is clear."""
    word = topic.strip().removesuffix("?").removeprefix("why ").strip()
    if word in known:
        return word
    same = [one for one in known if one.casefold() == word.casefold()]
    return same[0] if len(same) == 1 else None


def _blocks(explanation: Explanation, name: str) -> list[Block]:
    """An entity with its copies and busy partitions; an index with the partitions in it; a pattern."""
    found = [entity_block(one) for one in explanation.entities if one.entity == name]
    found += [index_block(one) for one in explanation.indexes if one.index == name]
    found += [copy_block(c) for c in explanation.copies if name in (c.entity, f"{c.entity}/{c.copy}")]
    found += [pattern_block(one) for one in explanation.patterns if one.pattern == name]
    found += [partition_block(one) for one in explanation.partitions if name in (one.entity, one.slot)]
    return found
