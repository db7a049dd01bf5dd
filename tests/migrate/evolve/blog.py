"""A blog whose posts get another key in the table, with all that belongs to a post: guards, copies, versions, a TTL."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prejoin import (
    Client,
    ConditionFailed,
    Embedded,
    NotFound,
    NotUnique,
    history,
    read_large,
    with_counts,
    write_large,
)
from prejoin.design.model import TABLE, Counter, Design, Facet, Guard, Item, KeyAttribute, Slot
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from prejoin.table.codec.values import Json
from prejoin.table.schema.pattern import STATE_TAG
from tests.migrate.evolve.shop import index, version

_DOCUMENT = """# Blog
{context}
## Entities

### Post

- `postId` (string, id)
- `author` (string)
- `slug` (string, mutable)
- `title` (string, mutable)
{attributes}
### Note

- `noteId` (string, id)
- `text` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Post | Get post | postId | Single | - | 10/s |
| AP-002 | Post | Posts of author | author | Collection | postId | 10/s |
| AP-003 | Note | Get note | noteId | Single | - | 10/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Post | Publish | postId, author, slug, title | create Post | 1/s |
| AP-011 | Note | Write | noteId, text | put Note | 1/s |
"""
_ENDLESS = datetime(2099, 1, 1, tzinfo=UTC)

CONSTRUCTS = ("unique", "history", "kept", "copy", "other copy", "ttl", "tenant", "counter", "content")
"""`kept` is a history of two versions; `other copy` a copy that NEW replaces with one under another key."""
WIDER = "wider"
"""The key of NEW has one more attribute than that of OLD."""


def blog(name: str, constructs: frozenset[str], *, is_new: bool) -> CodeVersion:
    """The version of the code before or after posts get another key."""
    attributes = ""
    if constructs & {"history", "kept"}:
        attributes += "- `version` (integer, mutable)\n"
        attributes += f"- **History**: {'2 versions' if 'kept' in constructs else 'all versions'}\n"
    if "ttl" in constructs:
        attributes += "- `expiresAt` (datetime, mutable, optional, ttl)\n"
    if "counter" in constructs:
        attributes += "- `views` (integer, mutable)\n"
    if "content" in constructs:
        attributes += "- `body` (content, optional, mutable)\n"
    lead = ""
    context = ""
    if "tenant" in constructs:
        lead, context = "T#{site}#", "\n## Context\n\n- **Tenant**: site\n"
        attributes = f"- `site` (string)\n{attributes}"
    text = _DOCUMENT.format(attributes=attributes, context=context)
    if "tenant" in constructs:
        text = text.replace("- `noteId` (string, id)", "- `noteId` (string, id)\n- `site` (string)")
    slot = "gsi3" if is_new else "gsi1"
    if not is_new:
        base = Facet(TABLE, (lead + "POST#{postId}",), ("POST",))
    elif WIDER in constructs:
        base = Facet(TABLE, (lead + "P#{author}",), ("P#{postId}",))
    else:
        base = Facet(TABLE, (lead + "P#{postId}",), ("P",))
    by_author = Facet(slot, (lead + "AUTHOR#{author}",), ("POST#{postId}",))
    by_id = Facet("gsi4", (lead + "ID#{postId}",), ("POST",))
    indexes = [index(slot)]
    facets = [base]
    if not constructs & {"copy", "other copy"}:
        facets.append(by_author)
    if is_new and WIDER in constructs:
        facets.append(by_id)
        indexes.append(index("gsi4"))
    tag = "Post2" if is_new else "Post"
    items = [
        Item("Post", tag, tuple(facets)),
        Item("Note", "Note", (Facet(TABLE, (lead + "NOTE#{noteId}",), ("NOTE",)),)),
    ]
    copied = Facet(TABLE, (lead + "BY#{author}",), ("POST#{postId}",))
    if "copy" in constructs:
        items.append(Item("Post", "Post.by-author", (copied,), "by-author"))
    elif "other copy" in constructs and is_new:
        other = Facet(TABLE, (lead + "OF#{author}",), ("POST#{postId}",))
        items.append(Item("Post", "Post2.of-author", (other,), "of-author"))
    elif "other copy" in constructs:
        items.append(Item("Post", "Post.by-author", (copied,), "by-author"))
    guards = (Guard("Post", ("slug",)),) if "unique" in constructs else ()
    used = {facet.slot for item in items for facet in item.facets}
    slots = (_SLOT, *(one for one in indexes if one.name in used))
    ttl = "expiresAt" if constructs & {"ttl"} else ""
    counters = (Counter("Post", ("views",), 3),) if "counter" in constructs else ()
    more = {"ttl_attribute": ttl} if ttl else {}
    design = Design("blog", slots, tuple(items), guards, counters=counters, **more)
    return version(name, text, design)


_SLOT = Slot(TABLE, (KeyAttribute("pk"),), (KeyAttribute("sk"),))


def transition(*constructs: str) -> Transition:
    names = frozenset(constructs)
    return plan_transition(blog("OLD", names, is_new=False), blog("NEW", names, is_new=True))


@dataclass
class Blog:
    """A table with posts, and what it has to contain."""

    constructs: frozenset[str]
    folder: Path
    engine: Embedded = field(default_factory=Embedded)
    posts: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, dict[int, str]] = field(default_factory=dict)
    """The titles of earlier versions, by the id of the post and the number."""
    has_straggler: bool = False
    """Whether code of OLD wrote while `clean` ran."""

    def __post_init__(self) -> None:
        self.forward = transition(*self.constructs)
        self.back = plan_transition(self.forward.new, self.forward.old, self.forward.change)
        self.client(self.forward.old).create_table()
        note = self.forward.old.package.record("Note", {"noteId": "n", "text": "mine", **self._site})
        self.client(self.forward.old).insert(note)
        self.note = self._note()

    @property
    def _site(self) -> dict[str, str]:
        return {"site": "s1"} if "tenant" in self.constructs else {}

    def client(self, version_: CodeVersion) -> Client:
        return Client(version_.package.schema, "blog", self.engine)

    def version(self, name: str) -> CodeVersion:
        by_name = {
            "OLD": self.forward.old,
            "prepare": self.forward.prepare,
            "switch": self.forward.switch,
            "NEW": self.forward.new,
        }
        return by_name[name]

    # --- Writes -----------------------------------------------------------------------------------------------------

    def write(self, name: str, verb: str, post: str, mark: str) -> bool:
        """Writes a post with a version of the code. Returns whether the version knew the post."""
        version_ = self.version(name)
        client, cls = self.client(version_), version_.package.classes["Post"]
        known = self.posts.get(post, {"author": f"a-{post}"})
        key = {"post_id": post, "author": known["author"], **self._site}
        base = version_.package.schema.entity(cls).base.attributes
        key = {name: value for name, value in key.items() if name in base}
        values = {"author": known["author"], "slug": f"slug-{mark}", "title": f"title-{mark}"}
        try:
            match verb:
                case "create":
                    client.insert(self._record(version_, post, values))
                case "put":
                    if client.get(cls, **key, consistent=True) is None:
                        return False
                    client.put(self._record(version_, post, values), read=True)
                case "title":
                    with client.update(cls, **key, read=True) as draft:
                        draft.title = values["title"]
                    values = {**known, "title": values["title"]}
                case "slug":
                    with client.update(cls, **key, read=True) as draft:
                        draft.slug = values["slug"]
                    values = {**known, "slug": values["slug"]}
                case "body":
                    body = random.Random(mark).randbytes(300_000)
                    write_large(client, cls, "body", body, **key)
                    values = {**known, "body": body}
                case "views":
                    with client.update(cls, **key) as draft:
                        draft.views += 5
                    known["views"] = known.get("views", 0) + 5
                    return True
                case "delete":
                    if client.get(cls, **key, consistent=True) is None:
                        return False
                    client.delete(cls, **key, read=True)
        except NotFound:
            return False
        self._note_write(post, None if verb == "delete" else values)
        return True

    def _record(self, version_: CodeVersion, post: str, values: Mapping[str, Any]) -> Any:
        more: dict[str, Any] = {"expiresAt": _ENDLESS} if "ttl" in self.constructs else {}
        if "counter" in self.constructs:
            more["views"] = 0
        if self._has_history:
            more["version"] = self.posts.get(post, {}).get("version", 0)
        return version_.package.record("Post", {"postId": post, **values, **more, **self._site})

    @property
    def _has_history(self) -> bool:
        return bool(self.constructs & {"history", "kept"})

    def _note_write(self, post: str, values: dict[str, Any] | None) -> None:
        before = self.posts.pop(post, None)
        number = before["version"] if before else 0
        if before and self._has_history:
            kept = self.versions.setdefault(post, {})
            kept[number] = before["title"]
            if "kept" in self.constructs:
                kept.pop(number - 2, None)
        if values is not None:
            views = before.get("views", 0) if before else 0
            self.posts[post] = {**values, "version": number + 1, "views": views}

    # --- Steps ------------------------------------------------------------------------------------------------------

    def run(self, direction: Transition, *steps: str) -> StepResult:
        result = StepResult()
        for step in steps:
            with evolution_of(direction, self.client(direction.old), self.folder) as evolution:
                result = getattr(Evolution, step)(evolution)
        return result

    def abort(self) -> None:
        abort_on(self.client(self.forward.old), self.forward, self.folder)

    # --- The end ----------------------------------------------------------------------------------------------------

    def check(self, version_: CodeVersion) -> None:
        """The table has exactly what it has to have in the design of a version."""
        is_new = version_.name == "NEW"
        assert [str(one) for one in audit(self.client(version_))] == []
        stored = self._stored()
        self._check_counters(version_, stored)
        self._check_contents(version_, stored)
        beside = (" counter", " part body")
        stored = {key: item for key, item in stored.items() if not item["entityType"]["S"].endswith(beside)}
        stored = {key: item for key, item in stored.items() if not self._is_surplus(item)}
        assert {key: item["entityType"]["S"] for key, item in stored.items()} == dict(self._expected(is_new))
        for key, item in stored.items():
            if item["entityType"]["S"] not in ("Post", "Post2"):
                continue
            post = self.posts[item["postId"]["S"]]
            assert {name: item[name]["S"] for name in ("author", "slug", "title")} == {
                name: post[name] for name in ("author", "slug", "title")
            }
            assert "~twin" not in item
            if "unique" in self.constructs:
                guard = stored[self._guard(is_new, post["slug"])]
                assert "#".join(one["S"] for one in guard["owner"]["M"].values()) == "#".join(key.split(" "))
        cls = version_.package.classes["Post"]
        for post, versions in self.versions.items():
            base = version_.package.schema.entity(cls).base.attributes
            known = {"post_id": post, "author": f"a-{post}", **self._site}
            found = history(self.client(version_), cls, **{name: known[name] for name in base})
            assert {one.version: one.title for one in found}.items() >= versions.items()
        assert self._note() == self.note

    def _check_counters(self, version_: CodeVersion, stored: Mapping[str, Json]) -> None:
        if "counter" not in self.constructs:
            return
        tag = "Post2 counter" if version_.name == "NEW" else "Post counter"
        other = "Post counter" if version_.name == "NEW" else "Post2 counter"
        assert other not in {item["entityType"]["S"] for item in stored.values()}
        shards = {key: item for key, item in stored.items() if item["entityType"]["S"] == tag}
        assert all(item.keys() == {"pk", "sk", "entityType", "views"} for item in shards.values())
        assert {key.split("#")[3 if self._site else 1] for key in shards} <= self.posts.keys()
        client, cls = self.client(version_), version_.package.classes["Post"]
        for post, values in self.posts.items():
            found = with_counts(client, cls, client.get(cls, post_id=post, **self._site), consistent=True)
            assert found.views == values["views"]

    def _check_contents(self, version_: CodeVersion, stored: Mapping[str, Json]) -> None:
        if "content" not in self.constructs:
            return
        tag = "Post2 part body" if version_.name == "NEW" else "Post part body"
        tags = {item["entityType"]["S"] for item in stored.values()}
        assert {one for one in tags if one.endswith("part body")} <= {tag}
        client, cls = self.client(version_), version_.package.classes["Post"]
        for post, values in self.posts.items():
            found = client.get(cls, post_id=post, **self._site)
            assert found is not None
            assert (read_large(client, found, "body") if found.body else None) == values.get("body")

    def _is_surplus(self, item: Json) -> bool:
        """Whether it is an older version than those that are kept, which nobody deletes: of a deleted post, or after
        a forgotten job of OLD."""
        if "kept" not in self.constructs or not item["entityType"]["S"].endswith(" history"):
            return False
        stored = item["object"]["M"]
        post = stored["postId"]["S"]
        return (post not in self.posts or self.has_straggler) and int(stored["version"]["N"]) < min(self.versions[post])

    def has_both(self, post: str) -> bool:
        """Whether a post has an item under both of its keys."""
        return {self._key(False, post), self._key(True, post)} <= self._stored().keys()

    def require_unique(self, name: str) -> None:
        """No version lets a second post take the slug of another one."""
        version_ = self.version(name)
        for post in list(self.posts.values()):
            record = self._record(version_, "thief", {"author": "t", "slug": post["slug"], "title": "stolen"})
            try:
                self.client(version_).insert(record)
            except (NotUnique, ConditionFailed):
                continue
            raise AssertionError(f"{name} took {post['slug']}")

    def _expected(self, is_new: bool) -> Any:
        lead = "T#s1#" if self._site else ""
        yield f"{lead}NOTE#n NOTE", "Note"
        tag = "Post2" if is_new else "Post"
        for post, values in self.posts.items():
            yield self._key(is_new, post), tag
            if "unique" in self.constructs:
                yield self._guard(is_new, values["slug"]), f"{tag} unique {'site, ' if self._site else ''}slug"
            if "copy" in self.constructs or ("other copy" in self.constructs and not is_new):
                yield f"{lead}BY#a-{post} POST#{post}", "Post.by-author"
            elif "other copy" in self.constructs:
                yield f"{lead}OF#a-{post} POST#{post}", "Post2.of-author"
        for post, versions in self.versions.items():
            for number in versions:
                key = self._key(is_new, post).replace(" ", "#")
                yield f"{key}#HISTORY {number}", f"{tag} history"

    def _key(self, is_new: bool, post: str) -> str:
        lead = "T#s1#" if self._site else ""
        if not is_new:
            return f"{lead}POST#{post} POST"
        return f"{lead}P#a-{post} P#{post}" if WIDER in self.constructs else f"{lead}P#{post} P"

    def _guard(self, is_new: bool, slug: str) -> str:
        tag = "Post2" if is_new else "Post"
        value = f"site+slug#s1#{slug}" if self._site else f"slug#{slug}"
        return f"UNIQUE#{tag}#{value} UNIQUE"

    def _stored(self) -> dict[str, Json]:
        """All items but the state, by their keys. The number of a version is decoded."""
        found: dict[str, Json] = {}
        for item in self._scanned():
            if item["entityType"]["S"] == STATE_TAG:
                continue
            sort = item["sk"]["S"]
            if item["entityType"]["S"].endswith(" history"):
                sort = item["object"]["M"]["version"]["N"]
            found[f"{item['pk']['S']} {sort}"] = item
        return found

    def _scanned(self) -> Iterator[Json]:
        start: Json = {}
        while True:
            page = self.client(self.forward.old).call("Scan", {"ExclusiveStartKey": start} if start else {})
            yield from page["Items"]
            if not (start := page.get("LastEvaluatedKey") or {}):
                return

    def _note(self) -> Json:
        lead = "T#s1#" if self._site else ""
        key = {"pk": {"S": f"{lead}NOTE#n"}, "sk": {"S": "NOTE"}}
        note: Json = self.client(self.forward.old).call("GetItem", {"Key": key})["Item"]
        return note
