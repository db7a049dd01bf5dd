"""An application on the ledger: the classes of its rows, with an outbox."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, sessionmaker

from prejoin import outbox_table, record_changes


class Base(DeclarativeBase):
    pass


OUTBOX = outbox_table(Base.metadata)
tagged = sa.Table(
    "tagged",
    Base.metadata,
    sa.Column("customer_id", sa.ForeignKey("customers.id"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("tags.id"), primary_key=True),
)


class Tag(Base):
    __tablename__ = "tags"
    id: Mapped[int] = mapped_column(primary_key=True)


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    name: Mapped[str]
    tags: Mapped[list[Tag]] = relationship(secondary=tagged)


class Invoice(Base):
    __tablename__ = "invoices"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int]
    state: Mapped[str]
    total: Mapped[float] = mapped_column(sa.Numeric(12, 2))
    lines: Mapped[list[InvoiceLine]] = relationship(
        primaryjoin="Invoice.id == foreign(InvoiceLine.invoice_id)", cascade="all, delete-orphan"
    )


class InvoiceLine(Base):
    __tablename__ = "invoice_lines"
    id: Mapped[int] = mapped_column(primary_key=True)
    invoice_id: Mapped[int]
    position: Mapped[int]
    label: Mapped[str]


class Seat(Base):
    __tablename__ = "seats"
    __table_args__ = (sa.UniqueConstraint("room", "number"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    room: Mapped[str]
    number: Mapped[int]
    holder: Mapped[str | None]


def application_on(url: str) -> sessionmaker[Session]:
    """The sessions of the application of a ledger."""
    made = sessionmaker(sa.create_engine(url))
    record_changes(made)
    return made


def create_ledger(url: str) -> None:
    """Creates a small ledger by its application."""
    made = application_on(url)
    Base.metadata.create_all(made.kw["bind"])
    with made.begin() as db:
        for n in range(1, 11):
            db.add(Customer(id=n, email=f"c{n}@x.org", name=f"Customer {n}"))
            db.add(Invoice(id=n, customer_id=n, state="OPEN", total=1))
            db.add(InvoiceLine(id=n, invoice_id=n, position=1, label="first"))
            db.add(Seat(id=n, room=f"R{n % 3}", number=n))
            db.add(Tag(id=n))
    made.kw["bind"].dispose()
