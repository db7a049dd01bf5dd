"""Copies in indexes have their own index keys, which change with the copy, and are read as the entity."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import made, with_every_fault, wrong
from tests.place import fresh
from tests.table.both import Connect, Watched, both

from prejoin import (
    AlreadyExists,
    Changes,
    Client,
    ConditionFailed,
    Copy,
    Counted,
    Entity,
    Index,
    Key,
    NotServed,
    Schema,
    SchemaError,
    UnknownValue,
    audit,
    repair,
    reshard,
)


@dataclass(frozen=True)
class Song:
    song_id: str
    artist: str
    genre: str
    score: int = 0
    label: str | None = None
    state: Literal["DRAFT", "OUT"] = "OUT"
    title: str = ""


BY_ARTIST = Copy(
    "by-artist",
    Key("ARTIST#{artist}", "SONG#{song_id}"),
    indexes={
        "gsi1": Key("GENRE#{genre}", "{score}#{song_id}", when=lambda s: s.state == "OUT"),
        "gsi2": Key("LABEL#{label}", "{score}#{song_id}"),
    },
)
SCHEMA = Schema(
    Entity(Song, Key("SONG#{song_id}", "SONG"), {"gsi1": Key("STATE#{state}", "{song_id}")}, patterns=[BY_ARTIST]),
    indexes=[Index("gsi1"), Index("gsi2")],
)
ONE = Song("1", "Nina", "jazz", 5, label="verve", title="Four")


def index_keys(db: Any, tag: str = "Song.by-artist") -> list[dict[str, str]]:
    """The keys in indexes of the items with a tag."""
    found = sorted(db.call("Scan", {})["Items"], key=lambda item: item["song_id"]["S"])
    return [
        {name: value["S"] for name, value in sorted(item.items()) if name.startswith("gsi")}
        for item in found
        if item["entityType"]["S"] == tag
    ]


@both
def test_a_copy_has_keys_of_its_own_in_indexes(connect: Connect) -> None:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    db.insert(ONE)
    db.insert(Song("2", "Nina", "jazz", 7, state="DRAFT"))
    db.insert(Song("3", "Abbey", "jazz", 2))
    assert index_keys(db)[0] == {
        "gsi1pk": "GENRE#jazz",
        "gsi1sk": "A5#1",
        "gsi2pk": "LABEL#verve",
        "gsi2sk": "A5#1",
    }
    watched.calls.clear()
    found = db.query(Song, genre="jazz", state="OUT", order="-score")
    assert list(found) == [ONE, Song("3", "Abbey", "jazz", 2)], "not what is a draft, and objects of the class"
    assert [(call.operation, call.index) for call in watched.calls] == [("Query", "gsi1")]
    assert db.get(Song, label="verve") == ONE
    assert db.count(Song, genre="jazz", state="OUT") == 2
    assert [page[0].song_id for page in pages(db)] == ["3", "1"]
    assert list(db.query(Song, state="OUT")) == [ONE, Song("3", "Abbey", "jazz", 2)], "in the entity's own key there"
    with pytest.raises(NotServed, match="it has only the items where state = OUT"):
        db.query(Song, genre="jazz")
    with pytest.raises(NotServed, match="an index is never read consistently"):
        db.query(Song, label="verve", consistent=True)


def pages(db: Any) -> list[Any]:
    found = [db.query(Song, genre="jazz", state="OUT", limit=1)]
    while found[-1].cursor:
        found.append(db.query(Song, genre="jazz", state="OUT", limit=1, after=found[-1].cursor))
    return [page for page in found if len(page)]


@both
def test_an_update_writes_the_keys_that_it_changes_and_no_others(connect: Connect) -> None:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    db.insert(ONE)
    known: dict[str, Any] = {"song_id": "1", "artist": "Nina"}
    db.apply(Song, Changes({"title": "x"}), **known)
    copy = watched.calls[-1].request["TransactItems"][1]["Update"]
    assert copy["UpdateExpression"] == "SET #0 = :0", "no key depends on a title"
    db.apply(Song, Changes({"score": 9}), **known, genre="jazz", state="OUT", label="verve")
    assert index_keys(db) == [{"gsi1pk": "GENRE#jazz", "gsi1sk": "A9#1", "gsi2pk": "LABEL#verve", "gsi2sk": "A9#1"}]
    db.apply(Song, Changes(removes=frozenset({"label"})), **known)
    assert index_keys(db) == [{"gsi1pk": "GENRE#jazz", "gsi1sk": "A9#1"}]
    db.apply(Song, Changes({"state": "DRAFT"}), **known)
    assert index_keys(db) == [{}], "whatever its keys were"
    db.apply(Song, Changes({"state": "OUT", "label": "emi"}, {"score": 1}), song_id="1", read=True)
    assert (
        index_keys(db) == [{"gsi1pk": "GENRE#jazz", "gsi1sk": "AA10#1", "gsi2pk": "LABEL#emi", "gsi2sk": "AA10#1"}]
        or wrong(SCHEMA, db._transport) == []
    )
    db.apply(Song, Changes({"artist": "Abbey"}), song_id="1", read=True)
    assert db.get(Song, label="emi") == replace(ONE, artist="Abbey", title="x", score=10, label="emi")


def test_an_update_that_does_not_know_a_key_of_the_copy_is_refused() -> None:
    watched = Watched()
    db = Client(SCHEMA, "shop", fresh(), observe=watched)
    db.create_table()
    db.insert(ONE)
    watched.calls.clear()
    with pytest.raises(
        UnknownValue, match="needs the current value of genre, label, state, because its copy by-artist"
    ):
        db.apply(Song, Changes({"score": 9}), song_id="1", artist="Nina")
    with pytest.raises(UnknownValue, match="needs the current value of score, state"):
        db.apply(Song, Changes({"genre": "soul"}), song_id="1", artist="Nina")
    with pytest.raises(UnknownValue, match="needs the current value of genre, label, score, state"):
        db.apply(Song, Changes(adds={"score": 1}), song_id="1", artist="Nina")
    assert watched.calls == []
    with pytest.raises(UnknownValue, match="its copy by-artist"):
        db.apply(Song, Changes({"artist": "x", "genre": "x"}), song_id="1", upsert=True)


def test_values_relied_on_are_checked() -> None:
    db = made(SCHEMA, fresh())
    db.insert(ONE)
    known: dict[str, Any] = {"song_id": "1", "artist": "Nina", "state": "OUT", "label": "verve"}
    with pytest.raises(ConditionFailed, match="does not fulfil the condition of this update"):
        db.apply(Song, Changes({"score": 9}), **known, genre="soul")
    assert wrong(SCHEMA, db._transport) == []


@both
def test_a_delete_and_a_batch_take_the_keys_along(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert(ONE)
    db.put(replace(ONE, artist="Abbey", score=1), was=ONE)
    assert db.get(Song, label="verve") == replace(ONE, artist="Abbey", score=1)
    db.delete(Song, song_id="1", artist="Abbey")
    assert db.count(Song, label="verve") == db.count(Song, genre="jazz", state="OUT") == 0
    still = Copy("all", Key("ALL", "{song_id}"), indexes={"gsi2": Key("GENRE#{genre}", "{score}")})
    schema = Schema(Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[still]), indexes=[Index("gsi2")])
    db = connect(schema)
    db.put_many(Song(str(number), "a", "jazz", number) for number in range(60))
    assert [song.score for song in db.query(Song, genre="jazz")] == list(range(60))
    db.put_many([Song("7", "a", "soul")])
    assert db.count(Song, genre="jazz") == 59


# --- Existence and contents of copies -------------------------------------------------------------------------------


@both
def test_item_without_a_copy_has_none_in_indexes(connect: Connect) -> None:
    copy = Copy(
        "labelled",
        Key("LABEL#{label}", "{song_id}", when=lambda s: s.state == "OUT"),
        indexes={"gsi1": Key("GENRE#{genre}", "{score}")},
    )
    schema = Schema(Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy]), indexes=[Index("gsi1")])
    db = connect(schema)
    db.insert(ONE)
    db.insert(replace(ONE, song_id="2", label=None))
    db.insert(replace(ONE, song_id="3", state="DRAFT"))
    assert len(index_keys(db, "Song.labelled")) == 1, "an optional attribute of its key makes a copy sparse"
    with pytest.raises(NotServed, match="only the items where state = OUT"):
        db.query(Song, genre="jazz")
    with pytest.raises(NotServed, match="only the items where label is present"):
        db.query(Song, genre="jazz", state="OUT")
    db.apply(Song, Changes({"label": "emi"}), song_id="2", read=True)
    assert len(index_keys(db, "Song.labelled")) == 2
    db.apply(Song, Changes({"label": None}), song_id="1", read=True)
    assert index_keys(db, "Song.labelled") == [{"gsi1pk": "GENRE#jazz", "gsi1sk": "A5"}]


@dataclass(frozen=True)
class Line:
    song_id: str
    artist: str
    score: int


@both
@pytest.mark.parametrize("projection", ["ALL", "KEYS_ONLY", ["title"]])
def test_partial_copy_serves_reads_of_its_attributes(connect: Connect, projection: Any) -> None:
    copy = Copy("slim", Key("ARTIST#{artist}", "{song_id}"), ["title"], {"gsi1": Key("GENRE#{genre}", "{score}")})
    schema = Schema(
        Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy]), indexes=[Index("gsi1", projection=projection)]
    )
    db = connect(schema)
    db.insert(ONE)
    assert list(db.query(Song, genre="jazz", into=Line)) == [Line("1", "Nina", 5)], "its keys are in the index"
    with pytest.raises(NotServed, match="does not hold all attributes"):
        db.query(Song, genre="jazz")
    (item,) = [one for one in db.call("Scan", {})["Items"] if one["entityType"]["S"] == "Song.slim"]
    assert {"genre", "score", "title", "artist", "song_id"} < item.keys()
    assert "state" not in item
    if projection != "KEYS_ONLY":
        assert [one.score for one in db.query(Song, genre="jazz", into=Line, filter=lambda s: s.title == "Four")] == [5]


@both
def test_several_classes_are_collected_from_copies(connect: Connect) -> None:
    @dataclass(frozen=True)
    class Genre:
        genre: str
        text: str

    in_genre = Copy("listed", Key("ALL#{song_id}", "S"), indexes={"gsi1": Key("GENRE#{genre}", "SONG#{score}")})
    schema = Schema(
        Entity(Genre, Key("GENRE#{genre}", "GENRE"), {"gsi1": Key("GENRE#{genre}", "GENRE")}),
        Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[in_genre]),
        indexes=[Index("gsi1")],
    )
    db = connect(schema)
    db.insert(Genre("jazz", "blue"))
    db.insert(ONE)
    found = db.collect((Genre, Song), genre="jazz")
    assert list(found.items) == [Genre("jazz", "blue"), ONE]


# --- Indexes on attributes ------------------------------------------------------------------------------------------


def test_a_copy_is_in_an_index_on_attributes_that_it_holds() -> None:
    def schema(*attributes: str) -> Schema:
        held = list(attributes) if attributes else None
        copy = Copy("by-artist", Key("ARTIST#{artist}", "{song_id}"), held)
        return Schema(
            Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy]), indexes=[Index("by-genre", "genre", "score")]
        )

    db = made(schema("title"), fresh())
    db.insert(ONE)
    assert list(db.query(Song, genre="jazz")) == [ONE]
    whole = made(schema(), fresh())
    with pytest.raises(NotServed, match="it would also read copies of Song"):
        whole.query(Song, genre="jazz")


@both
def test_half_of_a_key_may_be_the_attribute_itself(connect: Connect) -> None:
    copy = Copy("all", Key("ALL", "{song_id}"), indexes={"gsi1": Key("GENRE#{genre}", "{score}")})
    schema = Schema(Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy]), indexes=[Index("gsi1", sk="score")])
    db = connect(schema)
    db.insert(ONE)
    db.apply(Song, Changes(adds={"score": 5}), song_id="1")
    db.apply(Song, Changes({"genre": "soul"}), song_id="1")
    assert list(db.query(Song, lambda s: (s.genre == "soul") & (s.score > 9))) == [
        replace(ONE, score=10, genre="soul")
    ], "a number that is a key itself may be added to"


@both
def test_a_local_index_sorts_the_partitions_of_the_copies(connect: Connect) -> None:
    def schema(pk: str) -> Schema:
        copy = Copy("by-artist", Key("ARTIST#{artist}", "{song_id}"), indexes={"top": Key(pk, "{score}")})
        song = Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy])
        return Schema(song, indexes=[Index("top", local=True), Index("titles", sk="title", local=True)])

    db = connect(schema("ARTIST#{artist}"))
    db.insert(ONE)
    db.insert(replace(ONE, song_id="2", score=1, title="Zoo"))
    assert [song.score for song in db.query(Song, artist="Nina", order="score", consistent=True)] == [1, 5]
    assert [song.title for song in db.query(Song, artist="Nina", order="-title", consistent=True)] == ["Zoo", "Four"]
    db.apply(Song, Changes({"score": 9}), song_id="2", artist="Nina")
    assert [song.score for song in db.query(Song, artist="Nina", order="score", consistent=True)] == [5, 9]
    with pytest.raises(SchemaError, match="is a local index, so its partition key is"):
        schema("GENRE#{genre}")


# --- Refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copies", "message"),
    [
        ([Copy("a", Key("A", "{song_id}"), indexes={"gsi9": Key("A", "B")})], "gsi9, which the schema does not have"),
        ([Copy("a", Key("A", "{song_id}"), indexes={"gsi1": Key("A")})], "some have none"),
        ([Copy("a", Key("A", "{song_id}")), Copy("a", Key("B", "{song_id}"))], "two copies of Song have the name a"),
    ],
)
def test_invalid_declaration_is_refused(copies: list[Copy], message: str) -> None:
    own = {"gsi1": Key("STATE#{state}", "{song_id}")}
    with pytest.raises(SchemaError, match=message):
        Schema(Entity(Song, Key("SONG#{song_id}", "SONG"), own, patterns=copies), indexes=[Index("gsi1")])


def test_a_count_is_no_part_of_the_key_of_a_copy() -> None:
    @dataclass
    class Play:
        play_id: str
        song_id: str

    copy = Copy("all", Key("ALL", "{song_id}"), indexes={"gsi1": Key("TOP", "{score}")})
    with pytest.raises(SchemaError, match="score is part of a key template of its copy all in gsi1"):
        Schema(
            Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy]),
            Entity(Play, Key("PLAY#{play_id}", "PLAY"), patterns=[Counted(Song, "score")]),
            indexes=[Index("gsi1")],
        )


def test_moving_copy_needs_the_attributes_of_its_condition() -> None:
    copy = Copy("out", Key("ARTIST#{artist}", "{song_id}", when=lambda s: s.state == "OUT"), ["title"])
    schema = Schema(Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy]))
    db = made(schema, fresh())
    db.insert(ONE)
    with pytest.raises(UnknownValue, match="needs the current value of state, because its copy out"):
        db.apply(Song, Changes({"artist": "Abbey"}), song_id="1", artist="Nina", title="Four")
    db.apply(Song, Changes({"artist": "Abbey"}), song_id="1", artist="Nina", title="Four", state="OUT")
    assert wrong(schema, db._transport) == []


# --- Against a model, with faults, and repaired ---------------------------------------------------------------------

songs = st.builds(
    Song,
    st.sampled_from(["1", "2"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["x", "y"]),
    st.integers(0, 3),
    st.none() | st.just("l"),
    st.sampled_from(["DRAFT", "OUT"]),
)
said = st.lists(st.tuples(st.sampled_from(["put", "update", "add", "known", "upsert", "delete"]), songs), max_size=12)


@given(said)
def test_indexes_of_copies_are_right_after_any_writes(writes: list[tuple[str, Song]]) -> None:
    db = made(SCHEMA, fresh())
    model: dict[str, Song] = {}
    for verb, song in writes:
        key = song.song_id
        values = {name: getattr(song, name) for name in ("artist", "genre", "score", "label", "state")}
        there = model.get(key)
        if verb == "delete":
            db.delete(Song, song_id=key, read=True)
            model.pop(key, None)
        elif verb == "put":
            model[key] = db.put(song, read=True)
        elif verb == "upsert":
            db.apply(Song, Changes(values), song_id=key, upsert=True, read=True)
            model[key] = song
        elif there is not None:
            known = {name: getattr(there, name) for name in values}
            if verb == "add":
                db.apply(Song, Changes(adds={"score": 1}), song_id=key, read=True)
                model[key] = replace(there, score=there.score + 1)
            elif verb == "known":
                db.apply(Song, Changes({"score": song.score, "label": song.label}), song_id=key, **known)
                model[key] = replace(there, score=song.score, label=song.label)
            else:
                db.apply(Song, Changes(values), song_id=key, read=True)
                model[key] = song
    assert wrong(SCHEMA, db._transport) == []
    by_score = sorted(model.values(), key=lambda song: (song.score, song.song_id))
    for genre in ("x", "y"):
        theirs = [song for song in by_score if song.genre == genre and song.state == "OUT"]
        assert list(db.query(Song, genre=genre, state="OUT")) == theirs
    assert list(db.query(Song, label="l")) == [song for song in by_score if song.label]
    assert list(audit(db)) == []


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.insert(replace(ONE, song_id="2")),
        lambda db: db.put(replace(ONE, artist="Abbey", label=None), read=True),
        lambda db: db.apply(Song, Changes({"score": 9, "label": None}), song_id="1", read=True),
        lambda db: db.delete(Song, song_id="1", read=True),
    ],
    ids=["insert", "put", "update", "delete"],
)
def test_keys_are_right_after_any_lost_request(write: Any) -> None:
    def begin() -> Any:
        transport = fresh()
        made(SCHEMA, transport).insert(ONE)
        return transport

    def check(transport: Any) -> None:
        assert wrong(SCHEMA, transport) == []
        with suppress(AlreadyExists):
            write(Client(SCHEMA, "shop", transport))
        assert wrong(SCHEMA, transport) == []

    assert with_every_fault(begin, lambda lossy: write(Client(SCHEMA, "shop", lossy)), check) >= 2


def test_changed_keys_are_found_and_repaired() -> None:
    db = made(SCHEMA, fresh())
    db.insert(ONE)
    key = {"pk": {"S": "ARTIST#Nina"}, "sk": {"S": "SONG#1"}}
    db.call(
        "UpdateItem",
        {
            "Key": key,
            "UpdateExpression": "SET gsi1sk = :x REMOVE gsi2pk",
            "ExpressionAttributeValues": {":x": {"S": "?"}},
        },
    )
    (finding,) = audit(db)
    assert (finding.kind, finding.entity) == ("drifted", "Song.by-artist")
    assert repair(db, finding)
    assert list(audit(db)) == []
    assert db.get(Song, label="verve") == ONE


def test_shards_of_copies_are_put_where_they_belong() -> None:
    def schema(shards: str) -> Schema:
        index = {"gsi1": Key(f"SONGS#{{song_id:shard({shards})}}", "{song_id}", when=lambda s: s.state == "OUT")}
        copy = Copy("by-artist", Key("ARTIST#{artist}", "{song_id}"), ["title"], index)
        return Schema(Entity(Song, Key("SONG#{song_id}", "SONG"), patterns=[copy]), indexes=[Index("gsi1")])

    engine = fresh()
    few = made(schema("2"), engine)
    for number in range(8):
        few.insert(Song(str(number), "a", "jazz", state="DRAFT" if number == 3 else "OUT"))
    done = reshard(Client(schema("4 of 4"), "shop", engine), Song)
    assert (done.read, done.moved) == (16, 3)
    many = Client(schema("4"), "shop", engine)
    assert many.count(Song, state="OUT") == 7
    assert list(audit(many)) == []


def test_a_tenant_s_copies_stay_with_the_tenant() -> None:
    @dataclass(frozen=True)
    class Doc:
        tenant_id: str
        doc_id: str
        topic: str

    def schema(index: str) -> Schema:
        copy = Copy("t", Key("T#{tenant_id}#TOPIC#{topic}", "{doc_id}"), indexes={"gsi1": Key(index, "{doc_id}")})
        entity = Entity(Doc, Key("T#{tenant_id}", "DOC#{doc_id}"), patterns=[copy])
        return Schema(entity, indexes=[Index("gsi1")], tenant="tenant_id")

    with pytest.raises(SchemaError, match="does not begin with the tenant"):
        schema("TOPIC#{topic}")
    db = made(schema("T#{tenant_id}#ALL"), fresh())
    db.tenant("acme").insert(Doc("acme", "1", "x"))
    db.tenant("other").insert(Doc("other", "2", "x"))
    assert [one.doc_id for one in db.tenant("acme").query(Doc)] == ["1"]
