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
    Explanation,
)
from prejoin.design.phrases import listed
from prejoin.design.whatif.alternative import Alternative
from prejoin.workload.lookup import suggest

WIDTH = 100


class TextBlock:
    """A heading and its sentences."""

    def __init__(
        self, title: str, sentences: Iterable[str], alternatives: Iterable[Alternative] = (), label: str = "Instead"
    ) -> None:
        self.title = title
        self.sentences = list(sentences)
        self.others = [f"{label}: {alternative.text}.{_instruction(alternative)}" for alternative in alternatives]


def _instruction(alternative: Alternative) -> str:
    """The lines of the document that take an alternative."""
    if not alternative.take:
        return ""
    return f" To take it, write {', '.join(f'`{line}`' for line in alternative.take)}."


def as_text(explanation: Explanation, width: int = WIDTH) -> list[str]:
    """The lines for a terminal."""
    lines: list[str] = []
    for title, blocks in sections(explanation):
        if lines:
            lines.append("")
        lines += [title, "=" * len(title)]
        for block in blocks:
            lines += ["", *block_lines(block, width)]
    return lines


def as_markdown(explanation: Explanation, level: int = 2) -> list[str]:
    """The lines of Markdown, with headings from `level` on."""
    lines: list[str] = []
    for title, blocks in sections(explanation):
        if lines:
            lines.append("")
        lines.append(f"{'#' * level} {title}")
        for block in blocks:
            lines.append("")
            if block.title:
                lines += [f"{'#' * (level + 1)} {block.title}", ""]
            lines += [f"- {sentence}" for sentence in (*block.sentences, *block.others)]
    return lines


def block_lines(block: TextBlock, width: int = WIDTH) -> list[str]:
    """The lines of a block: its title and its indented sentences."""
    lines = [block.title] if block.title else []
    indent = "  " if block.title else ""
    for sentence in (*block.sentences, *block.others):
        lines += _wrap(sentence, indent, width)
    return lines


def _wrap(sentence: str, indent: str, width: int) -> list[str]:
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
    table_blocks = [TextBlock("", explanation.text, explanation.alternatives)]
    if explanation.relaxations:
        table_blocks.append(TextBlock("", (), explanation.relaxations, "Possible"))
    assumptions = [TextBlock("", explanation.assumed)] if explanation.assumed else []
    all_sections: Sequence[tuple[str, list[TextBlock]]] = (
        ("The table", table_blocks),
        ("Entities", list(map(entity_block, explanation.entities))),
        ("Indexes", list(map(index_block, explanation.indexes))),
        ("Copies", list(map(copy_block, explanation.copies))),
        ("Access patterns", list(map(pattern_block, explanation.patterns))),
        ("Partitions", list(map(partition_block, explanation.partitions))),
        ("Assumptions", assumptions),
    )
    for title, blocks in all_sections:
        if blocks:
            yield title, blocks


def entity_block(about: AboutEntity) -> TextBlock:
    return TextBlock(f"{about.entity}: {_key_text(about.key)}", about.text, about.alternatives)


def index_block(about: AboutIndex) -> TextBlock:
    keys = [f"{_key_owner(key)}: {_key_text(key)}. {' '.join(key.text)}" for key in about.keys]
    return TextBlock(about.index, [*about.text, *keys], about.alternatives)


def copy_block(about: AboutCopy) -> TextBlock:
    table_key = about.keys[0]
    title = f"{about.entity}, copy {about.copy}: {_key_text(table_key)}"
    return TextBlock(title, [*about.text, *table_key.text], about.alternatives)


def pattern_block(about: AboutPattern) -> TextBlock:
    title = f"{about.pattern}: {about.name}" if about.name else about.pattern
    return TextBlock(title, about.text, about.alternatives, "Instead" if about.served else "Possible")


def partition_block(about: AboutPartition) -> TextBlock:
    copy = f", copy {about.copy}," if about.copy else ""
    return TextBlock(f"{about.entity}{copy} in {about.slot}: `{about.pk}`", about.text)


def _key_owner(key: AboutKey) -> str:
    return f"{key.entity}, copy {key.copy}" if key.copy else key.entity


def _key_text(key: AboutKey) -> str:
    return f"`{key.pk}` / `{key.sk}`" if key.sk else f"`{key.pk}`"


class UnknownTopicError(LookupError):
    """The topic does not exist; `meant` is the nearest known one."""

    def __init__(self, topic: str, suggestion: str | None, topics: tuple[str, ...]) -> None:
        self.topic = topic
        self.meant = suggestion
        self.known = topics
        hint = f"did you mean {suggestion}?" if suggestion else f"ask about {listed(topics)}"
        super().__init__(f"there is no entity, index, copy or access pattern `{topic}`: {hint}")


def topics(explanation: Explanation) -> tuple[str, ...]:
    """The names of all topics."""
    return (
        *(about.entity for about in explanation.entities),
        *(about.index for about in explanation.indexes),
        *(f"{about.entity}/{about.copy}" for about in explanation.copies),
        *(about.pattern for about in explanation.patterns),
    )


def why(explanation: Explanation, topic: str, width: int = WIDTH) -> list[str]:
    """The lines about a topic; raises UnknownTopicError with a suggestion."""
    known_topics = topics(explanation)
    name = _match_topic(topic, known_topics)
    if name is None:
        raise UnknownTopicError(topic, suggest(topic.strip(), known_topics), known_topics)
    lines: list[str] = []
    for block in _blocks_of(explanation, name):
        if lines:
            lines.append("")
        lines += block_lines(block, width)
    return lines


def _match_topic(topic: str, topics: tuple[str, ...]) -> str | None:
    """The known topic, with any case if that is unambiguous."""
    word = topic.strip().removesuffix("?").removeprefix("why ").strip()
    if word in topics:
        return word
    candidates = [name for name in topics if name.casefold() == word.casefold()]
    return candidates[0] if len(candidates) == 1 else None


def _blocks_of(explanation: Explanation, name: str) -> list[TextBlock]:
    """The blocks of an entity with its copies and partitions, of an index with its partitions, or of a pattern."""
    blocks = [entity_block(about) for about in explanation.entities if about.entity == name]
    blocks += [index_block(about) for about in explanation.indexes if about.index == name]
    blocks += [
        copy_block(about) for about in explanation.copies if name in (about.entity, f"{about.entity}/{about.copy}")
    ]
    blocks += [pattern_block(about) for about in explanation.patterns if about.pattern == name]
    blocks += [partition_block(about) for about in explanation.partitions if name in (about.entity, about.slot)]
    return blocks
