"""Statements: relationships (`User 1:N Order via userId`), tenants, and pins (`Order lives under User`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, assert_never

from prejoin.keys import fields_of
from prejoin.workload.grammar.lexer import CellTokens, Inexact, write_name
from prejoin.workload.model import (
    Accept,
    AtMost,
    ContentPlace,
    CounterShards,
    FixedKey,
    IndexKeyForm,
    IndexKeys,
    Minimise,
    NamedPart,
    Naming,
    Need,
    OutOfScope,
    OwnTable,
    Pin,
    Relationship,
    RelationshipKind,
    Spread,
    Tenant,
    Under,
    Unproven,
    Without,
)

RELATIONSHIP_FIX = (
    "write `User 1:N Order via userId`, `User N:N Group via Membership`, `User 1:1 Profile` or "
    "`Folder hierarchy via parentId`"
)
PIN_FIX = (
    "what the designer obeys reads `Order lives under User`, `at most 2 GSIs`, `no copies`, "
    "`no shards for Order`, `Order in 8 shards`, `Page.views in 4 shards`, `Sample in buckets of a day`, "
    "`Document.body in a store`, "
    "`` Order has key `USER#{userId}` and `ORDER#{orderId}` ``, `minimise money`, `AP-007 may filter`, "
    "`AP-030 is out of scope`, `AP-012 unproven`, `` the partition key is named `PK` ``, "
    "`Payment needs its own restore`"
)
_NAME = r"(`[^`]+`|[^\W\d]\w*)"
_RELATIONSHIP = re.compile(
    rf"{_NAME}\s+(?:(1:1|1:N|N:1|N:N|N:M|M:N)\s+{_NAME}|(hierarchy))"
    rf"(?:\s++via\s++(.+?))?(?:(?<!\s)\s++as\s++{_NAME})?(?:(?<!\s)\s++[-–—]\s++(.*))?\Z",
    re.IGNORECASE | re.DOTALL,
)


def read_relationship(text: str, own: str = "") -> Relationship:
    """Read one relationship. `Order N:1 User` becomes `User 1:N Order`.

    >>> read_relationship("User 1:N Order via userId - the buyer").via
    ('userId',)
    """
    match = _RELATIONSHIP.match(text.strip())
    if not match:
        message = f"`{text.strip()}` does not say exactly who relates to whom"
        raise Inexact(message, _suggestion(text, own) or RELATIONSHIP_FIX, 0, text.strip())
    left, kind, right, hierarchy, via, role, description = match.groups()
    kind = "hierarchy" if hierarchy else {"N:M": "N:N", "M:N": "N:N"}.get(kind.upper(), kind.upper())
    left, right = _bare(left), _bare(right or left)
    if kind == "N:1":
        left, kind, right = right, "1:N", left
    return Relationship(left, RelationshipKind(kind), right, _via(via or ""), _bare(role or ""), description or "")


_BELONGS = re.compile(
    r"\b(?:belongs?\s+to|owned\s+by|part\s+of|child\s+of)\s+(?:an?\s+|the\s+|one\s+)?([A-Z]\w*)", re.IGNORECASE
)
_HAS = re.compile(r"\b(?:has|have|owns?|contains?)\s++(many|one|a|an)?\s*+([A-Z]\w*)", re.IGNORECASE)


def _suggestion(text: str, own: str) -> str:
    """The relationship that a sentence probably means."""
    if own and (match := _BELONGS.search(text)):
        return f"write `{match[1]} 1:N {own} via …`, with the attribute of `{own}` that holds the id of `{match[1]}`"
    if own and (match := _HAS.search(text)):
        is_many = (match[1] or "").lower() == "many" or match[2].endswith("s")
        entity = match[2].removesuffix("s") if is_many else match[2]
        kind = "1:N" if is_many else "1:1"
        return f"write `{own} {kind} {entity} via …`, with the attribute of `{entity}` that holds the id"
    return ""


def _via(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    tokens = CellTokens(text)
    names = [tokens.name("the attribute that holds the id")]
    while tokens.sign("+", ","):
        names.append(tokens.name("the attribute that holds the id"))
    tokens.expect_end(RELATIONSHIP_FIX)
    return tuple(names)


def write_relationship(r: Relationship) -> str:
    match r.kind:
        case RelationshipKind.HIERARCHY:
            head = f"{write_name(r.left)} hierarchy"
        case RelationshipKind.ONE_TO_ONE | RelationshipKind.ONE_TO_MANY | RelationshipKind.MANY_TO_MANY:
            head = f"{write_name(r.left)} {r.kind} {write_name(r.right)}"
        case _:
            assert_never(r.kind)
    via = f" via {' + '.join(write_name(v) for v in r.via)}" if r.via else ""
    role = f" as {write_name(r.role)}" if r.role else ""
    return head + via + role + (f" - {r.text}" if r.text else "")


# --- Tenants ----------------------------------------------------------------------------------------------------------

TENANT_FIX = "write `tenantId`, `tenantId → Company` or `tenantId → Company, except Plan`"


def read_tenant(text: str) -> Tenant:
    """The tenant attribute, the entity whose id it is, and the entities without a tenant.

    >>> read_tenant("tenantId → Company, except Plan and Country")
    Tenant(attribute='tenantId', entity='Company', exempt=('Plan', 'Country'))
    """
    tokens = CellTokens(text)
    attribute = tokens.name("the attribute that is the tenant")
    if "." in attribute:
        raise Inexact(f"`{attribute}` is not the name of an attribute", TENANT_FIX, 0, text)
    entity = tokens.name("the entity whose id it is") if tokens.sign("->") else ""
    tokens.separators()
    exempt = _names(tokens) if tokens.word("except") else ()
    tokens.expect_end(TENANT_FIX)
    return Tenant(attribute, entity, exempt)


def _names(tokens: CellTokens) -> tuple[str, ...]:
    """Entities, with commas or `and` between them."""
    entities = [tokens.name("an entity")]
    while tokens.separators() or tokens.word("and"):
        tokens.word("and")
        entities.append(tokens.name("an entity"))
    return tuple(entities)


def write_tenant(tenant: Tenant) -> str:
    entity = f" → {write_name(tenant.entity)}" if tenant.entity else ""
    exempt = f", except {', '.join(map(write_name, tenant.exempt))}" if tenant.exempt else ""
    return write_name(tenant.attribute) + entity + exempt


# --- Pins -------------------------------------------------------------------------------------------------------------

_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_PLURAL_OF = {
    "gsi": "GSIs",
    "copie": "copies",
    "copy": "copies",
    "shard": "shards",
    "bucket": "buckets",
    "structure": "structures",
}
_STRUCTURES = r"(GSIs?|cop(?:y|ies)|shards?|buckets?|structures?)"
_KEY = r"`([^`]+)`"
_PLACES = r"(table|partition key|sort key|type attribute|separator)"
_HOW = {
    "filter": "filter",
    "use a filter": "filter",
    "scan": "scan",
    "use a scan": "scan",
    "read several pages": "several pages",
    "use a second request": "second request",
    "take a second request": "second request",
}


_WORDS_OF_ACCEPTED = {"filter": "filter", "several pages": "read several pages"}


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text + r"\.?\Z", re.IGNORECASE)


_OWN = re.compile(r" needs? (?:its|their) own ", re.IGNORECASE)


class PinForm(NamedTuple):
    """A sentence that the designer obeys."""

    pattern: re.Pattern[str]
    make: Callable[[re.Match[str]], Pin]


# The first form that matches is taken.
_PIN_FORMS = (
    PinForm(
        _pattern(rf"{_NAME}\s+lives?\s+under\s+(?:(?:their|its|the|a|an)\s+)?{_NAME}"),
        lambda m: Under(_bare(m[1]), _bare(m[2])),
    ),
    PinForm(
        _pattern(rf"at\s+most\s+([0-9]{{1,3}}|one|two|three|four|five)\s+(?!bucket){_STRUCTURES}"),
        lambda m: AtMost(_structure(m[2]), int(m[1]) if m[1].isdigit() else _COUNTS[m[1].lower()]),
    ),
    PinForm(
        _pattern(rf"no\s+{_STRUCTURES}(?:\s+(?:for|of)\s+{_NAME})?"),
        lambda m: Without(_structure(m[1]), _bare(m[2])) if m[2] else AtMost(_structure(m[1]), 0),
    ),
    PinForm(
        _pattern(rf"{_NAME}\s+in\s+(?:buckets\s+of\s+an?\s+(hour|day|month|year)|([0-9]{{1,4}})\s+shards)"),
        lambda m: Spread(_bare(m[1]), (m[2] or "").lower(), int(m[3] or 0)),
    ),
    PinForm(
        _pattern(rf"{_NAME}\.{_NAME}\s+in\s+([0-9]{{1,4}})\s+shards"),
        lambda m: CounterShards(_bare(m[1]), _bare(m[2]), int(m[3])),
    ),
    PinForm(
        _pattern(rf"{_NAME}\.{_NAME}\s+in\s+(?:(parts)|an?\s+(?:object\s+)?store)"),
        lambda m: ContentPlace(_bare(m[1]), _bare(m[2]), store=not m[3]),
    ),
    PinForm(
        _pattern(rf"{_NAME}\s+has\s+key\s+{_KEY}(?:\s+and\s+{_KEY})?(?:\s+in\s+{_NAME})?"),
        lambda m: FixedKey(_bare(m[1]), m[2], m[3] or "", _bare(m[4] or "")),
    ),
    PinForm(_pattern(r"minimi[sz]e\s+(structures|money)"), lambda m: Minimise(m[1].lower())),
    PinForm(_pattern(r"(natural|composite)\s+index\s+keys"), lambda m: IndexKeys(IndexKeyForm(m[1].lower()))),
    PinForm(_pattern(rf"(\S+)\s+may\s+({'|'.join(_HOW)})"), lambda m: Accept(m[1].strip("`"), _HOW[m[2].lower()])),
    PinForm(_pattern(r"(\S+)\s+is\s+out\s+of\s+scope"), lambda m: OutOfScope(m[1].strip("`"))),
    PinForm(_pattern(r"(\S+)\s+(?:may\s+be\s+)?unproven"), lambda m: Unproven(m[1].strip("`"))),
    PinForm(_pattern(rf"the\s+{_PLACES}\s+is\s+named\s+{_KEY}"), lambda m: Naming(NamedPart(m[1].lower()), m[2])),
)


def read_pin(text: str) -> Pin | None:
    """The pin of a sentence; None for a note.

    >>> read_pin("at most two GSIs")
    AtMost(what='GSIs', count=2)
    """
    text = " ".join(text.split())
    for form in _PIN_FORMS:
        if match := form.pattern.match(text):
            return form.make(match)
    if match := _OWN.search(text):
        return _own_table(text[: match.start()], text[match.end() :].removesuffix("."))
    return None


def _own_table(entities: str, needs: str) -> OwnTable | None:
    try:
        words = [need.lower().replace("z", "s") for need in _read_names(needs)]
        return OwnTable(_read_names(entities), tuple(map(Need, words)))
    except (Inexact, ValueError):
        return None


def _read_names(text: str) -> tuple[str, ...]:
    """The names of a list, each once: `Payment, Refund and Payout`."""
    tokens = CellTokens(text)
    names = _names(tokens)
    tokens.expect_end(PIN_FIX)
    return tuple(dict.fromkeys(names))


def write_pin(pin: Pin) -> str:
    match pin:
        case Under():
            return f"{write_name(pin.entity)} lives under {write_name(pin.parent)}"
        case AtMost():
            return f"at most {pin.count} {pin.what}" if pin.count else f"no {pin.what}"
        case Without():
            return f"no {pin.what} for {write_name(pin.entity)}"
        case Spread():
            return f"{write_name(pin.entity)} in {_write_division(pin)}"
        case CounterShards():
            return f"{_write_attribute(pin)} in {pin.shards} shards"
        case ContentPlace():
            return f"{_write_attribute(pin)} in {'a store' if pin.store else 'parts'}"
        case FixedKey():
            return _write_key(pin)
        case Minimise():
            return f"minimise {pin.what}"
        case IndexKeys():
            return f"{pin.form} index keys"
        case Accept():
            return f"{pin.pattern} may {_WORDS_OF_ACCEPTED.get(pin.how, f'use a {pin.how}')}"
        case OutOfScope():
            return f"{pin.pattern} is out of scope"
        case Unproven():
            return f"{pin.pattern} unproven"
        case Naming():
            return f"the {pin.what} is named `{pin.name}`"
        case OwnTable():
            verb = "needs its own" if len(pin.entities) == 1 else "need their own"
            return f"{' and '.join(map(write_name, pin.entities))} {verb} {' and '.join(pin.needs)}"
        case _:
            assert_never(pin)


def _write_division(pin: Spread) -> str:
    if pin.shards:
        return f"{pin.shards} shards"
    return f"buckets of {'an' if pin.bucket == 'hour' else 'a'} {pin.bucket}"


def _write_attribute(pin: CounterShards | ContentPlace) -> str:
    return f"{write_name(pin.entity)}.{write_name(pin.attribute)}"


def _write_key(pin: FixedKey) -> str:
    sort_key = f" and `{pin.sk}`" if pin.sk else ""
    index = f" in {write_name(pin.index)}" if pin.index else ""
    return f"{write_name(pin.entity)} has key `{pin.pk}`{sort_key}{index}"


class Mentions(NamedTuple):
    """What a decision names."""

    entities: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    """Attributes of the only entity."""
    pattern: str = ""


def mentions_of(pin: Pin) -> Mentions:
    """The entities, attributes and patterns that a decision names."""
    match pin:
        case Under():
            return Mentions((pin.entity, pin.parent))
        case Without() | Spread():
            return Mentions((pin.entity,))
        case CounterShards() | ContentPlace():
            return Mentions((pin.entity,), (pin.attribute,))
        case FixedKey():
            return Mentions((pin.entity,), tuple(fields_of(pin.pk + pin.sk)))
        case OwnTable():
            return Mentions(pin.entities)
        case Accept() | OutOfScope() | Unproven():
            return Mentions(pattern=pin.pattern)
        case AtMost() | Minimise() | IndexKeys() | Naming():
            return Mentions()
        case _:
            assert_never(pin)


def _structure(word: str) -> str:
    return _PLURAL_OF[word.lower().removesuffix("s")]


def _bare(name: str) -> str:
    return name[1:-1] if name.startswith("`") else name
