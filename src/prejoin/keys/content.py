"""The sort keys of the parts of a large content, which are in the item collection of its item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prejoin.types import Kind, Type

from .facet import TABLE, Facet, KeyForm
from .template.parts import KeyText
from .template.separator import Separator
from .template.template import Template

LABEL = "~LARGE"
"""The beginning of the sort keys of parts. It sorts after all words, so that a part is never between items that one
Query reads together."""
UPLOAD, PART = "upload_of_content", "part_of_content"
"""The fields with the upload and the number of a part. No attribute has these names."""


def part_facet(
    tag: str, attribute: str, pk: KeyForm, sorting: Iterable[str], types: Mapping[str, Type], separator: str = "#"
) -> Facet:
    """The facet of the parts of an attribute, for an entity with this tag, partition key and sorting attributes.

    No query can use its name, so reads never return a part; but they know that parts are in the partition.

    >>> from prejoin.types import STRING
    >>> types = {"user": STRING, "document": STRING}
    >>> facet = part_facet("Document", "body", Template.of("USER#{user}", types), ["document"], types)
    >>> facet.sk.build({"document": "7", UPLOAD: "01K", PART: 3})
    '~LARGE#Document#body#7#01K#000003'
    """
    quoted = map(Separator(separator).quote, (tag, attribute))
    head = separator.join([LABEL, *quoted]) + separator
    rest = [name for name in sorting if name not in pk.attributes]
    fields = separator.join([*(f"{{{name}}}" for name in rest), f"{{{UPLOAD}}}", f"{{{PART}:06d}}"])
    of = Template.of(fields, {**types, UPLOAD: Type(Kind.STRING), PART: Type(Kind.INTEGER)}, separator)
    # Made from parts, because a tag may contain escapes, which the text of a template must not.
    sk = Template(head + fields, (KeyText(head), *of.parts), of.separator)
    return Facet(f"{tag} part {attribute}", TABLE, pk, sk)
