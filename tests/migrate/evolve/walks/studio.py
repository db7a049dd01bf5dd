"""A music studio with tenants, and pairs of its designs: every kind of item that a table can have, and each change of it.

Its entities have a followed attribute and a counter (Track), a unique value (Artist), a history (Note), a time to live
(Session) and a large content (File).
"""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Counter, Design, Facet, Guard, Item, KeyAttribute, Slot
from prejoin.migrate.evolve.transition import CodeVersion
from prejoin.workload.document.read_document import read_document

TABLE_NAME = "studio"
_DOCUMENT = """# Studio

> Tenant: tenantId

## Entities

### Artist

- `artistId` (string, id)
- `name` (string, mutable)
- `trackCount` (integer, mutable)
{email}
{artist}

### Track

- `trackId` (string, id)
- `artistId` (string, → Artist)
- `artistName` (string, mutable, follows Artist.name)
- `status` ({statuses}, mutable)
- `plays` (integer, mutable)
{track}

### Note

- `noteId` (string, id)
{text}
- `version` (integer, mutable)
{note}
{history}

### Session

- `sessionId` (string, id)
- `device` (string, mutable)
- `expiresAt` (integer, ttl)

### File

- `fileId` (string, id)
- `title` (string, mutable)
- `body` (content, optional, mutable)
{entity}
## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Artist | Get artist | artistId | Single | - | 10/s |
| AP-002 | Track | Get track | trackId | Single | - | 10/s |
| AP-003 | Track | Tracks of artist | artistId | Collection | trackId | 10/s |
| AP-004 | Note | Get note | noteId | Single | - | 10/s |
| AP-005 | Session | Get session | sessionId | Single | - | 10/s |
| AP-006 | File | Get file | fileId | Single | - | 10/s |
{reads}
### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-100 | Artist | Register | Artist | create Artist | 1/s |
| AP-101 | Artist | Replace | Artist | put Artist | 1/s |
| AP-102 | Artist | Rename | artistId, name | update Artist | 1/s |
| AP-110 | Track | Publish | Track | create Track | 1/s |
| AP-111 | Track | Change status | trackId, status | update Track | 1/s |
| AP-112 | Track | Play | trackId, count | update Track (plays += count) | 1/s |
| AP-113 | Track, Artist | Publish and count | Track | create Track; update Artist (trackCount += 1) | 1/s |
| AP-120 | Note | Write | Note | create Note | 1/s |
| AP-130 | Session | Log in | Session | create Session | 1/s |
| AP-131 | Session | Change device | sessionId, device | update Session | 1/s |
| AP-140 | File | Upload | File | create File | 1/s |
| AP-141 | File | Change title | fileId, title | update File | 1/s |
{writes}
### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-200 | Track | Remove track | trackId | delete Track | 1/s |
| AP-201 | Note | Remove note | noteId | delete Note | 1/s |
| AP-202 | Session | Log out | sessionId | delete Session | 1/s |
"""
_REMARK = """
### Remark

- `artistId` (string, id, → Artist)
- `remarkId` (string, id)
- `words` (string, mutable)

"""
_REMARK_READ = "| AP-009 | Remark | Get remark | artistId, remarkId | Single | - | 10/s |\n"
_REMARK_WRITE = "| AP-150 | Remark | Write remark | Remark | create Remark | 1/s |\n"
_BY_STATUS_READ = "| AP-007 | Track | Tracks with status | status | Collection | trackId | 10/s |\n"
_BY_EMAIL_READ = "| AP-008 | Artist | Artists by email | {email} | Collection | artistId | 10/s |\n"


def _key(slot: str, partition: str, sort: str) -> Facet:
    return Facet(slot, ("TENANT#{tenantId}#" + partition,), (sort,))


def _index(name: str) -> Slot:
    return Slot(name, (KeyAttribute(f"{name}pk"),), (KeyAttribute(f"{name}sk"),))


_TABLE = Slot(TABLE, (KeyAttribute("pk"),), (KeyAttribute("sk"),))
_BY_ARTIST = "ARTIST#{artistId}", "TRACK#{trackId}"
_BY_STATUS = "STATUS#{status}", "TRACK#{trackId}"
_KEYS = {
    "Artist": _key(TABLE, "ARTIST#{artistId}", "ARTIST"),
    "Track": _key(TABLE, "TRACK#{trackId}", "TRACK"),
    "Note": _key(TABLE, "NOTE#{noteId}", "NOTE"),
    "Session": _key(TABLE, "SESSION#{sessionId}", "SESSION"),
    "File": _key(TABLE, "FILE#{fileId}", "FILE"),
}
_MOVED_KEYS = {
    "Artist": _key(TABLE, "A#{artistId}", "A"),
    "Note": _key(TABLE, "N#{noteId}", "N"),
    "Track": _key(TABLE, "T#{trackId}", "T"),
    "Session": _key(TABLE, "S#{sessionId}", "S"),
    "File": _key(TABLE, "F#{fileId}", "F"),
}


@dataclass(frozen=True)
class Studio:
    """A version of the studio."""

    email: str = "`email` (string, mutable)"
    artist: str = ""
    track: str = ""
    text: str = "`text` (string, mutable)"
    note: str = ""
    """Further attributes, such as `` `mood` (string, optional) ``."""
    statuses: str = "DRAFT | DONE | OUT"
    moved: tuple[str, ...] = ()
    """Entities with the other key in the table."""
    by_status: str = ""
    """How tracks are found by their status: `index`, `copy`, or not at all."""
    by_email: str = ""
    """The index in which artists are found by their email address, or none."""
    unique_email: bool = False
    shards: int = 3
    """The shards of the plays of a track; 0 if they are an attribute."""
    has_remarks: bool = False
    has_history: bool = True

    def version(self, name: str) -> CodeVersion:
        workload = read_document(self._text()).workload
        return CodeVersion(name, workload, map_patterns(self._design(), workload))

    def _text(self) -> str:
        email = self.email.split("`")[1]
        reads = _BY_STATUS_READ * bool(self.by_status) + _BY_EMAIL_READ.format(email=email) * bool(self.by_email)
        return _DOCUMENT.format(
            email=f"- {self.email}",
            artist=_lines(self.artist),
            track=_lines(self.track),
            text=f"- {self.text}",
            note=_lines(self.note),
            history="- **History**: 3 versions" if self.has_history else "",
            statuses=self.statuses,
            entity=_REMARK if self.has_remarks else "",
            reads=reads + _REMARK_READ * self.has_remarks,
            writes=_REMARK_WRITE * self.has_remarks,
        )

    def _design(self) -> Design:
        email = self.email.split("`")[1]
        facets = {entity: [key] for entity, key in _KEYS.items()}
        tags = {entity: entity for entity in _KEYS}
        by_artist = "gsi1"
        for entity in self.moved:
            facets[entity] = [_MOVED_KEYS[entity]]
            tags[entity] = f"{entity}2"
            if entity == "Track":
                by_artist = "gsi3"
        facets["Track"].append(_key(by_artist, *_BY_ARTIST))
        if self.by_status == "index":
            facets["Track"].append(_key("gsi2", *_BY_STATUS))
        if self.by_email:
            facets["Artist"].append(_key(self.by_email, "EMAIL#{" + email + "}", "{artistId}"))
        if self.has_remarks:
            facets["Remark"] = [_key(TABLE, "ARTIST#{artistId}", "REMARK#{remarkId}")]
            tags["Remark"] = "Remark"
        items = [Item(entity, tags[entity], tuple(facets[entity])) for entity in facets]
        if self.by_status == "copy":
            items.append(Item("Track", "Track.by-status", (_key(TABLE, *_BY_STATUS),), "by-status"))
        names = dict.fromkeys(facet.slot for item in items for facet in item.facets if facet.slot != TABLE)
        guards = (Guard("Artist", (email,)),) if self.unique_email else ()
        counters = (Counter("Track", ("plays",), self.shards),) if self.shards else ()
        slots = (_TABLE, *(_index(name) for name in names))
        return Design(TABLE_NAME, slots, tuple(items), guards, counters=counters, ttl_attribute="expiresAt")


def _lines(attributes: str) -> str:
    return "\n".join(f"- {attribute}" for attribute in attributes.split("; ") if attribute)


_PLAIN = Studio()
_RENAMED_EMAIL = "`mail` (string, mutable, renamed from email)"

PAIRS: dict[str, tuple[Studio, Studio]] = {
    "track moves": (Studio(shards=0), Studio(shards=0, moved=("Track",))),
    "track moves with its counter": (_PLAIN, Studio(moved=("Track",))),
    "track moves with its copy": (
        Studio(shards=0, by_status="copy"),
        Studio(shards=0, by_status="copy", moved=("Track",)),
    ),
    "session moves": (_PLAIN, Studio(moved=("Session",))),
    "artist moves with unique email": (Studio(unique_email=True), Studio(unique_email=True, moved=("Artist",))),
    "note moves with its history": (_PLAIN, Studio(moved=("Note",))),
    "file moves with its content": (_PLAIN, Studio(moved=("File",))),
    "rename": (Studio(), Studio(email=_RENAMED_EMAIL)),
    "rename in history": (Studio(), Studio(text="`words` (string, mutable, renamed from text)")),
    "rename in an index": (Studio(by_email="gsi2"), Studio(email=_RENAMED_EMAIL, by_email="gsi2")),
    "rename unique": (Studio(unique_email=True), Studio(email=_RENAMED_EMAIL, unique_email=True)),
    "attributes": (
        Studio(
            artist='`nick` (string, mutable, optional); `mood` (string, mutable, default="calm")',
            track="`label` (string, mutable, optional)",
            note="`color` (string, mutable, optional)",
        ),
        Studio(
            artist='`nick` (string, mutable, default="nobody"); `mood` (string, mutable)',
            track='`genre` (string, mutable, default="pop")',
            note='`color` (string, mutable, default="red")',
        ),
    ),
    "required": (
        Studio(artist="`nick` (string, mutable, optional)"),
        Studio(artist="`nick` (string, mutable)", track="`label` (string, mutable, optional)"),
    ),
    "index": (Studio(by_email="gsi2"), Studio(by_status="index")),
    "copy": (Studio(by_status="copy"), Studio(by_email="gsi2")),
    "copy instead of index": (Studio(by_status="index"), Studio(by_status="copy")),
    "unique": (Studio(), Studio(unique_email=True)),
    "new entity": (Studio(), Studio(has_remarks=True, statuses="DRAFT | DONE | OUT | LOST")),
    "everything": (
        Studio(
            artist="`nick` (string, mutable, optional)",
            note="`color` (string, mutable, optional)",
            by_status="index",
            by_email="gsi3",
        ),
        Studio(
            email=_RENAMED_EMAIL,
            artist='`nick` (string, mutable, default="nobody")',
            track='`genre` (string, mutable, default="pop")',
            text="`words` (string, mutable, renamed from text)",
            by_status="copy",
            unique_email=True,
            moved=("Session",),
            has_remarks=True,
        ),
    ),
}
