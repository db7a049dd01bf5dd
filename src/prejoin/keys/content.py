"""Keys of large contents: of parts, in the item collection of their item, and of objects in a store."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from prejoin.types import Kind, Type

from .facet import TABLE, Facet, KeyForm
from .template.parts import KeyText
from .template.separator import Separator
from .template.template import Template

PART_SIZE = 240 * 1024
"""Bytes of a part in the table: four are less than the 1 MB of a Query page, and one is less than an item of 400 KB."""
OBJECT_SIZE = 8 * 1024 * 1024
"""Bytes of a part in an object store."""
INLINE = 16 * 1024
"""Bytes of a content up to which it is in its item, unless the schema says otherwise."""
LABEL = "~LARGE"
"""The beginning of the sort keys of parts. It sorts after all words, so that a part is never between items that one
Query reads together."""
UPLOAD, PART = "upload_of_content", "part_of_content"
"""The fields with the upload and the number of a part. No attribute has these names, and the text of a template says
`{upload}` and `{part}`."""
_SPECIAL = re.compile(r"[^A-Za-z0-9_.-]")


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
    sk = part_sort_key(tag, attribute, pk.attributes, sorting, types, separator)
    return Facet(f"{tag} part {attribute}", TABLE, pk, sk)


def part_sort_key(
    tag: str,
    attribute: str,
    partition: Collection[str],
    sorting: Iterable[str],
    types: Mapping[str, Type],
    separator: str = "#",
) -> Template:
    """The template of a part's sort key, for an item with these attributes in its partition key and its sort key.

    >>> from prejoin.types import STRING
    >>> types = {"user": STRING, "document": STRING}
    >>> part_sort_key("Document", "body", ["user"], ["document"], types).text
    '~LARGE#Document#body#{document}#{upload}#{part}'
    """
    quoted_names = map(Separator(separator).quote, (tag, attribute))
    head = separator.join([LABEL, *quoted_names]) + separator
    fields_of_item = [f"{{{name}}}" for name in sorting if name not in partition]
    fields = separator.join([*fields_of_item, f"{{{UPLOAD}}}", f"{{{PART}:06d}}"])
    template = Template.of(fields, {**types, UPLOAD: Type(Kind.STRING), PART: Type(Kind.INTEGER)}, separator)
    text = head + separator.join([*fields_of_item, "{upload}", "{part}"])
    # Made from parts, because a tag may contain escapes, which the text of a template must not.
    return Template(text, (KeyText(head), *template.parts), template.separator)


def object_folder(tag: str, attribute: str) -> str:
    """The folder with the objects of an attribute, in the folder of its table.

    >>> object_folder("Document", "body")
    'RG9jdW1lbnQ/Ym9keQ/'
    """
    return f"{safe_segment(tag.encode())}/{safe_segment(attribute.encode())}/"


def tenant_folder(tenant: str) -> str:
    """The folder with the objects of one tenant, in the folder of an attribute.

    Most names are as they stand, for policies by a tag that names the tenant. `!` is in no tag and in no other name: so
    no tenant reaches the folder of another.

    >>> tenant_folder("acme-1"), tenant_folder("a/b")
    ('acme-1!/', 'a!2Fb!/')
    """
    return _SPECIAL.sub(lambda match: "".join(f"!{byte:02X}" for byte in match[0].encode()), tenant) + "!/"


def safe_segment(data: bytes) -> str:
    """Data as a part of an object's key, without `/`."""
    import base64  # only keys of objects need it

    return base64.urlsafe_b64encode(data).decode().rstrip("=")
