"""The explanation as plain text and as Markdown, and the answer to "why …?" for one topic."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from prejoin.design.explain.model import (
    AboutCopy,
    AboutEntity,
    AboutIndex,
    AboutKey,
    AboutPartition,
    AboutPattern,
    Alternative,
    Explanation,
)
from prejoin.design.explain.phrases import listed
from prejoin.workload.lookup import suggest

WIDTH = 100


class TextBlock:
    """A heading and its sentences."""

    def __init__(
        self, title: str, sentences: Iterable[str], others: Iterable[Alternative] = (), label: str = "Instead"
    ) -> None:
        self.title = title
        self.sentences = list(sentences)
        self.others = [f"{label}: {one.text}.{_taking(one)}" for one in others]


def _taking(one: Alternative) -> str:
    """The lines of the document that take an alternative."""
    return f" To take it, write {', '.join(f'`{line}`' for line in one.take)}." if one.take else ""


def as_text(explanation: Explanation, width: int = WIDTH) -> list[str]:
    """The lines for a terminal."""
    lines: list[str] = []
    for title, blocks in sections(explanation):
        lines += ["", title, "=" * len(title)] if lines else [title, "=" * len(title)]
        for block in blocks:
            lines += ["", *block_lines(block, width)]
    return lines


def as_markdown(explanation: Explanation, level: int = 2) -> list[str]:
    """The lines of Markdown, with headings from `level` on."""
    lines: list[str] = []
    for title, blocks in sections(explanation):
        lines += ([""] if lines else []) + [f"{'#' * level} {title}"]
        for block in blocks:
            lines += ["", *([f"{'#' * (level + 1)} {block.title}", ""] if block.title else [])]
            lines += [f"- {sentence}" for sentence in block.sentences]
            lines += [f"- {text}" for text in block.others]
    return lines


def block_lines(block: TextBlock, width: int = WIDTH) -> list[str]:
    """The lines of a block: its title and its indented sentences."""
    lead = [block.title] if block.title else []
    indent = "  " if block.title else ""
    return lead + [line for sentence in (*block.sentences, *block.others) for line in _wrapped(sentence, indent, width)]


def _wrapped(sentence: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        sentence,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def sections(explanation: Explanation) -> Iterator[tuple[str, list[TextBlock]]]:
    """The headings with their blocks, without empty ones."""
    relaxed = [TextBlock("", (), explanation.relaxations, "Possible")] if explanation.relaxations else []
    yield "The table", [TextBlock("", explanation.text, explanation.alternatives), *relaxed]
    found: Sequence[tuple[str, list[TextBlock]]] = (
        ("Entities", [entity_block(one) for one in explanation.entities]),
        ("Indexes", [index_block(one) for one in explanation.indexes]),
        ("Copies", [copy_block(one) for one in explanation.copies]),
        ("Access patterns", [pattern_block(one) for one in explanation.patterns]),
        ("Partitions", [partition_block(one) for one in explanation.partitions]),
        ("Assumptions", [TextBlock("", explanation.assumed)] if explanation.assumed else []),
    )
    yield from ((title, blocks) for title, blocks in found if blocks)


def entity_block(about: AboutEntity) -> TextBlock:
    return TextBlock(f"{about.entity}: {_key(about.key)}", about.text, about.alternatives)


def index_block(about: AboutIndex) -> TextBlock:
    keys = [f"{_key_owner(key)}: {_key(key)}. {' '.join(key.text)}" for key in about.keys]
    return TextBlock(about.index, [*about.text, *keys], about.alternatives)


def copy_block(about: AboutCopy) -> TextBlock:
    own = about.keys[0]
    title = f"{about.entity}, copy {about.copy}: {_key(own)}"
    return TextBlock(title, [*about.text, *own.text], about.alternatives)


def pattern_block(about: AboutPattern) -> TextBlock:
    title = f"{about.pattern}{': ' + about.name if about.name else ''}"
    return TextBlock(title, about.text, about.alternatives, "Instead" if about.served else "Possible")


def partition_block(about: AboutPartition) -> TextBlock:
    copy = f", copy {about.copy}," if about.copy else ""
    return TextBlock(f"{about.entity}{copy} in {about.slot}: `{about.pk}`", about.text)


def _key_owner(key: AboutKey) -> str:
    return f"{key.entity}, copy {key.copy}" if key.copy else key.entity


def _key(key: AboutKey) -> str:
    return f"`{key.pk}` / `{key.sk}`" if key.sk else f"`{key.pk}`"


class UnknownTopicError(LookupError):
    """The topic does not exist; `meant` is the nearest known one."""

    def __init__(self, topic: str, meant: str | None, known: tuple[str, ...]) -> None:
        self.topic = topic
        self.meant = meant
        self.known = known
        hint = f"did you mean {meant}?" if meant else f"ask about {listed(known)}"
        super().__init__(f"there is no entity, index, copy or access pattern `{topic}`: {hint}")


def topics(explanation: Explanation) -> tuple[str, ...]:
    """The names of all topics."""
    return (
        *(one.entity for one in explanation.entities),
        *(one.index for one in explanation.indexes),
        *(f"{one.entity}/{one.copy}" for one in explanation.copies),
        *(one.pattern for one in explanation.patterns),
    )


def why(explanation: Explanation, topic: str, width: int = WIDTH) -> list[str]:
    """The lines about a topic; raises UnknownTopicError with a suggestion."""
    known = topics(explanation)
    name = _topic(topic, known)
    if name is None:
        raise UnknownTopicError(topic, suggest(topic.strip(), known), known)
    blocks = _blocks(explanation, name)
    lines = [["", *block_lines(block, width)] for block in blocks]
    return [line for group in lines for line in group][1:]


def _topic(topic: str, known: tuple[str, ...]) -> str | None:
    """The known topic, with any case if that is unambiguous."""
    word = topic.strip().removesuffix("?").removeprefix("why ").strip()
    if word in known:
        return word
    same = [one for one in known if one.casefold() == word.casefold()]
    return same[0] if len(same) == 1 else None


def _blocks(explanation: Explanation, name: str) -> list[TextBlock]:
    """The blocks of an entity with its copies and partitions, of an index with its partitions, or of a pattern."""
    found = [entity_block(one) for one in explanation.entities if one.entity == name]
    found += [index_block(one) for one in explanation.indexes if one.index == name]
    found += [copy_block(c) for c in explanation.copies if name in (c.entity, f"{c.entity}/{c.copy}")]
    found += [pattern_block(one) for one in explanation.patterns if one.pattern == name]
    found += [partition_block(one) for one in explanation.partitions if name in (one.entity, one.slot)]
    return found
