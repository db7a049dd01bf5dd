"""Faults of the network: every call ends with the right result or exception, and is never applied twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from _pytest.mark import ParameterSet
from tests.table.both import AsyncAsSync
from tests.table.faulty_proxy import (
    PATIENCE,
    Fault,
    FaultyProxy,
    expired,
    failed_after,
    half,
    lost,
    never_passed_on,
    passes,
    refused,
    slow,
)

from prejoin import (
    AlreadyExists,
    AsyncClient,
    Client,
    Entity,
    Key,
    NotUnique,
    Schema,
    TransactionCancelled,
    Unique,
    Unprocessed,
    add,
)
from prejoin.engine import Embedded
from prejoin.engine.http import Server
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import AnswerLost, Credentials, Endpoint, OutcomeUnknown, Retries


@dataclass(frozen=True)
class Account:
    account_id: str
    balance: int = 0


@dataclass(frozen=True)
class Entry:
    account_id: str
    number: int
    text: str = ""


@dataclass(frozen=True)
class Member:
    name: str
    email: str


SCHEMA = Schema(
    Entity(Account, Key("ACCOUNT#{account_id}", "ACCOUNT")),
    Entity(Entry, Key("ACCOUNT#{account_id}", "ENTRY#{number:04d}")),
    Entity(Member, Key("MEMBER#{name}", "MEMBER"), patterns=[Unique("email")]),
)
KEYS = Credentials("OLD", "secret")
QUICK = Retries(attempts=4, base=0.002, longest=0.01)
ENTRIES = [Entry("1", number, "x" * 50) for number in range(30)]


@dataclass
class Bank:
    """A client behind a faulty proxy, and one for the same table without it."""

    db: Client
    proxy: FaultyProxy
    direct: Client

    def balance(self, account_id: str = "1") -> int | None:
        account = self.direct.get(Account, account_id=account_id)
        return account.balance if account else None

    @property
    def everything(self) -> set[Any]:
        return {one for page in self.direct.everything() for one in page}


@pytest.fixture(params=["sync", "async"])
def open_bank(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bank]]:
    monkeypatch.setattr("prejoin.table.conversation.LONGEST_PAUSE", 0.01)
    with (
        asyncio.Runner() as runner,
        Embedded() as engine,
        Server(engine, port=0, in_memory=True) as url,
        FaultyProxy(upstream=url) as proxy,
    ):
        direct = Client(SCHEMA, "bank", engine)
        direct.create_table()
        direct.insert(Account("1", 10))
        opened: list[Endpoint] = []

        def start(**options: Any) -> Bank:
            usual = {"timeout": 30, "retries": QUICK, "credentials": KEYS, "proxy": False}
            endpoint = Endpoint(proxy.url, **{**usual, **options})
            opened.append(endpoint)
            if request.param == "sync":
                return Bank(Client(SCHEMA, direct.table, endpoint), proxy, direct)
            awaited = AsyncAsSync(AsyncClient(SCHEMA, direct.table, endpoint), runner.run)
            return Bank(cast("Client", awaited), proxy, direct)

        yield start
        for endpoint in opened:
            runner.run(endpoint.close_async())


@pytest.fixture
def bank(request: pytest.FixtureRequest, open_bank: Callable[..., Bank]) -> Bank:
    """Its client gives up soon only if the fault of the test is `slow`: on a busy machine any response may be late."""
    is_slow = hasattr(request.node, "callspec") and slow in request.node.callspec.params.values()
    return open_bank(timeout=PATIENCE) if is_slow else open_bank()


# --- Writes, each with the items after it was applied once ----------------------------------------------------------


def inserts(db: Client) -> None:
    db.insert(Account("2", 5))


def puts(db: Client) -> None:
    db.put(Account("1", 11))


def deletes(db: Client) -> None:
    db.delete(Account, account_id="1")


def adds(db: Client) -> None:
    with db.update(Account, account_id="1") as account:
        account.balance = add(account.balance, 1)  # type: ignore[misc]


def transfers(db: Client, token: str | None = None) -> None:
    with db.transaction(token) as tx:
        with tx.update(Account, account_id="1") as account:
            account.balance = add(account.balance, 1)  # type: ignore[misc]
        tx.insert(Entry("1", 0))


def transfers_with_a_token(db: Client) -> None:
    transfers(db, "transfer-1")


def joins(db: Client) -> None:
    db.insert(Member("ann", "ann@b.com"))


def puts_many(db: Client) -> None:
    assert db.put_many(ENTRIES) == len(ENTRIES)


Write = Callable[[Client], None]
BEFORE: set[Any] = {Account("1", 10)}
AFTER: dict[Write, set[Any]] = {
    inserts: {Account("1", 10), Account("2", 5)},
    adds: {Account("1", 11)},
    puts: {Account("1", 11)},
    deletes: set(),
    transfers: {Account("1", 11), Entry("1", 0)},
    transfers_with_a_token: {Account("1", 11), Entry("1", 0)},
    joins: {Account("1", 10), Member("ann", "ann@b.com")},
    puts_many: {Account("1", 10), *ENTRIES},
}
NOT_TWICE: list[Write] = [inserts, adds]
"""Writes that must not be repeated if their outcome is unknown."""
TWICE = [write for write in AFTER if write not in NOT_TWICE]

DONE: dict[str, Fault] = {
    "reset before the answer": lost(0),
    "reset in the middle of the answer": lost(0.5),
    "reset before the last byte": lost(0.99),
    "too slow": slow,
    "a server error afterwards": failed_after,
}
NOT_DONE: dict[str, Fault] = {
    "reset before it was done": never_passed_on,
    "a server error before": refused("InternalServerError", 500),
    "no service": refused("ServiceUnavailable", 503),
}
LATER = {
    "throttled": refused("ThrottlingException"),
    "too much": refused("ProvisionedThroughputExceededException"),
    "too many": refused("RequestLimitExceeded"),
}


def named(write: Write) -> str:
    return write.__name__


def lost_ones(writes: list[Write]) -> list[ParameterSet]:
    """Each write with each way to lose its response; the slow one only with the first write, as it is the same for all."""
    return [
        pytest.param(write, fault, id=f"{named(write)}: {name}")
        for write in writes
        for name, fault in {**DONE, **NOT_DONE}.items()
        if write is writes[0] or fault is not slow
    ]


@pytest.mark.parametrize(("write", "fault"), lost_ones(TWICE))
def test_repeatable_write_is_repeated_and_done_once(bank: Bank, write: Write, fault: Fault) -> None:
    bank.proxy.then(fault)
    write(bank.db)
    assert bank.everything == AFTER[write]
    assert bank.proxy.operations[0] == bank.proxy.operations[1]
    assert bank.proxy.requests[0].body == bank.proxy.requests[1].body, "with the same token, where it has one"


@pytest.mark.parametrize(("write", "fault"), lost_ones(NOT_TWICE))
def test_unrepeatable_write_raises_outcome_unknown(bank: Bank, write: Write, fault: Fault) -> None:
    bank.proxy.then(fault)
    with pytest.raises(OutcomeUnknown, match="was sent and no response says whether it was applied"):
        write(bank.db)
    assert bank.everything == (AFTER[write] if fault in DONE.values() else BEFORE)
    assert len(bank.proxy.requests) == 1


@pytest.mark.parametrize("fault", LATER.values(), ids=LATER)
@pytest.mark.parametrize("write", AFTER, ids=named)
def test_temporary_refusal_is_retried(bank: Bank, write: Write, fault: Fault) -> None:
    bank.proxy.then(fault, fault)
    write(bank.db)
    assert bank.everything == AFTER[write]
    assert len(set(bank.proxy.operations[:3])) == 1


@pytest.mark.parametrize("write", [write for write in AFTER if write is not puts_many], ids=named)
def test_repeated_refusal_raises_the_error_of_dynamodb(bank: Bank, write: Write) -> None:
    bank.proxy.then(ever=refused("ThrottlingException"))
    with pytest.raises(DynamoDBError, match="ThrottlingException"):
        write(bank.db)
    assert bank.everything == BEFORE


@pytest.mark.parametrize("write", [write for write in TWICE if write is not puts_many], ids=named)
def test_a_write_that_never_gets_an_answer_is_unknown_and_done_once(bank: Bank, write: Write) -> None:
    bank.proxy.then(ever=lost(0.5))
    with pytest.raises(OutcomeUnknown, match="was sent 4 times"):
        write(bank.db)
    assert bank.everything == AFTER[write]


def test_a_lost_transaction_that_cannot_be_done_says_why(bank: Bank) -> None:
    bank.direct.insert(Entry("1", 0))
    for fault in (lost(0.5), never_passed_on):
        bank.proxy.then(fault)
        with pytest.raises(TransactionCancelled) as cancelled:
            transfers(bank.db)
        (failure,) = cancelled.value.failures
        assert isinstance(failure, AlreadyExists)
    assert bank.balance() == 10


def test_unique_insert_after_a_lost_answer_does_not_raise_already_exists(bank: Bank) -> None:
    bank.proxy.then(lost(0), lost(0.5))
    assert bank.db.insert(Member("ann", "ann@b.com")) == Member("ann", "ann@b.com")
    bank.proxy.then(lost(0))
    with pytest.raises(NotUnique):
        bank.db.insert(Member("bob", "ann@b.com"))
    bank.proxy.then(lost(0))
    with pytest.raises(AlreadyExists):
        bank.db.insert(Member("ann", "other@b.com"))


def test_transaction_repeated_with_its_token_is_done_once(bank: Bank) -> None:
    bank.proxy.then(ever=lost(0))
    with pytest.raises(OutcomeUnknown):
        transfers(bank.db, "monday")
    bank.proxy.then()
    transfers(bank.db, "monday")
    assert bank.balance() == 11
    with pytest.raises(TransactionCancelled):
        transfers(bank.db, "tuesday")


def test_transactions_have_tokens_of_their_own(bank: Bank) -> None:
    for number in range(3):
        bank.proxy.then(lost(0))
        with bank.db.transaction() as tx:
            with tx.update(Account, account_id="1") as account:
                account.balance = add(account.balance, 1)  # type: ignore[misc]
            tx.insert(Entry("1", number))
    assert bank.balance() == 13, "each once"


def test_a_write_that_reads_first_is_right_though_the_read_was_lost(bank: Bank) -> None:
    bank.proxy.then(lost(0.5), lost(0.5))
    bank.db.insert(Member("ann", "a@b.com"))
    bank.proxy.then(lost(0.5))
    bank.db.delete(Member, name="ann", read=True)
    first, second, *writes = bank.proxy.operations
    # A transaction has a token, so a slow machine, where the response comes too late, repeats it.
    assert (first, second, set(writes)) == ("GetItem", "GetItem", {"TransactWriteItems"})
    assert bank.everything == BEFORE
    bank.db.insert(Member("bob", "a@b.com"))


# --- Batches --------------------------------------------------------------------------------------------------------


def test_unprocessed_and_lost_puts_are_sent_again(open_bank: Callable[..., Bank]) -> None:
    bank = open_bank(timeout=PATIENCE)
    bank.proxy.then(half, lost(0.5), half, refused("ThrottlingException"), slow)
    assert bank.db.put_many(ENTRIES) == len(ENTRIES)
    assert bank.everything == {*BEFORE, *ENTRIES}
    bank.proxy.then(half, lost(0))
    assert bank.db.delete_many(Entry, ENTRIES[:28]) == 28
    assert bank.everything == {*BEFORE, *ENTRIES[28:]}


def test_batch_without_progress_raises_with_the_rest(bank: Bank) -> None:
    bank.proxy.then(half, ever=refused("ProvisionedThroughputExceededException"))
    with pytest.raises(Unprocessed, match="12 objects were written") as stopped:
        bank.db.put_many(ENTRIES)
    rest = list(stopped.value.rest)
    assert bank.everything == {*BEFORE, *ENTRIES} - {*rest}
    bank.proxy.then()
    assert bank.db.put_many(rest) == len(ENTRIES) - 12


def test_batch_puts_without_a_response_are_unknown(bank: Bank) -> None:
    bank.proxy.then(ever=lost(0))
    with pytest.raises(OutcomeUnknown):
        bank.db.put_many(ENTRIES)


def test_many_reads_are_whole_and_in_order(bank: Bank) -> None:
    bank.direct.put_many(ENTRIES)
    keys = [{"account_id": "1", "number": number} for number in (29, 3, 99, 0, 17)]
    expected = [ENTRIES[29], ENTRIES[3], None, ENTRIES[0], ENTRIES[17]]
    bank.proxy.then(half, lost(0.5), half, never_passed_on, refused("ThrottlingException"))
    assert bank.db.get_many(Entry, keys) == expected


# --- Reads ----------------------------------------------------------------------------------------------------------

READS: dict[str, Fault] = {**DONE, **NOT_DONE, **LATER}


@pytest.mark.parametrize("fault", READS.values(), ids=READS)
def test_lost_read_is_repeated(bank: Bank, fault: Fault) -> None:
    bank.proxy.then(fault)
    assert bank.db.get(Account, account_id="1") == Account("1", 10)
    assert bank.proxy.operations == ["GetItem"] * 2


@pytest.mark.parametrize("fault", READS.values(), ids=READS)
def test_a_query_in_pages_has_each_item_once_and_in_order(bank: Bank, fault: Fault) -> None:
    bank.direct.put_many(ENTRIES)
    bank.proxy.then(passes, fault, lost(0.3))
    first = bank.db.query(Entry, account_id="1", limit=8)
    rest = bank.db.query(Entry, account_id="1", after=first.cursor)
    assert [*first, *rest] == ENTRIES
    bank.proxy.then(passes, fault, never_passed_on, passes, lost(0.9))
    assert [entry for page in bank.db.pages(Entry, account_id="1", size=11) for entry in page] == ENTRIES
    assert len(bank.proxy.requests) == 3 + 3


def test_a_read_that_is_never_answered_changed_nothing(bank: Bank) -> None:
    bank.proxy.then(ever=lost(0.5))
    with pytest.raises(AnswerLost) as failed:
        bank.db.query(Entry, account_id="1")
    assert not isinstance(failed.value, OutcomeUnknown)
    with pytest.raises(AnswerLost):
        bank.db.get_many(Entry, [{"account_id": "1", "number": 1}])


# --- Credentials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", AFTER, ids=named)
def test_expired_credentials_are_renewed_and_the_write_is_done_once(
    open_bank: Callable[..., Bank], write: Write
) -> None:
    source = iter([KEYS, Credentials("NEW", "secret")])
    bank = open_bank(credentials=lambda: next(source))
    bank.proxy.then(ever=expired("OLD"))
    write(bank.db)
    assert bank.everything == AFTER[write]
    assert bank.proxy.operations[0] == bank.proxy.operations[1]


@pytest.mark.parametrize("write", AFTER, ids=named)
def test_expired_credentials_raise_and_write_nothing(bank: Bank, write: Write) -> None:
    bank.proxy.then(ever=expired("OLD"))
    with pytest.raises(DynamoDBError, match="ExpiredTokenException"):
        write(bank.db)
    assert bank.everything == BEFORE
