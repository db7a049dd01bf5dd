"""What was found by looking at designs of new domains as a reviewer would, each as a small document."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.design.texts import filters_of
from tests.solutions import solve

from prejoin import Embedded
from prejoin.design.checks import check_design
from prejoin.design.cost.assumptions import assumptions, count_of, values_of
from prejoin.design.explain.alternatives import add_alternatives
from prejoin.design.explain.explanation import claim_sentences, explain_design
from prejoin.design.explain.model import AboutPattern, Explanation
from prejoin.design.explain.text import as_text
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, When
from prejoin.design.solver.candidates import base_candidates
from prejoin.design.whatif.attempt import WhatIf
from prejoin.design.whatif.conflicts import conflicts
from prejoin.design.whatif.relaxations import relax
from prejoin.design.whatif.simplifications import simplify
from prejoin.design.whatif.workarounds import alternatives, highest_price
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text, write_text
from prejoin.workload.grammar.attributes import read_attribute
from prejoin.workload.model import Attribute, Entity, Read, Value, Workload

READS = """## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
WRITES = """
### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
"""


def workload(text: str) -> Workload:
    found = read_text(text, "md")
    assert not [one.message for one in found.diagnostics if one.severity == "error"]
    return found.workload


PATIENTS = """# Hospital

## Entities

### Patient

- **Attributes**:
  - `patientId` (uuid, generated)
  - `insuranceNo` (string, unique, immutable)
- **Cardinality**: ~3M total

"""


@pytest.mark.slow
def test_key_of_the_table_is_the_id_where_an_index_costs_the_same() -> None:
    rows = "| AP-001 | Patient | patientId | Single | - | No | 100/s | Eventual |\n"
    rows += "| AP-002 | Patient | insuranceNo | Single | - | No | 20/s | Eventual |\n"
    design = solve(workload(PATIENTS + READS + rows)).design
    item = design.item("Patient")
    assert item is not None
    assert [(facet.slot, *facet.pk) for facet in item.facets] == [
        (TABLE, "PATIENT#{patientId}"),
        ("gsi1", "INSURANCE_NO#{insuranceNo}"),
    ]


SESSIONS = """# Parking

## Entities

### Session

- **Attributes**:
  - `sessionId` (ulid, generated)
  - `plate` (string, immutable)
  - `enteredAt` (datetime, immutable)
  - `leftAt` (datetime, optional, mutable)
- **Cardinality**: {cardinality}
- **Size**: 250 B

"""
OPEN = "| AP-001 | Session | plate, leftAt not exists | Single | - | No | 200/s | Eventual |\n"
ALL = "| AP-002 | Session | plate | Collection | enteredAt DESC | Yes (20) | 10/s | Eventual |\n"


def test_filter_that_nobody_accepted_reads_at_most_a_page() -> None:
    parking = workload(SESSIONS.replace("{cardinality}", "~3B total") + READS + OPEN + ALL)
    design = solve(parking).design
    read = design.operation("AP-001")
    assert read is not None
    assert read.requests[0].filters == ()
    assert read.units is not None
    assert read.units.read == 0.5
    assert "PJ582" not in {one.code for one in check_design(design, parking)}
    alone = [slot for slot in design.slots if slot.name != read.requests[0].slot]
    items = tuple(
        replace(item, facets=tuple(f for f in item.facets if f.slot != read.requests[0].slot)) for item in design.items
    )
    without = map_patterns(replace(design, slots=tuple(alone), items=items), parking).operation("AP-001")
    assert without is not None
    assert "read units, and $" in without.problem


def test_filter_of_a_small_collection_still_spares_an_index() -> None:
    parking = workload(SESSIONS.replace("{cardinality}", "~10K total") + READS + OPEN + ALL)
    design = solve(parking).design
    assert design.indexes == ()
    read = design.operation("AP-001")
    assert read is not None
    assert filters_of(read.requests[0]) == ["attribute_not_exists(leftAt)"]


LADDER = """# Ladder

## Entities

### Player

- **Attributes**:
  - `playerId` (uuid, generated)
  - `rating` (integer, mutable, max=4000)
- **Cardinality**: ~5M total
- **Size**: 300 B

"""


def test_count_of_a_range_is_not_answered_by_one_counter_nor_by_an_absurd_scan() -> None:
    row = "| AP-001 | Player | rating > | Count | - | No | 5/s | Eventual |\n"
    ladder = workload(LADDER + READS + row)
    design = solve(ladder).design
    read = design.operation("AP-001")
    assert read is not None
    assert "a counter for each value of `rating`, or for each span" in read.remedy
    ways = alternatives(ladder, design, ladder.reads[0])
    assert len(ways) == 1  # a Scan for millions is no second one


GARAGES = """# Garages

## Entities

### Garage

- **Attributes**:
  - `garageId` (uuid, generated)
  - `lat` (decimal, immutable)
  - `lng` (decimal, immutable)
- **Cardinality**: ~20K total
- **Size**: 400 B

"""


def test_cell_of_a_geohash_holds_what_is_near() -> None:
    row = "| AP-001 | Garage | lat between, lng between | Collection | - | No | 100/s | Eventual |\n"
    garages = workload(GARAGES + READS + row)
    read = garages.reads[0]
    assert isinstance(read, Read)
    first = relax(WhatIf(garages, solve(garages)), read)[0]
    assert "geohash" in first.text
    assert any("geohash begins_with (keeps 0.25%)" in line for line in first.take)
    assert first.dollars < 2000


def test_read_of_too_much_conflicts_with_no_write() -> None:
    row = "| AP-001 | Session | - | Collection | - | No | 1/day | Eventual |\n"
    write = "| AP-100 | Session | Session | create Session | No | - | 100/s |\n"
    parking = workload(SESSIONS.replace("{cardinality}", "unbounded") + READS + row + WRITES + write)
    assert not solve(parking).design.operations[0].served
    assert conflicts(parking) == ()


GAMES = """# Games

## Entities

### Player

- **Attributes**:
  - `playerId` (uuid, generated)
  - `games` (integer, mutable)
- **Cardinality**: ~1K total

### Game

- **Attributes**:
  - `gameId` (ulid, generated)
  - `whiteId` (uuid, immutable, → Player)
  - `blackId` (uuid, immutable, → Player)
  - `state` (RUNNING | OVER, mutable)
- **Cardinality**: ~10K total

"""


def test_two_items_of_an_entity_in_a_transaction_are_proven() -> None:
    row = "| AP-001 | Game | gameId | Single | - | No | 10/s | Eventual |\n"
    items = "update Game (state); update Player by whiteId (games += 1); update Player by blackId (games += 1)"
    write = f"| AP-100 | Game, Player | gameId, state, whiteId, blackId | {items} | Yes | - | 1/s |\n"
    games = workload(GAMES + READS + row + WRITES + write)
    design = solve(games).design
    for seed in range(1, 6):
        found = prove(games, design, Embedded(), seed=seed)
        assert [(one.pattern, one.wrong, one.problem) for one in found.failed] == []


LIKES = """# Likes

## Entities

### Like

- **Attributes**:
  - `videoId` (string, id)
  - `userId` (string, id)
- **Cardinality**: ~1B total
- **Size**: 100 B

### Note

- **Attributes**:
  - `noteId` (string, id)
  - `text` (string, mutable)
- **Cardinality**: ~1K total

"""


def test_explanation_of_single_items() -> None:
    rows = "| AP-001 | Like | videoId, userId | Single | - | No | 100/s | Eventual |\n"
    rows += "| AP-002 | Note | noteId | Single | - | No | 1/s | Eventual |\n"
    write = "| AP-100 | Like | videoId, userId | create Like | No | - | 9000/s, hottest 30% |\n"
    likes = workload(LIKES + READS + rows + WRITES + write)
    design = solve(likes).design
    assert "PJ570" not in {one.code for one in check_design(design, likes)}  # each item is created once
    explanation = explain_design(likes, design)
    like, note = explanation.entities
    assert "The partition key has `videoId` and `userId`, inputs of AP-001." in like.text
    assert any("`noteId` is assumed to be generated" in text for text in note.text)
    about = next(one for one in explanation.partitions if one.entity == "Like")
    assert about.items == 1


AUCTIONS = """# Auctions

## Entities

### Campaign

- **Attributes**:
  - `campaignId` (uuid, generated)
  - `spent` (integer, mutable, default=0)
- **Cardinality**: ~10K total

### Bid

- **Attributes**:
  - `auctionId` (ulid, id)
  - `campaignId` (uuid, id, → Campaign)
  - `price` (integer, immutable)
- **Cardinality**: ~10 per auctionId, 1B total
- **Size**: 100 B

### Click

- **Attributes**:
  - `clickId` (ulid, generated)
  - `campaignId` (uuid, immutable, → Campaign)
- **Cardinality**: ~100K per Campaign
- **Size**: 100 B

"""
CLICK = """| AP-101 | Click, Campaign | clickId, campaignId, cost | create Click; update Campaign (spent += cost) | Yes | - | 1/s |
"""


def test_application_sorts_a_small_collection_if_that_is_much_cheaper() -> None:
    row = "| AP-001 | Bid | auctionId | Collection, limit 2 | price DESC | No | 100/s | Strong |\n"
    write = "| AP-100 | Bid | Bid | put Bid | No | - | 5000/s |\n"
    auctions = workload(AUCTIONS + READS + row + WRITES + write)
    solution = solve(auctions)
    assert len(solution.design.copies) == 1  # no index is read strongly
    found, other = simplify(WhatIf(auctions, solution))
    assert other.take == ("AP-001: Eventual under Consistency",)
    assert "if the application of AP-001 sorts about 10 items itself: 0 GSIs and 0 copies" in found.text
    assert found.dollars < -10_000


def test_counter_is_kept_by_a_write_that_changes_its_item_already() -> None:
    row = "| AP-001 | Click | campaignId | Count | - | No | 10/s | Eventual |\n"
    clicks = workload(AUCTIONS + READS + row + WRITES + CLICK)
    first = relax(WhatIf(clicks, solve(clicks)), clicks.reads[0])[0]
    assert "AP-101: create Click; update Campaign (spent += cost, clickCount += 1) | Yes" in first.take


MATCHES = """# Matches

## Entities

### Match

- **Attributes**:
  - `matchId` (ulid, generated)
  - `state` (PLANNED | LIVE | FINISHED, mutable)
- **Cardinality**: ~1M total
- **Size**: 350 B

"""


@pytest.mark.parametrize(("said", "served"), [("", False), (" (keeps 0.01%)", True)])
def test_document_can_say_how_many_have_a_constant(said: str, served: bool) -> None:
    row = f"| AP-001 | Match | state = LIVE{said} | Collection | - | No | 100/s | Eventual |\n"
    read = solve(workload(MATCHES + READS + row)).design.operations[0]
    assert read.served == served
    if not served:
        assert "`state = LIVE (keeps 1%)`" in read.remedy


LOANS = """# Loans

## Entities

### Book

- **Attributes**:
  - `isbn` (string, natural)

### Loan

- **Attributes**:
  - `loanId` (ulid, generated)
  - `copyId` (string, immutable)
  - `cardNo` (string, immutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Loan, Book | cardNo | Collection | - | Yes (20) | 1/s | Join |
"""


def test_join_without_a_reference_is_not_told_to_be_a_join() -> None:
    (found,) = [one for one in read_text(LOANS, "md").diagnostics if one.code == "PJ313"]
    assert "no attribute of `Loan` says which `Book` is meant" in found.message
    assert "→ Book" in found.fix


@pytest.mark.parametrize("text", ["`a` (integer, max=853, default 0)", "`a` (integer, max 853, default=0)"])
def test_bounds_and_defaults_are_written_alike(text: str) -> None:
    found = read_attribute(text)
    assert (found.max, found.default) == (853, "0")


ORDERS = """# Orders

## Entities

### Order

- **Attributes**:
  - `orderId` (ulid, generated)
  - `userId` (uuid, immutable)
  - `status` (NEW | PAID | DONE, mutable)
  - `placedAt` (datetime, immutable)
  - `total` (decimal, immutable)
- **Cardinality**: ~20 per userId, 20M total
- **Size**: 400 B

"""
PLACE = "| AP-100 | Order | Order | create Order | No | - | 5/s |\n"
MOVE = "| AP-101 | Order | orderId, status | update Order (status) | No | - | 10/s |\n"


def explained(text: str) -> Explanation:
    """The explanation with its alternatives."""
    document = workload(text)
    solution = solve(document)
    return add_alternatives(WhatIf(document, solution), explain_design(document, solution.design))


def about(explanation: Explanation, pattern: str) -> AboutPattern:
    return next(one for one in explanation.patterns if one.pattern == pattern)


def test_no_key_is_said_to_give_a_range_in_another_order() -> None:
    row = "| AP-001 | Order | userId, total >= | Collection | placedAt DESC | Yes (20) | 1/s | Eventual |\n"
    found = about(explained(ORDERS + READS + row), "AP-001")
    assert not found.served
    text = " ".join(found.text)
    assert "no key gives a range of total in the order of placedAt" in text
    assert "An index of Order" not in text


def test_counter_of_a_value_that_changes() -> None:
    row = "| AP-001 | Order | status = NEW | Count | - | No | 1/s | Eventual |\n"
    gone = "| AP-102 | Order | orderId | delete Order | No | - | 1/s |\n"
    orders = workload(ORDERS + READS + row + WRITES + PLACE + MOVE + gone)
    first, *_ = relax(WhatIf(orders, solve(orders)), orders.reads[0])
    assert "AP-100: create Order; upsert OrderCount (number += 1) | Yes" in first.take
    moved = "update Order (status); upsert OrderCount by oldStatus (number -= 1); upsert OrderCount (number += 1)"
    assert f"AP-101: orderId, status, oldStatus | {moved} | Yes | Order.status = oldStatus" in first.take
    deleted = "delete Order; upsert OrderCount by oldStatus (number -= 1)"
    assert f"AP-102: orderId, oldStatus | {deleted} | Yes | Order.status = oldStatus" in first.take
    assert first.dollars < 200


@pytest.mark.parametrize(
    "write",
    [
        "| AP-101 | Order | orderId | update Order (status = PAID) | No | - | 10/s |\n",
        "| AP-101 | Order | Order | put Order | No | - | 10/s |\n",
    ],
)
def test_no_counter_if_the_old_or_the_new_value_is_no_input(write: str) -> None:
    row = "| AP-001 | Order | status = NEW | Count | - | No | 1/s | Eventual |\n"
    orders = workload(ORDERS + READS + row + WRITES + PLACE + write)
    assert relax(WhatIf(orders, solve(orders)), orders.reads[0]) == ()


def test_scan_that_nobody_pays_is_not_listed_beside_a_counter() -> None:
    row = "| AP-001 | Order | status = NEW | Count | - | No | 1/s | Eventual |\n"
    text = ORDERS + READS + row + WRITES + PLACE + MOVE
    orders = workload(text)
    found = about(explained(text), "AP-001").alternatives
    assert ["counter" in one.text for one in found] == [True]
    assert alternatives(orders, solve(orders).design, orders.reads[0])[0].dollars > highest_price(
        orders, solve(orders).design
    )


@pytest.mark.slow
def test_reads_by_a_list_and_of_a_count_are_told_as_they_are() -> None:
    rows = "| AP-001 | Order | userId[] | Collection | placedAt DESC | No | 1/s | Eventual |\n"
    rows += "| AP-002 | Order | userId | Count | - | No | 1/s | Eventual |\n"
    explanation = explained(ORDERS + READS + rows + WRITES + MOVE)
    assert about(explanation, "AP-001").text[0].startswith("One Query for each `userId` on gsi1")
    (index,) = explanation.indexes
    assert index.patterns == ("AP-001", "AP-002")
    assert "It projects all attributes (ALL): AP-001 returns whole items." in index.text


SCOOTERS = """# Scooters

## Entities

### Scooter

- **Attributes**:
  - `scooterId` (uuid, generated)
  - `lat` (decimal, mutable)
  - `lng` (decimal, mutable)
- **Cardinality**: ~50K total
- **Size**: 300 B

"""


def test_write_that_moves_an_item_keeps_its_geohash() -> None:
    row = "| AP-001 | Scooter | lat between, lng between | Collection | - | No | 100/s | Eventual |\n"
    write = "| AP-100 | Scooter | scooterId, lat, lng | update Scooter | No | - | 500/s |\n"
    scooters = workload(SCOOTERS + READS + row + WRITES + write)
    solution = solve(scooters)
    first, *_ = relax(WhatIf(scooters, solution), scooters.reads[0])
    assert "AP-100: scooterId, lat, lng, geohash | update Scooter (lat, lng, geohash)" in first.take
    assert first.dollars > 3 * 500 * 1.62 - 500 * 1.62  # each move writes the item, and two entries of the index
    operation = solution.design.operation("AP-001")
    assert operation is not None
    assert operation.remedy.startswith("write `filter lng between`")


FEED = """# Feed

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
- **Cardinality**: ~1M total

### Follow

- **Attributes**:
  - `followerId` (uuid, id, → User)
  - `followedId` (uuid, id, → User)
- **Cardinality**: ~100M total

### Post

- **Attributes**:
  - `postId` (ulid, generated)
  - `authorId` (uuid, immutable, → User)
  - `createdAt` (datetime, immutable)
- **Cardinality**: ~100 per User
- **Size**: 500 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Follow, Post | followerId | Collection | Post.createdAt DESC | Yes (20) | 200/s | Join |
| AP-002 | Post | postId | Single | - | No | 10/s | No |
"""


def test_feed_lies_in_its_order_in_the_table() -> None:
    write = "| AP-100 | Post | Post | create Post | No | - | 10/s |\n"
    feed = workload(FEED + WRITES + write)
    solution = solve(feed)
    first, *_ = relax(WhatIf(feed, solution), feed.reads[0])
    assert first.structures == 0
    assert "AP-001: PostFeed, Post | followerId | createdAt DESC | Join via postId" in first.take
    operation = solution.design.operation("AP-001")
    assert operation is not None
    assert "if the Post items of each `followedId` are meant, a feed" in operation.remedy
    found = explained(FEED + WRITES + write)
    assert not [one for about in found.entities for one in about.alternatives if "serves AP-001" in one.text]


def test_vector_is_sent_to_a_vector_index() -> None:
    text = LADDER.replace("`rating` (integer, mutable, max=4000)", "`taste` (list of number, mutable)")
    row = "| AP-001 | Player | taste | Collection, limit 10 | - | No | 5/s | Eventual |\n"
    (found,) = [one for one in read_text(text + READS + row, "md").diagnostics if one.code == "PJ208"]
    assert "a vector index" in found.fix


def test_retention_that_nothing_upholds() -> None:
    text = SESSIONS.replace("{cardinality}", "unbounded\n- **Retention**: 90 days")
    write = "| AP-100 | Session | Session | create Session | No | - | 200/s |\n"
    found = [one.message for one in read_text(text + READS + ALL + WRITES + write, "md").diagnostics]
    assert "`Session` is kept for 90 days, and nothing removes it then" in found


MEMBERS = """# Members

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
- **Cardinality**: ~1M total

### Group

- **Attributes**:
  - `groupId` (uuid, generated)
  - `name` (string, mutable)
- **Cardinality**: ~100K total

### Membership

- **Attributes**:
  - `groupId` (uuid, id, → Group)
  - `userId` (uuid, id, → User)
- **Cardinality**: ~20 per Group
- **Size**: 150 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Group, Membership | groupId | Collection | - | No | 20/s | Strong | Collection |
| AP-002 | Membership, Group | userId | Collection | - | Yes (20) | 20/s | Strong | Join |
"""


def test_eventual_read_instead_of_a_copy() -> None:
    found = explained(MEMBERS + WRITES + "| AP-100 | Membership | Membership | create Membership | No | - | 5/s |\n")
    (copy,) = found.copies
    assert copy.patterns == ("AP-002",)
    assert not any("with the other items of the result" in text for text in copy.text)  # a join: they are elsewhere
    assert [one.take for one in found.relaxations] == [("AP-002: Eventual under Consistency",)]


PAYMENTS = """# Payments

## Entities

### Payment

- **Attributes**:
  - `paymentId` (ulid, generated)
  - `requestKey` (string, unique, immutable)
- **Cardinality**: ~10M total
- **Size**: 300 B

"""


def test_guard_is_the_lookup_of_a_consistent_read() -> None:
    rows = "| AP-001 | Payment | requestKey | Single | - | No | 5/s | Strong |\n"
    rows += "| AP-002 | Payment | paymentId | Single | - | No | 5/s | Eventual |\n"
    write = "| AP-100 | Payment | Payment | create Payment | Yes | requestKey unique | 50/s |\n"
    chosen = PAYMENTS.replace("(ulid, generated)", "(string, natural)")
    payments = workload(chosen + READS + rows + WRITES + write)
    found = simplify(WhatIf(payments, solve(payments)))
    assert any("reads an item by `requestKey`, which also keeps it unique" in one.text for one in found)
    assert all(one.dollars < 0 for one in found)


def test_value_that_is_read_consistently_is_the_key_and_the_id_is_in_an_index() -> None:
    rows = "| AP-001 | Payment | requestKey | Single | - | No | 5/s | Strong |\n"
    rows += "| AP-002 | Payment | paymentId | Single | - | No | 5/s | Eventual |\n"
    write = "| AP-100 | Payment | Payment | create Payment | Yes | requestKey unique | 50/s |\n"
    design = solve(workload(PAYMENTS + READS + rows + WRITES + write)).design
    found = [f"{f.slot} {f.pk[0]}" for item in design.items for f in item.facets]
    # Neither a copy for the consistent read, nor a guard.
    assert found == ["table REQUEST_KEY#{requestKey}", "gsi1 PAYMENT#{paymentId}"]
    assert design.guards == ()


TICKETS = """# Tickets
{context}
## Entities

### Event

- **Attributes**:
  - `eventId` (uuid, generated)
- **Cardinality**: ~10K total

### Ticket

- **Attributes**:
  - `eventId` (uuid, id, → Event)
  - `ticketId` (ulid, generated)
  - `reference` (string, immutable{flag})
  - `used` (boolean, mutable)
- **Cardinality**: ~2K per Event
{unique}
"""
TENANTS = "\n## Context\n\n- **Tenant**: orgId\n"


@pytest.mark.parametrize(
    ("parts", "asked", "attributes"),
    [
        (
            {"context": "", "flag": "", "unique": "- **Unique**: eventId + reference\n"},
            "eventId, reference",
            ("- `eventId` (uuid, id, → Event)", "- `reference` (string, natural)"),
        ),
        ({"context": TENANTS, "flag": ", unique", "unique": ""}, "reference", ("- `reference` (string, natural)",)),
    ],
)
def test_guard_of_values_that_are_unique_within_a_parent_is_a_lookup(
    parts: dict[str, str], asked: str, attributes: tuple[str, ...]
) -> None:
    rows = "| AP-001 | Ticket | eventId | Collection | - | Yes (50) | 10/s | Eventual |\n"
    rows += f"| AP-002 | Ticket | {asked} | Single | - | No | 50/s | Eventual |\n"
    write = "| AP-100 | Ticket | Ticket | create Ticket | No | - | 20/s |\n"
    write += "| AP-101 | Ticket | eventId, ticketId, used | update Ticket (used) | No | - | 20/s |\n"
    tickets = workload(TICKETS.format(**parts) + READS + rows + WRITES + write)
    (found,) = simplify(WhatIf(tickets, solve(tickets)))
    assert found.structures == -1
    at = found.take.index("### TicketReference") + 1
    assert found.take[at : at + len(attributes)] == attributes
    assert found.take[-1] == f"AP-002: TicketReference, Ticket | {asked} | Collection | Join"


RECIPES = """# Recipes

## Entities

### Recipe

- **Attributes**:
  - `recipeId` (ulid, generated)
  - `title` (string, immutable)
  - `tags` (set of string, immutable)
  - `createdAt` (datetime, immutable)
- **Cardinality**: ~2M total
- **Size**: 8 KB

"""


@pytest.mark.parametrize("asked", ["title contains", "tags contains"])
def test_pages_of_a_search_for_a_word_are_not_served_by_a_filter(asked: str) -> None:
    row = f"| AP-001 | Recipe | {asked} | Collection | createdAt DESC | Yes (20) | 20/s | Eventual |\n"
    write = "| AP-100 | Recipe | Recipe | create Recipe | No | - | 1/s |\n"
    recipes = workload(RECIPES + READS + row + WRITES + write)
    solution = solve(recipes)
    read = solution.design.operation("AP-001")
    assert read is not None
    assert not read.served
    assert read.remedy.startswith("keep an item for each word")
    words, elsewhere = relax(WhatIf(recipes, solution), recipes.reads[0])
    assert words.text.startswith("an item for each")
    assert words.structures == 0  # its key in the table is in the order that is asked for
    assert "OpenSearch" in elsewhere.text


ROOMS = """# Rooms

## Entities

### Person

- **Attributes**:
  - `personId` (uuid, generated)

### Member

- **Attributes**:
  - `roomId` (ulid, id)
  - `personId` (uuid, id, → Person)

### Message

- **Attributes**:
  - `messageId` (ulid, generated)
  - `roomId` (ulid, immutable)
  - `senderId` (uuid, immutable, → Person)

"""


@pytest.mark.parametrize(
    ("inputs", "condition", "codes"),
    [
        ("", "Member exists", {"PJ550"}),
        (", personId", "Member exists", set()),
        ("", "Member.personId = senderId", set()),
    ],
)
def test_condition_says_which_item_is_meant(inputs: str, condition: str, codes: set[str]) -> None:
    row = "| AP-001 | Message | roomId | Collection | messageId DESC | Yes (50) | 1/s | Eventual |\n"
    given = f"messageId, roomId, senderId{inputs}"
    write = f"| AP-100 | Message | {given} | create Message | Yes | {condition} | 1/s |\n"
    rooms = workload(ROOMS + READS + row + WRITES + write)
    found = [one for one in check_design(solve(rooms).design, rooms) if one.severity != "hint"]
    assert {one.code for one in found} == codes
    assert all("`personId` it does not give" in one.message for one in found)


CLAIMS = """# Claims

## Entities

### Claim

- **Attributes**:
  - `claimNo` (string, natural)
  - `region` (string, immutable)
  - `state` (OPEN | CLOSED, mutable)
  - `adjusterId` (string, optional, mutable, → Adjuster)
- **Cardinality**: ~1K total

### Adjuster

- **Attributes**:
  - `adjusterId` (string, natural)
  - `openClaims` (integer, mutable, default=0)
- **Cardinality**: ~80 total

### Payment

- **Attributes**:
  - `paymentId` (uuid, generated)
  - `claimNo` (string, immutable, → Claim)
  - `amount` (integer, immutable)
  - `state` (REQUESTED | SETTLED, mutable)
- **Cardinality**: ~1.5 per Claim

"""
ONE = "| AP-001 | Claim | claimNo | Single | - | No | 10/s | Eventual |\n"
FILE = "| AP-001 | Payment | claimNo | Collection | - | No | 10/s | Strong |\n"


def proven(text: str, seeds: int = 4) -> None:
    document = workload(text)
    design = solve(document).design
    for seed in range(1, seeds):
        found = prove(document, design, Embedded(), seed=seed)
        assert [(one.pattern, one.wrong, one.problem) for one in found.failed] == []


@pytest.mark.parametrize(
    ("entities", "inputs", "items", "condition"),
    [
        # Two entities have a `state`: the condition fixes the claim's, and the input is the payment's.
        ("Payment", "paymentId, claimNo, amount, state", "create Payment; update Claim (remove adjusterId)",
         "Claim.state = OPEN"),
        # Some claims have no adjuster: they do not fulfil the condition, whoever calls.
        ("Claim", "claimNo, adjusterId", "update Claim (state = CLOSED); update Adjuster (openClaims -= 1)",
         "Claim.adjusterId = adjusterId"),
        # A whole object has all attributes, so the write knows the claim and the amount.
        ("Payment", "Payment", "create Payment; update Claim (remove adjusterId)", "Claim.state = OPEN"),
        ("Claim", "claimNo", "update Claim (state = CLOSED)", "adjusterId exists"),
    ],
)  # fmt: skip
def test_writes_with_shared_and_absent_attributes_are_proven(
    entities: str, inputs: str, items: str, condition: str
) -> None:
    proven(CLAIMS + READS + ONE + WRITES + f"| AP-100 | {entities} | {inputs} | {items} | Yes | {condition} | 1/s |\n")


def test_object_as_an_input_gives_its_attributes() -> None:
    spent = CLAIMS.replace("`openClaims`", "`spent`")
    row = "| AP-100 | Payment | Payment, adjusterId | create Payment; update Adjuster (spent += amount) | Yes | - | 1/s |\n"
    found = workload(spent + READS + ONE + WRITES + row).writes[0]
    assert [one.attribute for one in found.inputs] == ["paymentId", "claimNo", "amount", "state", "adjusterId"]
    assert found.actions[1].changes[0].value == Value(param="amount")


def test_object_as_an_input_is_not_what_an_update_without_changes_sets() -> None:
    row = "| AP-100 | Payment | Payment | create Payment; update Claim | Yes | - | 1/s |\n"
    reading = read_text(CLAIMS + READS + ONE + WRITES + row, "md")
    assert "PJ317" in {one.code for one in reading.diagnostics}
    row = "| AP-100 | Payment | Payment, adjusterId | create Payment; update Claim | Yes | - | 1/s |\n"
    update = workload(CLAIMS + READS + ONE + WRITES + row).writes[0].actions[1]
    assert [change.attribute for change in update.changes] == ["adjusterId"]


def test_attribute_of_a_condition_needs_no_entity() -> None:
    row = "| AP-100 | Claim | claimNo, state | update Claim (state) | No | adjusterId not exists | 1/s |\n"
    (check,) = workload(CLAIMS + READS + ONE + WRITES + row).writes[0].checks
    assert (check.entity, check.attribute) == ("Claim", "adjusterId")


def test_cardinality_may_be_an_average() -> None:
    claims = workload(CLAIMS.replace("~1.5 per Claim", "~0.8 per Claim") + READS + ONE)
    payment = claims.entity("Payment")
    assert payment is not None
    assert count_of(claims, payment) == 800
    assert "- **Cardinality**: ~0.8 per Claim" in write_text(claims, "md")


def test_item_is_found_by_its_id_and_not_by_a_condition() -> None:
    row = "| AP-100 | Payment | paymentId | update Payment (state = SETTLED) | No | state = REQUESTED | 1/s |\n"
    operation = solve(workload(CLAIMS + READS + FILE + WRITES + row)).design.operation("AP-100")
    assert operation is not None
    assert operation.found_first == {"Payment"}
    assert operation.requests[0].filters == ()  # an index may be late, and the update checks it


@pytest.mark.slow
def test_numbers_of_a_sparse_index() -> None:
    rows = ONE + "| AP-002 | Claim | region, adjusterId not exists | Collection | - | Yes (20) | 1/s | Eventual |\n"
    partitions = explained(CLAIMS + READS + rows).partitions
    (sparse,) = [one for one in partitions if one.slot == "gsi1"]
    assert (sparse.number, sparse.items) == (100, 5)  # half of ten claims of each region


def test_little_is_not_nothing() -> None:
    partitions = explained(LIKES + READS + "| AP-001 | Like | videoId, userId | Single | - | No | 1/day | Eventual |\n")
    assert "The busiest uses less than 0.01 read units a second." in partitions.partitions[0].text


BIG = CLAIMS.replace("~1K total", "~100M total")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("region", "`~5 per region` under Cardinality of Claim"),
        ("state in (OPEN, CLOSED)", "`state in (OPEN, CLOSED) (keeps 1%)`"),
    ],
)
def test_too_large_result_tells_how_to_say_that_it_is_small(asked: str, said: str) -> None:
    operation = solve(workload(BIG + READS + f"| AP-001 | Claim | {asked} | Collection | - | No | 1/s | Eventual |\n"))
    assert said in operation.design.operations[0].remedy


def test_result_is_as_large_as_its_price_says() -> None:
    big = BIG.replace("~100M total", "~10M total, ~100K per region")
    row = "| AP-001 | Claim | region, adjusterId | Collection | - | No | 1/s | Eventual |\n"
    claims = workload(big + READS + row)
    assert "PJ541" not in {one.code for one in check_design(solve(claims).design, claims)}


def test_explanation_of_writes() -> None:
    rows = "| AP-100 | Payment | Payment[] | create Payment[] | No | - | 1/s |\n"
    rows += "| AP-101 | Claim | claimNo, old, state | update Claim (state) | No | state = old | 1/s |\n"
    found = explained(CLAIMS + READS + ONE + WRITES + rows)
    assert about(found, "AP-100").text[0] == "One PutItem for each item: puts each Payment if it does not exist."
    assert about(found, "AP-101").text[0] == "One UpdateItem: updates Claim if it exists and state = {old}."


HOLDS = """# Holds

## Entities

### Hold

- **Attributes**:
  - `holdId` (ulid, generated)
  - `code` (string, unique, immutable)
  - `state` (HELD | KEPT, mutable)
  - `until` (datetime, optional, ttl, mutable)
- **Cardinality**: unbounded
- **Retention**: 10 days

"""


def test_explanation_of_items_that_expire() -> None:
    row = "| AP-001 | Hold | holdId | Single | - | No | 1/s | Eventual |\n"
    rows = "| AP-100 | Hold | Hold | create Hold | Yes | code unique | 2/s |\n"
    rows += "| AP-101 | Hold | holdId | update Hold (state = KEPT, remove until) | No | - | 1/s |\n"
    rows += "| AP-102 | Hold | - | expire Hold | No | - | 1/s |\n"
    found = explained(HOLDS + READS + row + WRITES + rows)
    renewed = "updates Hold if it exists; renews the guard of Hold's code, which expires with the item."
    assert about(found, "AP-101").text[1].endswith(renewed)
    assert (
        about(found, "AP-102").text[0]
        == "DynamoDB deletes each Hold some time after its `until`; no request is needed."
    )
    assert any(
        "About 1,728,000 items" in text and "2 new ones a second for 10 days" in text for text in found.entities[0].text
    )
    assert not [text for text in found.assumed if "number of items" in text]


def test_explanation_of_what_follows() -> None:
    document = CLAIMS.replace(
        "  - `state` (OPEN",
        "  - `adjuster` (integer, mutable, follows Adjuster.openClaims within 1 minute)\n  - `state` (OPEN",
    )
    rows = ONE + "| AP-002 | Claim | adjusterId | Collection | - | Yes (20) | 1/s | Eventual |\n"
    write = "| AP-100 | Adjuster | adjusterId | update Adjuster (openClaims += 1) | No | - | 1/s |\n"
    claim = explained(document + READS + rows + WRITES + write).entities[0]
    (text,) = [text for text in claim.text if "follows" in text]
    assert text.startswith(
        "`adjuster` follows Adjuster.openClaims: the table's stream updates the items within 1 minute"
    )
    assert "once a second, that is $" in text


SLOTS = """# Practice

## Entities

### Clinician

- **Attributes**:
  - `clinicianId` (uuid, generated)

### Slot

- **Attributes**:
  - `clinicianId` (uuid, id, → Clinician)
  - `startsAt` (datetime, natural)
  - `appointmentId` (ulid, optional, mutable, → Appointment)
- **Cardinality**: ~1K per Clinician

### Appointment

- **Attributes**:
  - `appointmentId` (ulid, generated)
  - `clinicianId` (uuid, immutable, → Clinician)
  - `startsAt` (datetime, mutable)
  - `status` (BOOKED | CANCELLED, mutable)
- **Cardinality**: ~20 per Clinician

"""


def test_two_items_that_name_each_other_are_proven() -> None:
    """A slot with the time of the appointment may exist already, for another appointment."""
    row = "| AP-001 | Slot | clinicianId, startsAt | Single | - | No | 1/s | Eventual |\n"
    row += "| AP-002 | Appointment | appointmentId | Single | - | No | 1/s | Eventual |\n"
    items = "update Appointment (status = CANCELLED); update Slot (remove appointmentId)"
    checks = "Appointment.status = BOOKED; Slot.appointmentId = appointmentId"
    inputs = "appointmentId, clinicianId, startsAt"
    proven(
        SLOTS + READS + row + WRITES + f"| AP-100 | Appointment, Slot | {inputs} | {items} | Yes | {checks} | 1/s |\n"
    )


LOG = """# Log

## Entities

### Account

- **Attributes**:
  - `accountId` (uuid, generated)

### Actor

- **Attributes**:
  - `actorId` (uuid, generated)

### Entry

- **Attributes**:
  - `entryId` (ulid, generated)
  - `actorId` (uuid, immutable, → Actor)
  - `accountId` (uuid, immutable, → Account)
  - `at` (datetime, immutable)

"""


@pytest.mark.parametrize(("often", "parent"), [("accountId", "ACCOUNT"), ("actorId", "ACTOR")])
def test_items_of_two_parents_are_with_the_one_that_is_read_more_often(often: str, parent: str) -> None:
    rows = "".join(
        f"| AP-00{n} | Entry | {name} | Collection | at DESC | Yes (20) | {10 if name == often else 1}/s | Eventual |\n"
        for n, name in enumerate(("accountId", "actorId"), 1)
    )
    design = solve(workload(LOG + READS + rows)).design
    item = design.item("Entry")
    assert item is not None
    assert item.facets[0].pk == (f"{parent}#{{{often}}}",)


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ("`email` (string, mutable)", 5_000_000),
        ("`booked_at` (datetime, immutable)", 5_000_000),
        ("`city` (string, mutable)", 100),
        ("`emailStatus` (string, mutable)", 100),
        ("`ownerId` (uuid, immutable)", 10_000),
        ("`day` (date, immutable)", 365),
        ("`email` (string, snapshot of Agency.email)", 40),
    ],
)
def test_number_of_different_values_follows_from_type_and_name(attribute: str, values: int) -> None:
    name = attribute.split("`")[1]
    leads = workload(
        "# Leads\n\n## Entities\n\n### Agency\n\n- **Attributes**:\n  - `agencyId` (uuid, generated)\n"
        "  - `email` (string)\n- **Cardinality**: ~40 total\n\n### Lead\n\n- **Attributes**:\n"
        f"  - `leadId` (uuid, generated)\n  - {attribute}\n- **Cardinality**: ~5M total\n\n{READS}"
        f"| AP-001 | Lead | {name} | Collection | - | No | 50/s | Eventual |\n"
    )
    assert values_of(leads, leads.entities[1], name) == values
    assert [one.value for one in assumptions(leads) if "different values" in one.what] == [f"{values:,}"]


PROJECTS = """# Projects

## Entities

### Project

- **Attributes**:
  - `tenantId` (uuid, id)
  - `projectId` (uuid, generated)
- **Cardinality**: ~500 per tenantId, ~500K total

### Task

- **Attributes**:
  - `tenantId` (uuid, id, → Project.tenantId)
  - `projectId` (uuid, id, → Project.projectId)
  - `taskId` (ulid, generated)
- **Cardinality**: ~1K per Project
- **Size**: 500 B

"""


def test_items_that_are_identified_within_a_parent_are_in_its_partition() -> None:
    row = "| AP-001 | Project | tenantId, projectId | Single | - | No | 50/s | Eventual |\n"
    write = "| AP-100 | Task | Task | create Task | No | - | 1/s |\n"
    item = solve(workload(PROJECTS + READS + row + WRITES + write)).design.item("Task")
    assert item is not None
    assert item.facets[0].pk == ("TENANT#{tenantId}#PROJECT#{projectId}",)


@pytest.mark.parametrize(
    ("hottest", "shards", "busiest"), [("hottest 40%", 2, 1600), ("hottest tenantId 40%", 1, 4000 * 0.4 / 500)]
)
def test_hottest_tenant_is_not_the_hottest_project(hottest: str, shards: int, busiest: float) -> None:
    row = "| AP-001 | Task | tenantId, projectId | Collection | - | Yes (20) | 50/s | Eventual |\n"
    write = f"| AP-100 | Task | Task | create Task | No | - | 4000/s, {hottest} |\n"
    tasks = workload(PROJECTS + READS + row + WRITES + write)
    found = next(one for one in explain_design(tasks, solve(tasks).design).partitions if one.entity == "Task")
    assert found.shards == shards
    assert found.write_units == pytest.approx(busiest)
    told = "The hottest key of AP-100 is taken for one partition. If it is one `tenantId`, write "
    assert any(told + "`4K/s, hottest tenantId 40%`" in text for text in found.text) == (shards == 2)


def test_hottest_of_what_is_an_attribute() -> None:
    write = "| AP-100 | Task | Task | create Task | No | - | 4000/s, hottest tenant 40% |\n"
    found = read_text(PROJECTS + READS + WRITES + write, "md")
    assert [(d.code, d.fix) for d in found.diagnostics if d.severity == "error"] == [
        ("PJ202", "did you mean `tenantId`?")
    ]


RACKS = """# Racks

## Entities

### Rack

- **Attributes**:
  - `zoneId` (uuid, id)
  - `rowId` (uuid, id)
  - `rackId` (uuid, generated)
- **Cardinality**: ~2K per zoneId, ~20K total

### Alarm

- **Attributes**:
  - `zoneId` (uuid, id, → Rack.zoneId)
  - `rowId` (uuid, id, → Rack.rowId)
  - `rackId` (uuid, id, → Rack.rackId)
  - `alarmId` (uuid, generated)
  - `raisedAt` (datetime, immutable)
- **Cardinality**: unbounded
- **Retention**: 7 days
- **Size**: 500 B

"""


def test_what_makes_a_key_unique_is_in_the_order_of_the_document() -> None:
    row = "| AP-001 | Alarm | zoneId | Collection | raisedAt DESC | Yes (50) | 1/s | Eventual |\n"
    write = "| AP-100 | Alarm | Alarm | create Alarm | No | - | 30000/s |\n"
    item = solve(workload(RACKS + READS + row + WRITES + write)).design.item("Alarm")
    assert item is not None
    (facet,) = item.facets
    assert (facet.pk, facet.sk) == (
        ("ZONE#{zoneId}#{alarmId:shard(3)}",),
        ("ALARM#{raisedAt}#{rowId}#{rackId}#{alarmId}",),
    )


INCIDENTS = """# Incidents

## Entities

### Incident

- **Attributes**:
  - `incidentId` (uuid, generated)
  - `siteId` (uuid, immutable)
  - `state` (OPEN | WAITING | RESOLVED | CLOSED, mutable)
- **Cardinality**: ~10M total
- **Size**: 1 KB

"""


def incidents(asked: str) -> Workload:
    rows = f"| AP-001 | Incident | {asked} | Collection | - | Yes (20) | 50/s | Eventual |\n"
    rows += "| AP-002 | Incident | incidentId | Single | - | No | 50/s | Eventual |\n"
    return workload(
        INCIDENTS + READS + rows + WRITES + "| AP-100 | Incident | Incident | create Incident | No | - | 5/s |\n"
    )


@pytest.mark.parametrize("asked", ["state in (OPEN, WAITING)", "state = OPEN or state = WAITING"])
def test_index_holds_only_one_of_several_constants(asked: str) -> None:
    item = solve(incidents(f"siteId, {asked}")).design.item("Incident")
    assert item is not None
    assert [when.values for when in item.facets[1].when] == [("OPEN", "WAITING")]


def test_index_of_what_is_asked_for_is_proposed_instead_of_a_dear_filter() -> None:
    document = incidents("siteId, filter state = OPEN")
    found = [one for one in simplify(WhatIf(document, solve(document))) if "without a filter" in one.text]
    assert [one.take for one in found] == [("AP-001: siteId, state = OPEN",)]
    assert found[0].dollars < 0


def test_value_of_an_item_is_in_the_partition_and_not_only_the_tenant() -> None:
    rows = "| AP-001 | Ticket | reference | Single | - | No | 50/s | Eventual |\n"
    rows += "| AP-002 | Ticket | eventId, ticketId | Single | - | No | 50/s | Eventual |\n"
    item = solve(workload(TICKETS.format(context=TENANTS, flag="", unique="") + READS + rows)).design.item("Ticket")
    assert item is not None
    assert item.facets[1].pk == ("TENANT#{orgId}#REFERENCE#{reference}",)


SETTLEMENTS = """# Settlements

## Entities

### Shop

- **Attributes**:
  - `chain` (string, natural)
  - `number` (integer, natural)
  - `city` (string, mutable)

### Settlement

- **Attributes**:
  - `chain` (string, id, → Shop.chain)
  - `number` (integer, id, → Shop.number)
  - `week` (string, natural)
  - `clerkId` (uuid, mutable, → Clerk)
  - `amount` (integer, mutable)
  - `paid` (boolean, mutable, default false)
- **Cardinality**: ~100 per Shop

### Clerk

- **Attributes**:
  - `clerkId` (uuid, generated)

"""


UPSERT = (
    "| AP-100 | Settlement | chain, number, week, clerkId, amount | upsert Settlement (clerkId, {}) | No | - | 1/s |\n"
)


def test_upsert_that_may_create_an_item_of_a_sparse_index_reads_first() -> None:
    rows = "| AP-002 | Settlement | week, paid = false | Collection | - | Yes (20) | 1/s | Eventual |\n"
    document = workload(SETTLEMENTS + READS + rows + WRITES + UPSERT.format("amount += amount"))
    design = solve(document).design
    item = design.item("Settlement")
    assert item is not None
    index = replace(item.facets[1], pk=("WEEK#{week}#NOT_PAID",), when=(When("paid", ("false",)),))
    items = tuple(replace(one, facets=(one.facets[0], index)) if one is item else one for one in design.items)
    sparse = map_patterns(replace(design, items=items), document)
    for mapped, requests in ((design, ["UpdateItem"]), (sparse, ["GetItem", "UpdateItem"])):
        operation = mapped.operation("AP-100")
        assert operation is not None
        assert [one.call for one in operation.requests] == requests


def test_explanation_of_what_is_only_counted_changed_or_never_written() -> None:
    rows = "| AP-001 | Shop | city | Collection | - | Yes (20) | 1/s | Eventual |\n"
    rows += "| AP-002 | Settlement | week, paid = false | Collection | - | Yes (20) | 1/s | Eventual |\n"
    rows += "| AP-003 | Settlement | chain, number | Count | - | No | 1/s | Eventual |\n"
    write = UPSERT.format("amount += amount, paid = false")
    document = workload(SETTLEMENTS + READS + rows + WRITES + write)
    solution = solve(document)
    assert "Some reads only count items, so" in " ".join(claim_sentences(document, solution))
    text = " ".join(" ".join(as_text(explain_design(document, solution.design))).split())
    assert "No pattern uses it; it comes from the id." in text
    assert "a second write with the same key changes the item" in text
    assert "Only items where paid = false have this key" in text


def test_other_side_of_a_relation_is_the_whole_id() -> None:
    row = "| AP-001 | Settlement | clerkId | Collection | - | Yes (20) | 1/s | Eventual |\n"
    hints = [one.message for one in read_text(SETTLEMENTS + READS + row, "md").diagnostics if one.code == "PJ402"]
    assert "`Settlement` is asked by `clerkId` and never by `chain` + `number`" in hints


VOUCHERS = """# Vouchers

## Entities

### Voucher

- **Attributes**:
  - `code` (string, natural)
  - `open` (boolean, mutable)

### User

- **Attributes**:
  - `userId` (uuid, generated)

### Credit

- **Attributes**:
  - `userId` (uuid, id, → User)
  - `creditId` (ulid, generated)
  - `voucherCode` (string, unique, immutable, → Voucher)
- **Cardinality**: ~60 per User

"""


@pytest.mark.slow
def test_item_of_another_that_has_one_already_is_proven() -> None:
    rows = "| AP-001 | Credit | voucherCode | Single | - | No | 1/s | Strong |\n"
    rows += "| AP-002 | Credit | userId | Collection | - | Yes (20) | 1/s | Eventual |\n"
    write = "| AP-100 | Voucher, Credit | code, userId, creditId | update Voucher (open = false); "
    write += "create Credit (voucherCode = code) | Yes | Voucher.open = true | 1/s |\n"
    document = workload(VOUCHERS + READS + rows + WRITES + write)
    with Embedded() as engine:
        assert prove(document, solve(document).design, engine).right


def test_few_orders_are_tried_of_an_id_with_many_parts() -> None:
    entity = Entity("Change", attributes=tuple(Attribute(f"p{n}", id=True) for n in range(7)))
    found = base_candidates(Workload(entities=(entity,)), entity, [])
    assert len(found) < 1000
    assert all(one.sk == tuple(sorted(one.sk)) for one in found if len(one.sk) > 3)


def test_advice_is_written_as_in_the_document() -> None:
    row = "| AP-001 | Incident | siteId exists | Collection | - | No | 50/s | Eventual |\n"
    (read,) = solve(workload(INCIDENTS.replace("immutable)", "optional, immutable)") + READS + row)).design.operations
    assert "`siteId exists (keeps 1%)`" in read.remedy


VISITS = """# Visits

## Entities

### Visit

- **Attributes**:
  - `patient` (string, natural)
  - `visitNo` (integer, natural, max=99)
  - `changedAt` (datetime, mutable)

### Change

- **Attributes**:
  - `patient` (string, id, → Visit.patient)
  - `visitNo` (integer, id, → Visit.visitNo)
  - `changeId` (ulid, generated)
  - `at` (datetime, immutable)

"""


@pytest.mark.slow
def test_item_whose_key_has_an_input_of_another_name_is_proven() -> None:
    rows = "| AP-001 | Change | patient | Collection | visitNo ASC, at ASC | Yes (20) | 5/s | Eventual |\n"
    write = "| AP-100 | Visit, Change | patient, visitNo, changedAt, changeId | update Visit (changedAt); "
    write += "create Change (at = changedAt) | Yes | - | 1/s |\n"
    document = workload(VISITS + READS + rows + WRITES + write)
    design = solve(document).design
    item = design.item("Change")
    assert item is not None
    assert item.facets[0].sk == ("CHANGE#{visitNo:02d}#{at}#{changeId}",)
    with Embedded() as engine:
        assert prove(document, design, engine).right


FOLLOWS = """# Follows

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
  - `followers` (integer, mutable)
- **Cardinality**: ~10K total

### Follow

- **Attributes**:
  - `followerId` (uuid, id, → User)
  - `followeeId` (uuid, id, → User)
- **Cardinality**: ~20 per User

"""


def test_follow_that_is_there_already_is_refused_although_somebody_follows_themselves() -> None:
    rows = "| AP-001 | Follow | followerId | Collection | - | Yes (20) | 10/s | Eventual |\n"
    rows += "| AP-002 | User | userId | Single | - | No | 10/s | Eventual |\n"
    rows += "| AP-003 | Follow | followeeId | Collection | - | Yes (20) | 10/s | Eventual |\n"
    items = "create Follow; update User by followerId (followers += 0); update User by followeeId (followers += 1)"
    write = f"| AP-100 | Follow, User | followerId, followeeId | {items} | Yes | - | 1/s |\n"
    follows = workload(FOLLOWS + READS + rows + WRITES + write)
    design = solve(follows).design
    for seed in range(1, 12):
        found = prove(follows, design, Embedded(), seed=seed)
        assert [(one.pattern, one.wrong, one.problem) for one in found.failed] == []


METERS = """# Meters

## Entities

### Meter

- **Attributes**:
  - `meterId` (uuid, generated)
  - `place` (string, mutable)
- **Cardinality**: 1K total

### Reading

- **Attributes**:
  - `meterId` (uuid, id, → Meter)
  - `takenAt` (datetime, natural)
  - `value` (decimal, immutable)
- **Cardinality**: ~1K per Meter

### Total

- **Attributes**:
  - `meterId` (uuid, id, → Meter)
  - `day` (date, natural)
  - `sum` (decimal, mutable)
- **Cardinality**: ~100 per Meter

"""


def test_put_that_replaces_an_item_has_the_value_that_is_added_elsewhere() -> None:
    rows = "| AP-001 | Reading | meterId | Collection | takenAt DESC | Yes (20) | 10/s | Eventual |\n"
    rows += "| AP-002 | Total | meterId | Collection | day DESC | Yes (20) | 10/s | Eventual |\n"
    rows += "| AP-003 | Meter | meterId | Single | - | No | 10/s | Eventual |\n"
    items = "put Reading; upsert Total (sum += value)"
    write = f"| AP-100 | Reading, Total | meterId, takenAt, value, day | {items} | No | - | 1/s |\n"
    meters = workload(METERS + READS + rows + WRITES + write)
    design = solve(meters).design
    for seed in range(1, 6):
        found = prove(meters, design, Embedded(), seed=seed)
        assert [(one.pattern, one.wrong, one.problem) for one in found.failed] == []


JOIN_READS = """## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
JOINED = """# Rooms

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
  - `handle` (string, unique, immutable)
  - `city` (string, immutable)
  - `joinedAt` (datetime, immutable)
- **Cardinality**: ~10K total

### Participant

- **Attributes**:
  - `roomId` (uuid, id)
  - `userId` (uuid, id, → User)
- **Cardinality**: ~4 per roomId, ~20 per User

"""


@pytest.mark.parametrize("asked", ["handle | Single | -", "city | Collection | joinedAt DESC"])
def test_items_of_a_join_are_found_by_their_id_although_nothing_else_asks_for_it(asked: str) -> None:
    rows = f"| AP-001 | User | {asked} | No | 10/s | Eventual | No |\n"
    rows += "| AP-002 | Participant, User | roomId | Collection | - | No | 10/s | Eventual | Join |\n"
    write = "| AP-100 | User | userId, handle, city, joinedAt | create User | Yes | handle unique | Cold |\n"
    solution = solve(workload(JOINED + JOIN_READS + rows + WRITES + write))
    assert solution.chosen.unserved == ()
    users = solution.design.item("User")
    assert users is not None
    assert [one.pk for one in users.facets if one.slot == TABLE] == [("USER#{userId}",)]
    assert len(solution.design.indexes) == 1


def test_attribute_that_every_item_has_cannot_be_removed() -> None:
    rows = "| AP-001 | Note | noteId | Single | - | No | 1/s | Eventual |\n"
    write = "| AP-100 | Note | noteId | update Note (remove text) | No | exists | 1/s |\n"
    text = LIKES + READS + rows + WRITES + write
    found = read_text(text, "md")
    assert [(one.code, one.fix) for one in found.diagnostics if one.severity == "error"] == [
        ("PJ212", "mark it: `` `text` (string, optional, mutable) ``")
    ]
    workload(text.replace("`text` (string, mutable)", "`text` (string, optional, mutable)"))


HOSTING = """# Hosting

## Entities

### User

- **Attributes**:
  - `username` (string, natural)
- **Cardinality**: ~1M total

### Organization

- **Attributes**:
  - `orgName` (string, natural)
- **Cardinality**: ~50K total

### Repository

- **Attributes**:
  - `ownerName` (string, id, → User | Organization)
  - `repoName` (string, natural)
  - `isPrivate` (boolean, mutable)
  - `pushedAt` (datetime, mutable)
- **Cardinality**: ~5M total

### Issue

- **Attributes**:
  - `ownerName` (string, id, → Repository.ownerName)
  - `repoName` (string, id, → Repository.repoName)
  - `number` (integer, natural, max 99999)
- **Cardinality**: ~20 per Repository

### Comment

- **Attributes**:
  - `ownerName` (string, id, → Issue.ownerName)
  - `repoName` (string, id, → Issue.repoName)
  - `number` (integer, id, max 99999, → Issue.number)
  - `commentId` (ulid, generated)
- **Cardinality**: ~5 per Issue

### Star

- **Attributes**:
  - `ownerName` (string, id, → Repository.ownerName)
  - `repoName` (string, id, → Repository.repoName)
  - `username` (string, id, → User)
  - `starredAt` (datetime, immutable)
- **Cardinality**: ~10 per Repository

"""


def test_partition_of_an_item_below_one_of_several_owners() -> None:
    rows = "| AP-001 | Repository, Issue | ownerName, repoName | Collection | - | Yes (20) | 10/s | Eventual | Collection |\n"
    rows += "| AP-002 | Comment | ownerName, repoName, number | Collection | - | Yes (20) | 10/s | Eventual | No |\n"
    rows += "| AP-003 | Star | ownerName, repoName | Collection | starredAt DESC | Yes (20) | 10/s | Eventual | No |\n"
    rows += "| AP-004 | Star | ownerName, repoName, username | Single | - | No | 10/s | Eventual | No |\n"
    rows += (
        "| AP-005 | Repository | isPrivate = false | Collection | pushedAt DESC | Yes (20) | 1/s | Eventual | No |\n"
    )
    solution = solve(workload(HOSTING + JOIN_READS + rows))
    found = {(i.entity, f.slot): f.pk for i in solution.design.items for f in i.facets}
    repository = "OWNER#{ownerName}#REPOSITORY#{repoName}"
    assert solution.chosen.unserved == ()
    assert found["Repository", TABLE] == found["Issue", TABLE] == (repository,)
    assert found["Comment", TABLE] == (f"{repository}#ISSUE#{{number:plain}}",)
    # The index has the same partitions as the table: not one for all repositories of an owner.
    assert found["Star", "gsi1"] == (repository,)
    assert found["Repository", "gsi1"] == ("REPOSITORY_NOT_PRIVATE",)


OFFICES = """# Offices

## Entities

### Office

- **Attributes**:
  - `officeId` (string, natural)
  - `country` (string, immutable)
  - `state` (string, immutable)
  - `kind` (SHOP | DEPOT, immutable)
- **Cardinality**: ~5K total

"""


@pytest.mark.parametrize(
    ("asked", "partition"),
    [
        ("country, state", "COUNTRY#{country}#STATE#{state}"),
        ("country, kind", "COUNTRY#{country}"),
    ],
)
def test_partition_has_all_that_a_read_gives_if_it_holds_no_id(asked: str, partition: str) -> None:
    rows = f"| AP-001 | Office | {asked} | Collection | - | Yes (20) | 10/s | Eventual |\n"
    rows += "| AP-002 | Office | officeId | Single | - | No | 10/s | Eventual |\n"
    design = solve(workload(OFFICES + READS + rows)).design
    assert [f.pk for i in design.items for f in i.facets if f.slot == "gsi1"] == [(partition,)]


DEALS = """# Deals

## Entities

### Brand

- **Attributes**:
  - `brandName` (string, natural)
- **Cardinality**: ~2K total

### Category

- **Attributes**:
  - `categoryName` (string, natural)
- **Cardinality**: ~200 total

### Deal

- **Attributes**:
  - `dealId` (ulid, generated)
  - `brandName` (string, immutable, → Brand)
  - `categoryName` (string, immutable, → Category)
  - `createdAt` (datetime, immutable)
- **Relationships**:
  - Brand 1:N Deal via brandName
  - Category 1:N Deal via categoryName
- **Cardinality**: ~500K total
- **Size**: 600 B

"""


def test_item_of_two_parents_that_is_read_by_its_id_has_it_as_its_key() -> None:
    rows = "| AP-001 | Deal | dealId | Single | - | No | 300/s | Eventual |\n"
    rows += "| AP-002 | Deal | brandName | Collection | createdAt DESC | Yes (25) | 50/s | Eventual |\n"
    rows += "| AP-003 | Deal | categoryName | Collection | createdAt DESC | Yes (25) | 80/s | Eventual |\n"
    design = solve(workload(DEALS + READS + rows)).design
    item = design.item("Deal")
    assert item is not None
    assert [facet.pk for facet in item.facets if facet.slot == TABLE] == [("DEAL#{dealId}",)]
    assert len(design.indexes) == 2


STOCK = """# Stock

## Entities

### Product

- **Attributes**:
  - `sku` (string, natural)
- **Cardinality**: 100K total

### Level

- **Attributes**:
  - `warehouseId` (string, id)
  - `sku` (string, id, → Product)
  - `state` (OK | LOW | OUT | GONE, mutable)
- **Cardinality**: {cardinality}

"""


@pytest.mark.parametrize(
    ("cardinality", "items", "said"),
    [
        ("~5 per Product, ~25K per warehouseId", 500_000, []),
        ("~25K per warehouseId, ~5 per Product", 500_000, []),
        ("~25K per warehouseId", 250_000_000, ["250,000,000"]),
    ],
)
def test_number_of_items_follows_from_entities_and_not_from_attributes(
    cardinality: str, items: int, said: list[str]
) -> None:
    rows = "| AP-001 | Level | sku | Collection | - | No | 10/s | Eventual |\n"
    stock = workload(STOCK.format(cardinality=cardinality) + READS + rows)
    level = stock.entity("Level")
    assert level is not None
    assert count_of(stock, level) == items
    assert [one.value for one in assumptions(stock) if one.what == "the number of items"] == said


@pytest.mark.parametrize(
    ("asked", "page", "said"),
    [
        ("warehouseId, state = OUT", "No", ["25%"]),
        ("warehouseId, state in (LOW, OUT)", "No", ["50%"]),
        ("warehouseId, state = OUT (keeps 1%)", "No", []),
        ("warehouseId, state = OUT", "Yes (20)", []),
    ],
)
def test_part_of_the_items_with_a_constant_is_an_assumption(asked: str, page: str, said: list[str]) -> None:
    rows = f"| AP-001 | Level | {asked} | Collection | - | {page} | 10/s | Eventual |\n"
    stock = workload(STOCK.format(cardinality="~5 per Product") + READS + rows)
    assert [one.value for one in assumptions(stock) if "the part of the items with state" in one.what] == said


def test_condition_of_one_of_several_entities_is_a_filter() -> None:
    asked = "ownerName, repoName, Issue.number > 100"
    rows = f"| AP-001 | Repository, Issue | {asked} | Collection | - | Yes (20) | 50/s | Eventual | Collection |\n"
    rows += "| AP-002 | Issue | ownerName, repoName, number | Single | - | No | 50/s | Eventual | No |\n"
    rows += "| AP-003 | Issue | ownerName, repoName | Collection | - | Yes (20) | 50/s | Eventual | No |\n"
    hosting = workload(HOSTING + JOIN_READS + rows)
    design = solve(hosting).design
    said = " ".join(" ".join(as_text(explain_design(hosting, design))).split())
    item = design.item("Issue")
    assert item is not None
    assert item.facets[0].pk == ("OWNER#{ownerName}#REPOSITORY#{repoName}",)
    assert "write `filter Issue.number > 100`: the filter leaves out items of Issue only" in said
    changed = HOSTING + JOIN_READS + rows.replace("Issue.number >", "filter Issue.number >")
    assert solve(workload(changed)).chosen.unserved == ()


def test_other_key_that_allows_an_item_twice_says_so() -> None:
    rows = "| AP-001 | Star | ownerName, repoName | Collection | starredAt DESC | Yes (20) | 10/s | Eventual | No |\n"
    rows += "| AP-002 | Star | ownerName, repoName, username | Single | - | No | 10/s | Eventual | No |\n"
    write = "| AP-100 | Star | ownerName, repoName, username | create Star | No | - | 1/s |\n"
    stars = workload(HOSTING + JOIN_READS + rows + WRITES + write)
    solution = solve(stars)
    found = add_alternatives(WhatIf(stars, solution), explain_design(stars, solution.design))
    (about,) = [one for one in found.entities if one.entity == "Star"]
    assert any("STAR#{starredAt}#{username}" in one.text for one in about.alternatives)
    for one in about.alternatives:
        assert ("could exist" in one.text) == ("STAR#{starredAt}" in one.text)
