"""Forms of change: each row of Items Written, optional inputs, items named by an input, bounds and references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import NOW, Case, Exam, Plan

Items = Sequence[tuple[str, Item]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call, with the items that it is about before and after it."""

    label: str
    before: Items
    arguments: Mapping[str, Any]
    after: Items | None
    """None for a refusal."""
    needs: str = ""
    """An input without which there is no such call."""


@dataclass(frozen=True, slots=True)
class Example:
    row: Row
    calls: Sequence[Call]


def _id(number: int) -> UUID:
    return UUID(int=number)


# --- One item -------------------------------------------------------------------------------------------------------

USER = EntityText(
    "User",
    (
        "`userId` (uuid, generated)",
        "`name` (string, mutable)",
        "`nick` (string, optional, mutable)",
        "`email` (string, optional, mutable)",
        "`status` (NEW | ACTIVE | GONE, mutable)",
        "`count` (integer, mutable)",
        "`score` (integer, optional, mutable)",
        "`seenAt` (datetime, optional, mutable)",
        "`tags` (set of string, optional, mutable)",
        "`steps` (list of string, optional, mutable)",
    ),
)
TALLY = EntityText("Tally", ("`area` (string, natural)", "`state` (string, natural)", "`tickets` (integer, mutable)"))
STOCK = EntityText(
    "Stock",
    (
        "`stockId` (uuid, generated)",
        "`held` (integer, mutable, min 1, max 9)",
        "`spare` (integer, optional, mutable, min -5, max 5)",
        "`top` (integer, mutable, max 9)",
    ),
)
ANN: Item = {
    "userId": _id(1),
    "name": "Ann",
    "nick": "A",
    "email": "ann@x",
    "status": "NEW",
    "count": 5,
    "score": 2,
    "tags": {"old"},
    "steps": ["first"],
}
BARE: Item = {"userId": _id(1), "name": "Ann", "status": "NEW", "count": 5}
"""The same user without optional attributes."""
BOB: Item = {"userId": _id(2), "name": "Bob", "nick": "B", "status": "ACTIVE", "count": 7, "seenAt": NOW}
SHELF: Item = {"stockId": _id(1), "held": 5, "spare": 0, "top": 5}


def _user(label: str, before: Item | None, arguments: Item, after: Item | str | None) -> Call:
    """A call about one user. The text `refused` stands for a refusal."""
    return _one("User", label, before, {"userId": _id(1), **arguments}, after)


def _one(entity: str, label: str, before: Item | None, arguments: Item, after: Item | str | None) -> Call:
    expected = [(entity, after)] if isinstance(after, Mapping) else []
    return Call(label, [(entity, before)] if before else [], arguments, None if isinstance(after, str) else expected)


def _without(item: Item, *names: str) -> Item:
    return {name: value for name, value in item.items() if name not in names}


def _update(inputs: str, changes: str, *calls: Call, conditions: str = "-") -> Example:
    items = f"update User {changes}".strip()
    absent = Call("absent", [], calls[0].arguments, None)
    return Example(Row("", "User", ", ".join(filter(None, ("userId", inputs))), items, conditions), [*calls, absent])


def _partial(inputs: str, changes: str) -> Example:
    """An update with optional inputs changes only what is given."""
    return _update(
        inputs,
        changes,
        _user("both", ANN, {"name": "Eve", "nick": "E"}, {**ANN, "name": "Eve", "nick": "E"}),
        _user("only name", ANN, {"name": "Eve"}, {**ANN, "name": "Eve"}),
        _user("only nick", ANN, {"nick": "E"}, {**ANN, "nick": "E"}),
        _user("nothing", ANN, {}, "refused"),
        _user("remove nick", ANN, {"nick": None}, _without(ANN, "nick")),
        _user("remove name", ANN, {"name": None}, "refused"),
        _user("nick of one without", BARE, {"nick": "E"}, {**BARE, "nick": "E"}),
    )


def _bounded(inputs: str, changes: str, *calls: tuple[str, Item, Item | str]) -> Example:
    row = Row("", "Stock", ", ".join(filter(None, ("stockId", inputs))), f"update Stock ({changes})")
    return Example(
        row,
        [
            _one(
                "Stock",
                label,
                SHELF,
                {"stockId": _id(1), **arguments},
                after if isinstance(after, str) else {**SHELF, **after},
            )
            for label, arguments, after in calls
        ],
    )


def _stock_objects(verb: str) -> Example:
    calls = []
    for label, values, accepted in (
        ("lowest", {"held": 1, "spare": -5, "top": 0}, True),
        ("highest", {"held": 9, "spare": 5, "top": 9}, True),
        ("held below", {"held": 0}, False),
        ("held above", {"held": 10}, False),
        ("held negative", {"held": -3}, False),
        ("spare below", {"spare": -6}, False),
        ("spare above", {"spare": 6}, False),
        ("top below", {"top": -1}, False),
        ("top above", {"top": 10}, False),
    ):
        new = {**SHELF, **values}
        calls.append(_one("Stock", label, None, {"Stock": new}, new if accepted else "refused"))
    return Example(Row("", "Stock", "Stock", f"{verb} Stock"), calls)


def _taken(conditions: str, *accepted: int) -> Example:
    """`count -= n` with a condition on n: these amounts are taken away from 5, and all others are refused."""
    calls = [
        _user(str(n), ANN, {"n": n, "low": -4, "high": 4}, {**ANN, "count": 5 - n} if n in accepted else "refused")
        for n in (*accepted, *(n for n in range(-5, 6) if n not in accepted))
    ]
    inputs = ", ".join(["n", *(name for name in ("low", "high") if name in conditions)])
    return _update(inputs, "(count -= n)", *calls, conditions=conditions)


_TAKEN: dict[str, Sequence[int]] = {
    "n <= 3": (1, 2, 3),
    "n < 3": (1, 2),
    "n <> 0": (1, 2, 3, 4, 5),
    "n <> 2": (1, 3, 4, 5),
    "n <> 0; count >= n": (1, 2, 3, 4, 5),
    "n <= high": (1, 2, 3, 4),
    "n >= low": (1, 2, 3, 4, 5),
    "n > 2": (3, 4, 5),
    "n > -1": (0, 1, 2, 3, 4, 5),
    "n between -2 and 2": (-2, -1, 0, 1, 2),
    "n between low and high": (1, 2, 3, 4),
    "n = 0": (0,),
    "n in (0, 3)": (0, 3),
}
"""The amounts from -5 to 5 that a condition accepts. What gives no least value does not allow 0 or less."""


_REFUSED = (
    ("", "", "-"),
    ("", "", "count > 0"),
    ("", "(count = 1, count = 2)", "-"),
    ("", "(count += 1, count -= 1)", "-"),
    ("count", "(count, count = 2)", "-"),
    ("", "(count = 1e-3)", "-"),
    ("", "(nick = null)", "-"),
    ("", "(nick = None)", "-"),
    ("", "(count += 1)", "nick = nil"),
    ("n", "(count -= n)", "n < 0"),
    ("n", "(count -= n)", "n <= 0"),
)
"""Inputs, changes and conditions of updates that `check` has to refuse: nothing changes, or nothing can be done."""
_COUNTED: Item = {"area": "a", "state": "open", "tickets": 3}


def _refused(inputs: str, changes: str, conditions: str) -> Example:
    items = f"update User {changes}".strip()
    names = ", ".join(filter(None, ("userId", inputs)))
    return Example(Row("", "User", names, items, conditions, contradiction=True), [])


SINGLE = (
    Example(
        Row("", "User", "User", "create User"),
        [
            _one("User", "new", None, {"User": ANN}, ANN),
            _one("User", "bare", None, {"User": BARE}, BARE),
            _one("User", "taken", BARE, {"User": ANN}, "refused"),
        ],
    ),
    Example(
        Row("", "User", "User", "put User"),
        [
            _one("User", "new", None, {"User": ANN}, ANN),
            _one("User", "replaced", ANN, {"User": {**BARE, "name": "Eve"}}, {**BARE, "name": "Eve"}),
        ],
    ),
    Example(
        Row("", "User", "User", "put User", "User not exists"),
        [_one("User", "new", None, {"User": ANN}, ANN), _one("User", "taken", BARE, {"User": ANN}, "refused")],
    ),
    Example(
        Row("", "User", "userId", "delete User"),
        [_user("there", ANN, {}, None), _user("absent", None, {}, None)],
    ),
    Example(
        Row("", "User", "userId", "delete User", "User exists"),
        [_user("there", ANN, {}, None), _user("absent", None, {}, "refused")],
    ),
    _update(
        "name, nick",
        "",
        _user("both", ANN, {"name": "Eve", "nick": "E"}, {**ANN, "name": "Eve", "nick": "E"}),
        _user("of bare", BARE, {"name": "Eve", "nick": "E"}, {**BARE, "name": "Eve", "nick": "E"}),
    ),
    _update("name", "(name)", _user("set", ANN, {"name": "Eve"}, {**ANN, "name": "Eve"})),
    _update(
        "nick",
        "(nick)",
        _user("set", ANN, {"nick": "E"}, {**ANN, "nick": "E"}),
        _user("removed", ANN, {"nick": None}, _without(ANN, "nick")),
    ),
    _update("", "(status = GONE)", _user("set", ANN, {}, {**ANN, "status": "GONE"})),
    _update("", "(nick = seen)", _user("set", BARE, {}, {**BARE, "nick": "seen"})),
    _update("", "(count = 9)", _user("set", ANN, {}, {**ANN, "count": 9})),
    _update("", "(count = 1e3)", _user("set", ANN, {}, {**ANN, "count": 1000})),
    *(_refused(*texts) for texts in _REFUSED),
    Example(
        Row("", "Tally", "area, state, tickets", "upsert Tally (tickets)", "not exists"),
        [
            _one("Tally", "new", None, _COUNTED, _COUNTED),
            _one("Tally", "taken", {**_COUNTED, "tickets": 4}, _COUNTED, "refused"),
        ],
    ),
    _update("alias", "(nick = alias)", _user("set", BARE, {"alias": "E"}, {**BARE, "nick": "E"})),
    _update("", "(seenAt = now)", _user("set", ANN, {}, {**ANN, "seenAt": NOW})),
    _update("name", "(name, status = GONE)", _user("set", ANN, {"name": "E"}, {**ANN, "name": "E", "status": "GONE"})),
    _update("name", "(name; status = GONE)", _user("set", ANN, {"name": "E"}, {**ANN, "name": "E", "status": "GONE"})),
    _update("", "(count += 1)", _user("add", ANN, {}, {**ANN, "count": 6})),
    _update("", "(count -= 1)", _user("subtract", ANN, {}, {**ANN, "count": 4})),
    _update(
        "",
        "(score += 1)",
        _user("add", ANN, {}, {**ANN, "score": 3}),
        _user("begins at 0", BARE, {}, {**BARE, "score": 1}),
    ),
    _update("n", "(count += n)", _user("add", ANN, {"n": 3}, {**ANN, "count": 8})),
    _update(
        "n",
        "(count -= n)",
        _user("subtract", ANN, {"n": 3}, {**ANN, "count": 2}),
        _user("zero", ANN, {"n": 0}, "refused"),
        _user("negative", ANN, {"n": -3}, "refused"),
    ),
    _update(
        "n",
        "(count -= n)",
        _user("enough", ANN, {"n": 5}, {**ANN, "count": 0}),
        _user("too few", ANN, {"n": 6}, "refused"),
        _user("zero", ANN, {"n": 0}, "refused"),
        _user("negative", ANN, {"n": -3}, "refused"),
        conditions="count >= n",
    ),
    _update(
        "n",
        "(count -= n)",
        _user("negative", ANN, {"n": -3}, {**ANN, "count": 8}),
        _user("zero", ANN, {"n": 0}, {**ANN, "count": 5}),
        _user("too low", ANN, {"n": -6}, "refused"),
        conditions="n >= -5",
    ),
    *(_taken(condition, *amounts) for condition, amounts in _TAKEN.items()),
    _update(
        "n",
        "(count += n)",
        _user("one", ANN, {"n": 1}, {**ANN, "count": 6}),
        _user("zero", ANN, {"n": 0}, "refused"),
        conditions="n > 0",
    ),
    _update("", "(remove nick)", _user("gone", ANN, {}, _without(ANN, "nick")), _user("none", BARE, {}, BARE)),
    _update("name", "(name, remove nick)", _user("both", ANN, {"name": "E"}, {**_without(ANN, "nick"), "name": "E"})),
    _update(
        "tags",
        "(append tags)",
        _user("into", ANN, {"tags": {"new"}}, {**ANN, "tags": {"old", "new"}}),
        _user("first", BARE, {"tags": {"new"}}, {**BARE, "tags": {"new"}}),
    ),
    _update(
        "tag",
        "(append tags = tag)",
        _user("into", ANN, {"tag": "new"}, {**ANN, "tags": {"old", "new"}}),
        _user("twice", ANN, {"tag": "old"}, ANN),
        _user("first", BARE, {"tag": "new"}, {**BARE, "tags": {"new"}}),
    ),
    _update("", "(append tags = new)", _user("into", ANN, {}, {**ANN, "tags": {"old", "new"}})),
    _update(
        "step",
        "(append steps = step)",
        _user("end", ANN, {"step": "last"}, {**ANN, "steps": ["first", "last"]}),
        _user("first", BARE, {"step": "last"}, {**BARE, "steps": ["last"]}),
    ),
    _update("", "(append steps = last)", _user("end", ANN, {}, {**ANN, "steps": ["first", "last"]})),
    _partial("name?, nick?", "(name, nick)"),
    _partial("name?, nick?", "(name?, nick?)"),
    _partial("name?, nick?", ""),
    _update(
        "name, nick?",
        "(name, nick)",
        _user("name", ANN, {"name": "Eve"}, {**ANN, "name": "Eve"}),
        _user("both", ANN, {"name": "Eve", "nick": "E"}, {**ANN, "name": "Eve", "nick": "E"}),
    ),
    _update(
        "nick?, email?",
        "(nick, email)",
        _user("nick", ANN, {"nick": "E"}, {**ANN, "nick": "E"}),
        _user("email", ANN, {"email": "e@x"}, {**ANN, "email": "e@x"}),
        _user("remove both", ANN, {"nick": None, "email": None}, _without(ANN, "nick", "email")),
        conditions="status = NEW",
    ),
    Example(
        Row("", "Tally", "area, state", "upsert Tally (tickets += 1)"),
        [
            _one("Tally", "new", None, {"area": "a", "state": "open"}, {"area": "a", "state": "open", "tickets": 1}),
            _one(
                "Tally",
                "more",
                {"area": "a", "state": "open", "tickets": 4},
                {"area": "a", "state": "open"},
                {"area": "a", "state": "open", "tickets": 5},
            ),
        ],
    ),
    Example(
        Row("", "Tally", "area, state, n, limit", "upsert Tally (tickets += n)", "Tally.tickets <= limit"),
        [
            _one(
                "Tally",
                "new",
                None,
                {"area": "a", "state": "open", "n": 3, "limit": 2},
                {"area": "a", "state": "open", "tickets": 3},
            ),
            _one(
                "Tally",
                "within",
                {"area": "a", "state": "open", "tickets": 2},
                {"area": "a", "state": "open", "n": 3, "limit": 2},
                {"area": "a", "state": "open", "tickets": 5},
            ),
            _one(
                "Tally",
                "over",
                {"area": "a", "state": "open", "tickets": 3},
                {"area": "a", "state": "open", "n": 3, "limit": 2},
                "refused",
            ),
        ],
    ),
    *(
        Example(
            Row("", "Stock", "Stock", "create Stock", condition),
            [
                _one("Stock", "lowest", None, {"Stock": {**SHELF, "held": 1}}, {**SHELF, "held": 1}),
                _one("Stock", "below", None, {"Stock": {**SHELF, "held": 0}}, "refused"),
                _one("Stock", "above", None, {"Stock": {**SHELF, "held": 10}}, "refused"),
            ],
        )
        for condition in ("held > 0", "held <> 0", "held < 100", "held between 0 and 100")
    ),
    Example(Row("", "Stock", "Stock", "create Stock", "held < 1", contradiction=True), []),
    Example(
        Row("", "User", "User", "create User", "nick not exists"),
        [
            _one("User", "without", None, {"User": BARE}, BARE),
            _one("User", "with", None, {"User": {**BARE, "nick": "E"}}, "refused"),
        ],
    ),
    *(
        Example(
            Row("", "Stock", "stockId, n", f"update Stock (held {sign} n)", condition),
            [_one("Stock", str(n), SHELF, {"stockId": _id(1), "n": n}, after) for n, after in calls],
        )
        for sign, condition, calls in (
            (
                "+=",
                "n >= -50",
                ((-4, {**SHELF, "held": 1}), (4, {**SHELF, "held": 9}), (-51, "refused"), (5, "refused")),
            ),
            ("-=", "n <= 100", ((4, {**SHELF, "held": 1}), (-1, "refused"), (0, "refused"), (101, "refused"))),
            (
                "-=",
                "n >= -50",
                ((4, {**SHELF, "held": 1}), (-4, {**SHELF, "held": 9}), (-5, "refused"), (-51, "refused")),
            ),
        )
    ),
    _stock_objects("create"),
    _stock_objects("put"),
    _bounded(
        "held",
        "held",
        ("lowest", {"held": 1}, {"held": 1}),
        ("highest", {"held": 9}, {"held": 9}),
        ("below", {"held": 0}, "refused"),
        ("above", {"held": 10}, "refused"),
    ),
    _bounded(
        "spare",
        "spare",
        ("lowest", {"spare": -5}, {"spare": -5}),
        ("below", {"spare": -6}, "refused"),
        ("above", {"spare": 6}, "refused"),
    ),
    _bounded(
        "n",
        "held += n",
        ("highest", {"n": 4}, {"held": 9}),
        ("above", {"n": 5}, "refused"),
        ("below", {"n": -5}, "refused"),
    ),
    _bounded(
        "n",
        "held -= n",
        ("lowest", {"n": 4}, {"held": 1}),
        ("below", {"n": 5}, "refused"),
        ("above", {"n": -5}, "refused"),
    ),
    _bounded("n", "spare += n", ("highest", {"n": 5}, {"spare": 5}), ("above", {"n": 6}, "refused")),
    _bounded("n", "spare -= n", ("lowest", {"n": 5}, {"spare": -5}), ("below", {"n": 6}, "refused")),
    _bounded("n", "top += n", ("highest", {"n": 4}, {"top": 9}), ("above", {"n": 5}, "refused")),
    _bounded("n", "top -= n", ("lowest", {"n": 5}, {"top": 0}), ("below", {"n": 6}, "refused")),
)


def single(tenancy: Tenancy, transaction: str) -> Exam:
    """Changes of one item, beside other items."""
    bystanders = [
        ("User", BOB),
        ("Tally", {"area": "a", "state": "done", "tickets": 1}),
        ("Stock", {**SHELF, "stockId": _id(2)}),
    ]
    other = [("User", {**ANN, "count": 50}), ("Tally", {"area": "a", "state": "open", "tickets": 9}), ("Stock", SHELF)]
    reads = (
        Read("User", "userId"),
        Read("Tally", "area, state"),
        Read("Tally", "area", "Collection"),
        Read("Stock", "stockId"),
    )
    return _exam(
        tenancy, f"one item, {transaction}", (USER, TALLY, STOCK), reads, SINGLE, bystanders, other, transaction
    )


# --- Several items --------------------------------------------------------------------------------------------------

ACCOUNTS = (
    EntityText(
        "Account",
        (
            "`accountId` (uuid, generated)",
            "`available` (integer, mutable, min 0, max 1000)",
            "`status` (OPEN | FROZEN, mutable)",
        ),
    ),
    EntityText(
        "Transfer",
        (
            "`transferId` (uuid, generated)",
            "`fromAccountId` (uuid, immutable, → Account)",
            "`toAccountId` (uuid, immutable, → Account)",
            "`amount` (integer, immutable, min 1)",
        ),
    ),
    EntityText(
        "Hold",
        (
            "`holdId` (uuid, generated)",
            "`accountId` (uuid, immutable, → Account)",
            "`amount` (integer, immutable)",
            "`state` (HELD | CAPTURED, mutable)",
        ),
        "~2 per Account",
    ),
    EntityText(
        "Entry",
        (
            "`entryId` (uuid, generated)",
            "`accountId` (uuid, immutable, → Account)",
            "`amount` (integer, immutable)",
        ),
        "~2 per Account",
    ),
    EntityText("Purchase", ("`purchaseId` (uuid, generated)", "`total` (integer, mutable)")),
    EntityText(
        "Line",
        ("`purchaseId` (uuid, id, → Purchase)", "`lineNo` (integer, natural)", "`quantity` (integer, mutable)"),
        "~5 per Purchase",
    ),
    TALLY,
)


def _account(number: int, available: int, status: str = "OPEN") -> tuple[str, Item]:
    return "Account", {"accountId": _id(number), "available": available, "status": status}


def _transfer(amount: int, sender: int = 1, receiver: int = 2) -> Item:
    accounts = {"fromAccountId": _id(sender), "toAccountId": _id(receiver)}
    return {"transferId": _id(7), **accounts, "amount": amount}


def _transfers(conditions: str, each_open: bool, objects: bool) -> Example:
    """Money moves between two accounts. `each_open` says that both have to be open."""
    inputs = "Transfer" if objects else "fromAccountId, toAccountId, amount"
    names = "Transfer, Account" if objects else "Account"
    updates = (
        "update Account by fromAccountId (available -= amount); update Account by toAccountId (available += amount)"
    )
    row = Row("", names, inputs, f"create Transfer; {updates}" if objects else updates, conditions)
    calls = []
    for label, sender, receiver, amount, accepted in (
        ("to an empty account", (500, "OPEN"), (0, "OPEN"), 10, True),
        ("all of it", (500, "OPEN"), (0, "OPEN"), 500, True),
        ("too much", (500, "OPEN"), (600, "OPEN"), 501, False),
        ("receiver full", (500, "OPEN"), (995, "OPEN"), 6, False),
        ("receiver just full", (500, "OPEN"), (994, "OPEN"), 6, True),
        ("negative", (0, "OPEN"), (500, "OPEN"), -400, False),
        ("zero", (500, "OPEN"), (500, "OPEN"), 0, False),
        ("sender frozen", (500, "FROZEN"), (500, "OPEN"), 10, not each_open),
        ("receiver frozen", (500, "OPEN"), (500, "FROZEN"), 10, not each_open),
    ):
        before = [_account(1, *sender), _account(2, *receiver)]
        after: Items | None = None
        if accepted:
            after = [_account(1, sender[0] - amount, sender[1]), _account(2, receiver[0] + amount, receiver[1])]
            after = [*after, *([("Transfer", _transfer(amount))] if objects else [])]
        arguments: Item = {"fromAccountId": _id(1), "toAccountId": _id(2), "amount": amount}
        calls.append(Call(label, before, {"Transfer": _transfer(amount)} if objects else arguments, after))
    both = [_account(1, 500), _account(2, 500)]
    same: Item = {"Transfer": _transfer(10, 1, 1)}
    if not objects:
        same = {"fromAccountId": _id(1), "toAccountId": _id(1), "amount": 10}
    calls.append(Call("the same account", both, same, None))
    calls.append(Call("no receiver", both[:1], calls[0].arguments, None))
    calls.append(Call("no sender", both[1:], calls[0].arguments, None))
    return Example(row, calls)


def _captures(inputs: str, with_entry: bool) -> Example:
    """A hold is captured against its account. Hold, account and entry are of one account."""
    steps = "update Hold (state = CAPTURED); update Account (available -= amount)"
    row = Row(
        "",
        "Hold, Account, Entry" if with_entry else "Hold, Account",
        inputs,
        f"{steps}; create Entry" if with_entry else steps,
        "Hold.state = HELD; Hold.amount = amount",
    )
    calls = []
    for label, hold_of, account, entry_of, amount, state, accepted in (
        ("all of one", 1, 1, 1, 5, "HELD", True),
        ("hold of another", 2, 1, 1, 5, "HELD", False),
        ("entry of another", 1, 1, 2, 5, "HELD", False),
        ("another account", 1, 2, 1, 5, "HELD", False),
        ("hold alone", 1, 2, 2, 5, "HELD", False),
        ("captured", 1, 1, 1, 5, "CAPTURED", False),
        ("another amount", 1, 1, 1, 6, "HELD", False),
    ):
        if not with_entry and entry_of != account:
            continue
        hold = {"holdId": _id(3), "accountId": _id(hold_of), "amount": 5, "state": state}
        entry = {"entryId": _id(4), "accountId": _id(entry_of), "amount": amount}
        before = [_account(1, 500), _account(2, 500), ("Hold", hold)]
        after: Items | None = None
        if accepted:
            after = [_account(1, 495), _account(2, 500), ("Hold", {**hold, "state": "CAPTURED"})]
            after = [*after, *([("Entry", entry)] if with_entry else [])]
        arguments: dict[str, Any] = {"holdId": _id(3), "accountId": _id(account), "amount": amount}
        if with_entry:
            arguments["Entry"] = entry
        needs = "accountId" if label == "another account" else ""
        calls.append(Call(label, before, arguments, after, needs))
    return Example(row, calls)


def _bare_hold() -> Example:
    """`update Hold` sets the state. The account's id says which account it is, and that the hold is one of it."""
    row = Row("", "Hold, Account", "holdId, accountId, state", "update Hold; update Account (available += 1)")
    calls = []
    for label, hold_of, account, accepted in (("its account", 1, 1, True), ("another account", 1, 2, False)):
        hold = {"holdId": _id(3), "accountId": _id(hold_of), "amount": 5, "state": "HELD"}
        after = [_account(1, 501), _account(2, 500), ("Hold", {**hold, "state": "CAPTURED"})]
        arguments = {"holdId": _id(3), "accountId": _id(account), "state": "CAPTURED"}
        before = [_account(1, 500), _account(2, 500), ("Hold", hold)]
        calls.append(Call(label, before, arguments, after if accepted else None))
    return Example(row, calls)


def _lines(purchase: int, *numbers: int) -> list[Item]:
    return [{"purchaseId": _id(purchase), "lineNo": number, "quantity": 1} for number in numbers]


def _purchases() -> Example:
    purchase = {"purchaseId": _id(1), "total": 3}
    calls = []
    for label, lines, stored, accepted in (
        ("several", _lines(1, 1, 2, 3), [], True),
        ("one", _lines(1, 1), [], True),
        ("none", [], [], True),
        ("a line is taken", _lines(1, 1, 2), _lines(1, 2), False),
        ("a line of another", [*_lines(1, 1), *_lines(2, 7)], [], False),
    ):
        before = [("Line", line) for line in stored]
        after = [("Purchase", purchase), *(("Line", line) for line in lines)]
        calls.append(Call(label, before, {"Purchase": purchase, "Line[]": lines}, after if accepted else None))
    calls.append(Call("taken", [("Purchase", purchase)], {"Purchase": purchase, "Line[]": _lines(1, 1)}, None))
    return Example(Row("", "Purchase, Line", "Purchase, Line[]", "create Purchase; create Line[]"), calls)


def _tallies() -> Example:
    def tally(state: str, tickets: int) -> tuple[str, Item]:
        return "Tally", {"area": "a", "state": state, "tickets": tickets}

    items = "update Tally by area + oldState (tickets -= 1); update Tally by area + newState (tickets += 1)"
    arguments = {"area": "a", "oldState": "open", "newState": "shut"}
    return Example(
        Row("", "Tally", "area, oldState, newState", items),
        [
            Call("moved", [tally("open", 4), tally("shut", 0)], arguments, [tally("open", 3), tally("shut", 1)]),
            Call("no old one", [tally("shut", 0)], arguments, None),
            Call("no new one", [tally("open", 4)], arguments, None),
        ],
    )


SEVERAL = (
    _transfers("fromAccountId.available >= amount", each_open=False, objects=True),
    _transfers("-", each_open=False, objects=True),
    _transfers("Account.status = OPEN", each_open=True, objects=True),
    _transfers("Account.status = OPEN; fromAccountId.available >= amount", each_open=True, objects=True),
    _transfers("fromAccountId.status = OPEN; toAccountId.status = OPEN", each_open=True, objects=True),
    _transfers("fromAccountId.available >= amount", each_open=False, objects=False),
    _transfers("fromAccountId.available >= amount; amount <= 501", each_open=False, objects=False),
    _transfers("amount <> 0", each_open=False, objects=False),
    _transfers("Account.status = OPEN; fromAccountId.available >= amount", each_open=True, objects=False),
    _captures("holdId, accountId, amount", with_entry=False),
    _captures("holdId, accountId, amount, Entry", with_entry=True),
    _captures("holdId, Entry", with_entry=True),
    _bare_hold(),
    _purchases(),
    _tallies(),
)


def several(tenancy: Tenancy) -> Exam:
    """Changes of several items, beside other items."""
    bystanders = [_account(9, 300), ("Line", _lines(2, 1)[0]), ("Purchase", {"purchaseId": _id(2), "total": 1})]
    other = [_account(1, 300), _account(2, 300), ("Line", _lines(1, 1)[0])]
    reads = (
        Read("Account", "accountId"),
        Read("Transfer", "transferId"),
        Read("Hold", "holdId"),
        Read("Entry", "accountId", "Collection"),
        Read("Purchase, Line", "purchaseId", "Collection"),
        Read("Tally", "area, state"),
    )
    return _exam(tenancy, "several items", ACCOUNTS, reads, SEVERAL, bystanders, other, "Yes")


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    found: list[Plan] = []
    for tenancy in tenancies:
        found.append(Plan("one item, No", tenancy, partial(single, tenancy, "No")))
        found.append(Plan("one item, Yes", tenancy, partial(single, tenancy, "Yes")))
        found.append(Plan("several items", tenancy, partial(several, tenancy)))
    return found


def _exam(
    tenancy: Tenancy,
    name: str,
    entities: Sequence[EntityText],
    reads: Sequence[Read],
    examples: Sequence[Example],
    bystanders: Items,
    other: Items,
    transaction: str,
) -> Exam:
    rows: list[Row] = []
    cases: list[Case] = []
    for number, example in enumerate(examples):
        old = example.row
        row = replace(old, name=f"change {number}", transaction=transaction)
        rows.append(row)
        for call in example.calls:
            before = for_tenants(tenancy, [*call.before, *bystanders], other)
            after = None if call.after is None else for_tenants(tenancy, [*call.after, *bystanders], other)
            # Values that no item may have are refused before anything is sent.
            cases.append(
                Case(row, call.label, before, _owned(tenancy, call.arguments), after, (ValueError,), call.needs)
            )
    return Exam(name, DocumentText(tenancy, entities, reads, rows), cases)


def _owned(tenancy: Tenancy, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments; objects belong to the acting tenant."""
    owned: dict[str, Any] = {}
    for name, value in arguments.items():
        if name.istitle() and isinstance(value, Mapping):
            owned[name] = for_tenants(tenancy, [(name, value)], ())[0][1]
        elif name.endswith("[]") and name[0].isupper():
            owned[name] = [for_tenants(tenancy, [(name, item)], ())[0][1] for item in value]
        else:
            owned[name] = value
    return owned
