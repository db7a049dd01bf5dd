"""`record_changes`: an application records the rows that it changes, for `prejoin migrate follow`.

For databases whose log may not be read, and for SQLite. Sessions of SQLAlchemy write the changed rows into a table, the
outbox, in the transaction that changes them. So a change is recorded if and only if it is committed. The follower reads
the rows themselves, and deletes from the outbox what it has read.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Mapper, ORMExecuteState, Session, object_mapper, object_session

from prejoin.errors import PrejoinError
from prejoin.migrate.load.state import encode_values

NAME = "prejoin_outbox"
_LARGE = (sa.LargeBinary, sa.JSON)
_RECORDING, _PERMISSIONS, _TRANSACTION = (f"prejoin_outbox_{name}" for name in ("recording", "allowed", "transaction"))
Image = Mapping[str, Any]
"""The values of a row, by column. Large ones are left out: they make up no key."""


class NotRecordedError(PrejoinError):
    """A statement changes rows without the session knowing which: the outbox would miss them."""


def outbox_table(metadata: sa.MetaData) -> sa.Table:
    """The outbox as a table of the application's metadata, so that its migrations create it."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Table(
        NAME,
        metadata,
        sa.Column("id", number, primary_key=True, autoincrement=True),
        sa.Column("transaction_id", sa.String(32), nullable=False),
        sa.Column("table_name", sa.String(200), nullable=False),
        sa.Column("images", sa.Text, nullable=False),
        keep_existing=True,
    )


def record_changes(sessions: Any) -> None:
    """Makes sessions record the rows that they change. `sessions` is a `sessionmaker`, or a class of sessions.

    Statements that change rows without loading them (`session.execute(update(User)…)`) raise a `NotRecordedError`: pass
    the rows to `record_rows` first, or change objects. Statements of plain connections, triggers and cascades of the
    database are not seen.
    """
    event.listen(sessions, "before_flush", _before_flush)
    event.listen(sessions, "after_flush", _after_flush)
    event.listen(sessions, "do_orm_execute", _refuse_bulk)
    # A flush also changes rows that the session does not list as changed: orphans, and foreign keys of related objects.
    for name, record in (
        ("before_update", _before),
        ("before_delete", _before),
        ("after_insert", _after),
        ("after_update", _after),
    ):
        if not event.contains(Mapper, name, record):
            event.listen(Mapper, name, record)


def record_rows(session: Session, table: str, rows: Iterable[Image]) -> None:
    """Records rows in the transaction of the session, and allows its next statement that changes the table.

    A row is given by the values of its columns. Give it as it is before the statement; and again as it is afterwards,
    if the statement changes columns that keys are made of.
    """
    session.info.setdefault(_PERMISSIONS, set()).add(table)
    _record(session, [(table, row) for row in rows])


def _before(mapper: Mapper[Any], connection: Connection, instance: object) -> None:
    _record_stored(mapper, connection, instance, sa.inspect(instance).identity or ())


def _after(mapper: Mapper[Any], connection: Connection, instance: object) -> None:
    _record_stored(mapper, connection, instance, mapper.primary_key_from_instance(instance))


def _record_stored(mapper: Mapper[Any], connection: Connection, instance: object, key: Sequence[Any]) -> None:
    """Records the rows of an object as they are stored: the session may not know old values, nor generated ones.

    They are locked, as the flush does later anyway: else another transaction could change them in between, unseen.
    """
    session = object_session(instance)
    if session is None or _RECORDING not in session.info:
        return
    for table in mapper.tables:
        columns = [column for column in table.columns if not isinstance(column.type, _LARGE)]
        has_key = sa.and_(*(column == value for column, value in zip(table.primary_key, key, strict=True)))
        row = connection.execute(sa.select(*columns).where(has_key).with_for_update()).first()
        if row is not None:
            _record(session, [(_name(table), dict(row._mapping))])


def _before_flush(session: Session, context: object, instances: object) -> None:
    session.info[_RECORDING] = True
    links: list[tuple[str, Image]] = []
    for instance in session.deleted:
        links += _links(object_mapper(instance), instance, is_deleted=True)
    _record(session, links)


def _after_flush(session: Session, context: object) -> None:
    links: list[tuple[str, Image]] = []
    for instance in (*session.new, *session.dirty):
        links += _links(object_mapper(instance), instance)
    _record(session, links)


def _record(session: Session, images: Iterable[tuple[str, Image]]) -> None:
    """Writes images of rows, by table, into the outbox, with a number of their transaction."""
    # The number is new in each transaction of the session, also after a rollback.
    number = session.info.get(_TRANSACTION)
    transaction = session.get_transaction()
    if number is None or number[0] is not transaction:
        number = session.info[_TRANSACTION] = (transaction, uuid.uuid4().hex)
    rows = [
        {"transaction_id": number[1], "table_name": table, "images": encode_values(image)}
        for table, image in images
        if table != NAME
    ]
    if rows:
        session.connection().execute(sa.insert(outbox_table(sa.MetaData())), rows)


def _name(table: sa.FromClause) -> str:
    return str(getattr(table, "fullname", table))


def _links(mapper: Mapper[Any], instance: object, is_deleted: bool = False) -> Iterator[tuple[str, Image]]:
    """The rows of N:N tables that the session inserts and deletes without objects of their own."""
    for relation in mapper.relationships:
        if relation.secondary is None or relation.viewonly:
            continue
        if is_deleted:
            getattr(instance, relation.key)  # loads it: all of its links are going to be deleted
        history = sa.inspect(instance).attrs[relation.key].history
        linked_instances = [*(history.added or ()), *(history.deleted or ())]
        if is_deleted:
            linked_instances += history.unchanged or ()
        for linked_instance in linked_instances:
            image = {}
            for column, link_column in relation.synchronize_pairs:
                image[str(link_column.key)] = _value(instance, column)
            for column, link_column in relation.secondary_synchronize_pairs or ():
                image[str(link_column.key)] = _value(linked_instance, column)
            yield _name(relation.secondary), image


def _value(instance: object, column: Any) -> Any:
    return getattr(instance, object_mapper(instance).get_property_by_column(column).key)


def _refuse_bulk(state: ORMExecuteState) -> None:
    if not (state.is_insert or state.is_update or state.is_delete):
        return
    table = _name(state.statement.table)  # type: ignore[attr-defined]
    permitted_tables: set[str] = state.session.info.get(_PERMISSIONS, set())
    if table not in permitted_tables:
        message = f"a statement changes rows of {table} that the session has not loaded, so the outbox would miss them"
        raise NotRecordedError(f"{message}. Change objects, or call record_rows(session, {table!r}, rows) first")
    permitted_tables.discard(table)  # `record_rows` allows one statement
