"""Places nearby: a place is in a cell of a grid, and a search reads the cell of the point and the eight around it.

The name of a cell is its geohash with five letters: about 4.9 km high, and as wide at the equator. Cells are narrower
towards the poles, so the distance that can be searched is smaller there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from prejoin import Client, Entity, Index, Key, Schema

_LETTERS = "0123456789bcdefghjkmnpqrstuvwxyz"
_BITS = 25
"""Five letters have 25 bits: 13 of the longitude and 12 of the latitude, in turns."""
_SIZE = 180 / 2**12
"""Degrees of a cell, in both directions."""
_METRES = 111_195
"""Metres of a degree of latitude."""


@dataclass(frozen=True)
class Place:
    place_id: str
    name: str
    latitude: float
    longitude: float
    cell: str


SCHEMA = Schema(
    Entity(Place, Key("PLACE#{place_id}", "PLACE"), indexes={"cell": Key("CELL#{cell}", "PLACE#{place_id}")}),
    indexes=[Index("cell")],
)


def add(db: Client, place_id: str, name: str, latitude: float, longitude: float) -> Place:
    return db.put(Place(place_id, name, latitude, longitude, geohash(latitude, longitude)))


def nearby(db: Client, latitude: float, longitude: float, metres: float) -> list[Place]:
    """The places within a distance, the nearest first."""
    wide = _METRES * _SIZE * math.cos(math.radians(min(abs(latitude) + _SIZE, 90)))
    if metres > wide:
        raise ValueError(f"{metres:,.0f} m are more than a cell here, {wide:,.0f} m")
    found = [
        place for cell in _around(latitude, longitude) for page in db.pages(Place, cell=cell) for place in page.items
    ]
    by_distance = sorted(
        (distance(latitude, longitude, one.latitude, one.longitude), one.place_id, one) for one in found
    )
    return [place for far, _, place in by_distance if far <= metres]


def geohash(latitude: float, longitude: float) -> str:
    """
    >>> geohash(57.64911, 10.40744)
    'u4pru'
    """
    spans, values = [[-180.0, 180.0], [-90.0, 90.0]], (longitude, latitude)
    number = 0
    for at in range(_BITS):
        span, value = spans[at % 2], values[at % 2]
        middle = sum(span) / 2
        upper = value >= middle
        span[0 if upper else 1] = middle
        number = number * 2 + upper
    return "".join(_LETTERS[number >> shift & 31] for shift in range(_BITS - 5, -1, -5))


def distance(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Metres between two points of a sphere."""
    one, other = math.radians(latitude), math.radians(other_latitude)
    turn = math.radians(other_longitude - longitude)
    half = math.sin((other - one) / 2) ** 2 + math.cos(one) * math.cos(other) * math.sin(turn / 2) ** 2
    return 2 * math.degrees(math.asin(math.sqrt(min(1, half)))) * _METRES


def _around(latitude: float, longitude: float) -> list[str]:
    """The cell of a point and those around it: across the 180th meridian, but not beyond the poles."""
    cells = [
        geohash(latitude + up * _SIZE, (longitude + right * _SIZE + 180) % 360 - 180)
        for up in (-1, 0, 1)
        for right in (-1, 0, 1)
        if -90 <= latitude + up * _SIZE <= 90
    ]
    return list(dict.fromkeys(cells))
