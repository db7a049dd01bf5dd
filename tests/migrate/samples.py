"""Well-known sample schemas with typical queries, filled with any number of rows.

The schemas are written from their published descriptions; the rows are made up, with keys that fit.
"""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sample:
    name: str
    schema: str
    queries: str


CHINOOK = Sample(
    "chinook",
    """
CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title NVARCHAR(160) NOT NULL, ArtistId INTEGER NOT NULL REFERENCES Artist(ArtistId));
CREATE TABLE Genre (GenreId INTEGER PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE MediaType (MediaTypeId INTEGER PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE Playlist (PlaylistId INTEGER PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE Track (TrackId INTEGER PRIMARY KEY, Name NVARCHAR(200) NOT NULL, AlbumId INTEGER REFERENCES Album(AlbumId),
    MediaTypeId INTEGER NOT NULL REFERENCES MediaType(MediaTypeId), GenreId INTEGER REFERENCES Genre(GenreId),
    Composer NVARCHAR(220), Milliseconds INTEGER NOT NULL, Bytes INTEGER, UnitPrice NUMERIC(10,2) NOT NULL);
CREATE TABLE PlaylistTrack (PlaylistId INTEGER NOT NULL REFERENCES Playlist(PlaylistId),
    TrackId INTEGER NOT NULL REFERENCES Track(TrackId), PRIMARY KEY (PlaylistId, TrackId));
CREATE TABLE Employee (EmployeeId INTEGER PRIMARY KEY, LastName NVARCHAR(20) NOT NULL, FirstName NVARCHAR(20) NOT NULL,
    ReportsTo INTEGER REFERENCES Employee(EmployeeId), HireDate DATETIME, Email NVARCHAR(60));
CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, FirstName NVARCHAR(40) NOT NULL, LastName NVARCHAR(20) NOT NULL,
    Country NVARCHAR(40), Email NVARCHAR(60) NOT NULL, SupportRepId INTEGER REFERENCES Employee(EmployeeId));
CREATE TABLE Invoice (InvoiceId INTEGER PRIMARY KEY, CustomerId INTEGER NOT NULL REFERENCES Customer(CustomerId),
    InvoiceDate DATETIME NOT NULL, BillingCountry NVARCHAR(40), Total NUMERIC(10,2) NOT NULL);
CREATE TABLE InvoiceLine (InvoiceLineId INTEGER PRIMARY KEY, InvoiceId INTEGER NOT NULL REFERENCES Invoice(InvoiceId),
    TrackId INTEGER NOT NULL REFERENCES Track(TrackId), UnitPrice NUMERIC(10,2) NOT NULL, Quantity INTEGER NOT NULL);
""",
    """
SELECT * FROM Artist WHERE ArtistId = ?;
SELECT * FROM Album WHERE ArtistId = ? ORDER BY Title;
SELECT * FROM Track WHERE AlbumId = ?;
SELECT t.*, g.Name FROM Track t JOIN Genre g ON g.GenreId = t.GenreId WHERE t.AlbumId = ?;
SELECT t.* FROM PlaylistTrack pt JOIN Track t ON t.TrackId = pt.TrackId WHERE pt.PlaylistId = ?;
SELECT * FROM Customer WHERE CustomerId = ?;
SELECT * FROM Customer WHERE SupportRepId = ?;
SELECT * FROM Invoice WHERE CustomerId = ? ORDER BY InvoiceDate DESC LIMIT 10;
SELECT i.*, l.* FROM Invoice i JOIN InvoiceLine l ON l.InvoiceId = i.InvoiceId WHERE i.InvoiceId = ?;
SELECT BillingCountry, sum(Total) FROM Invoice GROUP BY BillingCountry;
SELECT * FROM Employee WHERE ReportsTo = ?;
INSERT INTO Invoice (CustomerId, InvoiceDate, BillingCountry, Total) VALUES (?, ?, ?, ?);
INSERT INTO InvoiceLine (InvoiceId, TrackId, UnitPrice, Quantity) VALUES (?, ?, ?, ?);
""",
)

NORTHWIND = Sample(
    "northwind",
    """
CREATE TABLE Categories (CategoryID INTEGER PRIMARY KEY, CategoryName TEXT NOT NULL, Description TEXT, Picture BLOB);
CREATE TABLE Customers (CustomerID CHAR(5) PRIMARY KEY, CompanyName TEXT NOT NULL, City TEXT, Country TEXT, Phone TEXT);
CREATE TABLE Employees (EmployeeID INTEGER PRIMARY KEY, LastName TEXT NOT NULL, BirthDate DATE, Photo BLOB,
    ReportsTo INTEGER REFERENCES Employees(EmployeeID));
CREATE TABLE Region (RegionID INTEGER PRIMARY KEY, RegionDescription TEXT NOT NULL);
CREATE TABLE Territories (TerritoryID VARCHAR(20) PRIMARY KEY, TerritoryDescription TEXT NOT NULL,
    RegionID INTEGER NOT NULL REFERENCES Region(RegionID));
CREATE TABLE EmployeeTerritories (EmployeeID INTEGER NOT NULL REFERENCES Employees(EmployeeID),
    TerritoryID VARCHAR(20) NOT NULL REFERENCES Territories(TerritoryID), PRIMARY KEY (EmployeeID, TerritoryID));
CREATE TABLE Suppliers (SupplierID INTEGER PRIMARY KEY, CompanyName TEXT NOT NULL, Country TEXT);
CREATE TABLE Shippers (ShipperID INTEGER PRIMARY KEY, CompanyName TEXT NOT NULL);
CREATE TABLE Products (ProductID INTEGER PRIMARY KEY, ProductName TEXT NOT NULL,
    SupplierID INTEGER REFERENCES Suppliers(SupplierID), CategoryID INTEGER REFERENCES Categories(CategoryID),
    UnitPrice NUMERIC NOT NULL, UnitsInStock INTEGER NOT NULL, Discontinued BOOLEAN NOT NULL);
CREATE TABLE Orders (OrderID INTEGER PRIMARY KEY, CustomerID CHAR(5) REFERENCES Customers(CustomerID),
    EmployeeID INTEGER REFERENCES Employees(EmployeeID), OrderDate DATETIME NOT NULL, ShippedDate DATETIME,
    ShipVia INTEGER REFERENCES Shippers(ShipperID), Freight NUMERIC);
CREATE TABLE "Order Details" (OrderID INTEGER NOT NULL REFERENCES Orders(OrderID),
    ProductID INTEGER NOT NULL REFERENCES Products(ProductID), UnitPrice NUMERIC NOT NULL, Quantity INTEGER NOT NULL,
    Discount REAL NOT NULL, PRIMARY KEY (OrderID, ProductID));
""",
    """
SELECT * FROM Customers WHERE CustomerID = ?;
SELECT * FROM Customers WHERE Country = ? ORDER BY CompanyName;
SELECT * FROM Products WHERE CategoryID = ? ORDER BY ProductName;
SELECT * FROM Products WHERE SupplierID = ? AND Discontinued = 0;
SELECT * FROM Orders WHERE CustomerID = ? ORDER BY OrderDate DESC;
SELECT * FROM Orders WHERE EmployeeID = ? AND OrderDate BETWEEN ? AND ?;
SELECT o.*, d.* FROM Orders o JOIN "Order Details" d ON d.OrderID = o.OrderID WHERE o.OrderID = ?;
SELECT * FROM Orders WHERE ShippedDate IS NULL AND CustomerID = ?;
SELECT * FROM EmployeeTerritories WHERE EmployeeID = ?;
SELECT * FROM Territories WHERE RegionID = ?;
UPDATE Products SET UnitsInStock = UnitsInStock - ? WHERE ProductID = ?;
UPDATE Orders SET ShippedDate = ? WHERE OrderID = ?;
""",
)

SAKILA = Sample(
    "sakila",
    """
CREATE TABLE actor (actor_id INTEGER PRIMARY KEY, first_name VARCHAR(45) NOT NULL, last_name VARCHAR(45) NOT NULL, last_update TIMESTAMP NOT NULL);
CREATE TABLE country (country_id INTEGER PRIMARY KEY, country VARCHAR(50) NOT NULL);
CREATE TABLE city (city_id INTEGER PRIMARY KEY, city VARCHAR(50) NOT NULL, country_id INTEGER NOT NULL REFERENCES country(country_id));
CREATE TABLE address (address_id INTEGER PRIMARY KEY, address VARCHAR(50) NOT NULL, city_id INTEGER NOT NULL REFERENCES city(city_id), phone VARCHAR(20));
CREATE TABLE category (category_id INTEGER PRIMARY KEY, name VARCHAR(25) NOT NULL UNIQUE);
CREATE TABLE language (language_id INTEGER PRIMARY KEY, name CHAR(20) NOT NULL);
CREATE TABLE film (film_id INTEGER PRIMARY KEY, title VARCHAR(255) NOT NULL, release_year INTEGER,
    language_id INTEGER NOT NULL REFERENCES language(language_id), rental_rate DECIMAL(4,2) NOT NULL,
    rating VARCHAR(10) CHECK (rating IN ('G', 'PG', 'PG-13', 'R', 'NC-17')), special_features TEXT);
CREATE TABLE film_actor (actor_id INTEGER NOT NULL REFERENCES actor(actor_id), film_id INTEGER NOT NULL REFERENCES film(film_id), PRIMARY KEY (actor_id, film_id));
CREATE TABLE film_category (film_id INTEGER NOT NULL REFERENCES film(film_id), category_id INTEGER NOT NULL REFERENCES category(category_id), PRIMARY KEY (film_id, category_id));
CREATE TABLE store (store_id INTEGER PRIMARY KEY, address_id INTEGER NOT NULL REFERENCES address(address_id));
CREATE TABLE staff (staff_id INTEGER PRIMARY KEY, username VARCHAR(16) NOT NULL UNIQUE, store_id INTEGER NOT NULL REFERENCES store(store_id), picture BLOB);
CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, store_id INTEGER NOT NULL REFERENCES store(store_id), email VARCHAR(50),
    address_id INTEGER NOT NULL REFERENCES address(address_id), active BOOLEAN NOT NULL, create_date DATETIME NOT NULL);
CREATE TABLE inventory (inventory_id INTEGER PRIMARY KEY, film_id INTEGER NOT NULL REFERENCES film(film_id), store_id INTEGER NOT NULL REFERENCES store(store_id));
CREATE TABLE rental (rental_id INTEGER PRIMARY KEY, rental_date DATETIME NOT NULL, inventory_id INTEGER NOT NULL REFERENCES inventory(inventory_id),
    customer_id INTEGER NOT NULL REFERENCES customer(customer_id), return_date DATETIME, staff_id INTEGER NOT NULL REFERENCES staff(staff_id));
CREATE TABLE payment (payment_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer(customer_id),
    rental_id INTEGER REFERENCES rental(rental_id), amount DECIMAL(5,2) NOT NULL, payment_date DATETIME NOT NULL);
CREATE VIEW film_list AS SELECT * FROM film;
""",
    """
SELECT * FROM film WHERE film_id = ?;
SELECT * FROM film WHERE rating = ? ORDER BY title LIMIT 20;
SELECT f.* FROM film f JOIN film_actor fa ON fa.film_id = f.film_id WHERE fa.actor_id = ?;
SELECT * FROM film_category WHERE category_id = ?;
SELECT * FROM customer WHERE customer_id = ?;
SELECT * FROM customer WHERE store_id = ? AND active = 1;
SELECT * FROM rental WHERE customer_id = ? ORDER BY rental_date DESC LIMIT 10;
SELECT * FROM rental WHERE inventory_id = ? AND return_date IS NULL;
SELECT * FROM inventory WHERE film_id = ? AND store_id = ?;
SELECT * FROM payment WHERE customer_id = ? AND payment_date >= ?;
SELECT sum(amount) FROM payment WHERE customer_id = ?;
SELECT * FROM staff WHERE username = ?;
UPDATE rental SET return_date = ? WHERE rental_id = ?;
INSERT INTO rental (rental_date, inventory_id, customer_id, staff_id) VALUES (?, ?, ?, ?);
""",
)

TPCC = Sample(
    "tpcc",
    """
CREATE TABLE warehouse (w_id INTEGER PRIMARY KEY, w_name VARCHAR(10), w_ytd DECIMAL(12,2) NOT NULL);
CREATE TABLE district (d_w_id INTEGER NOT NULL REFERENCES warehouse(w_id), d_id INTEGER NOT NULL, d_next_o_id INTEGER NOT NULL,
    d_ytd DECIMAL(12,2) NOT NULL, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_id INTEGER NOT NULL, c_last VARCHAR(16) NOT NULL,
    c_first VARCHAR(16) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id),
    FOREIGN KEY (c_w_id, c_d_id) REFERENCES district(d_w_id, d_id));
CREATE TABLE item (i_id INTEGER PRIMARY KEY, i_name VARCHAR(24) NOT NULL, i_price DECIMAL(5,2) NOT NULL);
CREATE TABLE stock (s_w_id INTEGER NOT NULL REFERENCES warehouse(w_id), s_i_id INTEGER NOT NULL REFERENCES item(i_id),
    s_quantity INTEGER NOT NULL, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE orders (o_w_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, o_c_id INTEGER NOT NULL,
    o_entry_d TIMESTAMP NOT NULL, o_carrier_id INTEGER, PRIMARY KEY (o_w_id, o_d_id, o_id),
    FOREIGN KEY (o_w_id, o_d_id) REFERENCES district(d_w_id, d_id));
CREATE TABLE order_line (ol_w_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_o_id INTEGER NOT NULL, ol_number INTEGER NOT NULL,
    ol_i_id INTEGER NOT NULL REFERENCES item(i_id), ol_amount DECIMAL(6,2) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
    FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders(o_w_id, o_d_id, o_id));
CREATE TABLE history (h_c_id INTEGER, h_date TIMESTAMP, h_amount DECIMAL(6,2));
""",
    """
SELECT * FROM warehouse WHERE w_id = ?;
SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?;
SELECT * FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;
SELECT * FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first;
SELECT * FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1;
SELECT * FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?;
SELECT * FROM stock WHERE s_w_id = ? AND s_i_id = ?;
SELECT * FROM item WHERE i_id = ?;
UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?;
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?;
UPDATE stock SET s_quantity = ? WHERE s_w_id = ? AND s_i_id = ?;
INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?);
INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?);
SELECT count(DISTINCT s_i_id) FROM stock WHERE s_w_id = ? AND s_quantity < ?;
""",
)

SAMPLES = (CHINOOK, NORTHWIND, SAKILA, TPCC)


def create_sample(sample: Sample, path: Path, rows: int = 40) -> Path:
    """A SQLite file with the tables of a sample, each with up to `rows` rows whose foreign keys exist."""
    from prejoin.migrate.discover.entities import parents_first
    from prejoin.migrate.source.connection import open_source
    from prejoin.migrate.source.reflect import reflect

    chance = random.Random(sample.name)
    with sqlite3.connect(path) as db:
        db.executescript(sample.schema)
    db.close()
    with open_source(f"sqlite:///{path}") as source:
        tables = parents_first(reflect(source).tables)
    with sqlite3.connect(path) as db:
        for table in tables:
            made: list[dict[str, Any]] = []
            for number in range(1, rows + 1):
                row: dict[str, Any] = {c.name: _value(str(c.type), c.sql_type, number, chance) for c in table.columns}
                for column in table.columns:
                    if column.nullable and number % 7 == 0:
                        row[column.name] = None
                for fk in table.foreign_keys:
                    names = ", ".join(f'"{c}"' for c in fk.references)
                    found = db.execute(f'SELECT {names} FROM "{fk.table}" ORDER BY random() LIMIT 1').fetchone()
                    own = made and fk.table == table.name
                    values = found or ([made[0][c] for c in fk.references] if own else [None] * len(fk.columns))
                    row |= dict(zip(fk.columns, values, strict=True))
                made.append(row)
                names, places = ", ".join(f'"{c}"' for c in row), ", ".join("?" * len(row))
                db.execute(f'INSERT OR IGNORE INTO "{table.name}" ({names}) VALUES ({places})', list(row.values()))
    db.close()
    return path


def _value(kind: str, declared: str, number: int, chance: random.Random) -> Any:
    if "|" in kind:
        return chance.choice(kind.split(" | "))
    match kind:
        case "integer":
            return number
        case "decimal" | "number":
            return chance.randint(1, 99_999) / 100
        case "boolean":
            return number % 2
        case "datetime":
            return f"2025-{number % 12 + 1:02}-{number % 28 + 1:02} {number % 24:02}:30:00"
        case "date":
            return f"19{number % 90 + 10}-05-17"
        case "binary":
            return bytes([number % 256]) * 5
    return f"{chance.choice(['Ärger', 'Blue', 'Card'])} {number}"
