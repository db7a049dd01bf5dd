"""Move the data of a relational database into a single table: discover, map, load, verify.

`source/` reads the database, `queries/` reads the SQL that an application runs, `discover/` turns both into a
document and a mapping, `mapping/` turns rows into items, `load/` writes them, `follow/` writes their changes, `verify/`
compares both sides. `cutover`, `rollback` and `status` are the end and the overview. `outbox` and `shadow` are for the
application.
"""
