"""Keys of large contents: of parts, in the item collection of their item, and of objects in a store."""

from __future__ import annotations

import re
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
    quoted = map(Separator(separator).quote, (tag, attribute))
    head = separator.join([LABEL, *quoted]) + separator
    rest = [name for name in sorting if name not in pk.attributes]
    fields = separator.join([*(f"{{{name}}}" for name in rest), f"{{{UPLOAD}}}", f"{{{PART}:06d}}"])
    of = Template.of(fields, {**types, UPLOAD: Type(Kind.STRING), PART: Type(Kind.INTEGER)}, separator)
    # Made from parts, because a tag may contain escapes, which the text of a template must not.
    sk = Template(head + fields, (KeyText(head), *of.parts), of.separator)
    return Facet(f"{tag} part {attribute}", TABLE, pk, sk)


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
    return _SPECIAL.sub(lambda found: "".join(f"!{byte:02X}" for byte in found[0].encode()), tenant) + "!/"


def safe_segment(data: bytes) -> str:
    """Data as a part of an object's key, without `/`."""
    import base64  # only keys of objects need it

    return base64.urlsafe_b64encode(data).decode().rstrip("=")
