"""The keys of a sharded counter: items beside the counted one, each in a partition of its own."""

from __future__ import annotations

from collections.abc import Mapping

from prejoin.types import Kind, Type

from .template.parts import KeyText
from .template.separator import Separator
from .template.template import Template

SHARD = "shard_of_counter"
"""The field with the number of the shard. No attribute has this name, and the text of a template says `{shard}`."""


def counter_key(
    tag: str, pk: Template, sk: Template, types: Mapping[str, Type], separator: str = "#"
) -> tuple[Template, Template]:
    """The templates of a shard's partition and sort key, for an item of the entity with this tag and this key.

    The partition begins with that of the item, so that policies for the partitions of a tenant apply to its counters,
    and ends with the number of the shard, so that shards are in different partitions.

    >>> from prejoin.types import STRING
    >>> types = {"user": STRING, "post": STRING}
    >>> of = Template.of("USER#{user}", types), Template.of("POST#{post}", types)
    >>> pk, sk = counter_key("Post", *of, types)
    >>> pk.build({"user": "1", "post": "a", SHARD: 3}), sk.text
    ('USER#1#a#COUNTER#3', 'COUNTER#Post')
    >>> pk.text
    'USER#{user}#{post}#COUNTER#{shard}'
    """
    sort_fields = [f"{{{name}}}" for name in sk.attributes if name not in pk.attributes]
    end_text = separator.join(["", *sort_fields, "COUNTER", f"{{{SHARD}:plain}}"])
    end = Template.of(end_text, {**types, SHARD: Type(Kind.INTEGER)}, separator)
    text = pk.text + end_text.replace(f"{{{SHARD}:plain}}", "{shard}")
    label = f"COUNTER{separator}{Separator(separator).quote(tag)}"
    # Built from parts, because a quoted tag may contain escapes, which the text of a template must not.
    return Template(text, (*pk.parts, *end.parts), pk.separator), Template(label, (KeyText(label),), pk.separator)
