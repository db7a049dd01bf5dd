"""Optional inputs of writes: what is not given stays as it is, and None removes an optional attribute."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from msgspec.structs import replace
from tests.render.python.driving import designed, driven, proven, unproven
from tests.solutions import solve

from prejoin import NOT_GIVEN, CodecError, NotFound, NotGiven, NotUnique, TransactionCancelled
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Facet, Item, KeyAttribute, Slot
from prejoin.render.python.layout import Part
from prejoin.render.python.package import repository_methods
from prejoin.render.python.writes import existing_items
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload


def test_each_combination_of_given_none_and_left_out() -> None:
    """Three values of each input: what is left out stays, None removes, and a required attribute cannot be removed."""
    with driven(*designed("partial")) as driver:
        for name, nick in product(("Bob", None, NOT_GIVEN), ("B", None, NOT_GIVEN)):
            before = driver.record("Profile", name="Ann", nick="A")
            driver.repository.add_profile(before)
            given = {key: value for key, value in (("name", name), ("nick", nick)) if value is not NOT_GIVEN}
            driver.sample.calls.clear()
            if not given:
                with pytest.raises(ValueError, match="nothing is changed: give at least one of name, nick"):
                    driver.repository.edit_name(before.profile_id)
                assert driver.sample.calls == []
            elif name is None:
                with pytest.raises(CodecError, match=r"Profile\.name is required and cannot be removed"):
                    driver.repository.edit_name(before.profile_id, **given)
                assert driver.sample.calls == []
                given = {}
            else:
                driver.repository.edit_name(before.profile_id, **given)
            after = driver.get("Profile", profile_id=before.profile_id)
            assert (after.name, after.nick) == (given.get("name", "Ann"), given.get("nick", "A"))
            for other in ("email", "phone", "city", "street", "team_id", "rank", "state", "seen_at"):
                assert getattr(after, other) == getattr(before, other)


def test_keys_guards_and_sparse_indexes_follow_what_is_given() -> None:
    with driven(*designed("partial")) as driver:
        repository = driver.repository
        team = driver.record("Team")
        repository.add_team(team)
        values = {"city": "Ulm", "street": "Weg", "teamId": team.team_id, "rank": 5, "email": "a@x", "phone": "1"}
        profile = driver.record("Profile", state="NEW", **values)
        repository.add_profile(profile)
        other = driver.record("Profile", email="b@x", phone="2")
        repository.add_profile(other)
        key = profile.profile_id

        repository.edit_place(key, street="Gasse")
        assert [p.profile_id for p in repository.by_place("Ulm", "Gasse")] == [key]
        assert list(repository.by_place("Ulm", "Weg")) == []

        repository.move(key, rank=7)
        assert [(p.profile_id, p.rank) for p in repository.of_team(team.team_id)] == [(key, 7)]
        repository.move(key, team_id=None)
        assert list(repository.of_team(team.team_id)) == []
        repository.move(key, team_id=team.team_id, rank=None)
        assert [(p.profile_id, p.rank) for p in repository.of_team(team.team_id)] == [(key, None)]

        repository.edit_contact(key, email="c@x")
        repository.edit_contact(key, phone=None)
        found = repository.by_mail("c@x")
        assert (found.profile_id, found.phone) == (key, None)
        assert repository.by_mail("a@x") is None
        with pytest.raises((NotUnique, TransactionCancelled)):
            repository.edit_contact(key, email="b@x")
        repository.edit_contact(other.profile_id, phone="1")  # it is free again


def test_another_item_of_the_transaction_is_changed_or_checked() -> None:
    with driven(*designed("partial")) as driver:
        repository = driver.repository
        profile = driver.record("Profile", state="NEW", nick="A")
        repository.add_profile(profile)
        with pytest.raises(TransactionCancelled):
            repository.edit_both(profile.profile_id, nick="B")  # there is no Setting
        repository.set_(profile.profile_id, theme="dark")
        repository.edit_both(profile.profile_id, nick="B")
        setting = repository.setting(profile.profile_id)
        assert (repository.profile(profile.profile_id).nick, setting.theme, setting.size) == ("B", "dark", 3)
        repository.edit_both(profile.profile_id, theme=None)
        assert repository.profile(profile.profile_id).nick == "B"
        assert repository.setting(profile.profile_id).theme is None
        with pytest.raises(ValueError, match="nothing is changed"):
            repository.edit_both(profile.profile_id)
        repository.touch(profile.profile_id, state="GONE")
        with pytest.raises(TransactionCancelled):
            repository.edit_both(profile.profile_id, theme="light")  # its condition holds for the other item
        assert repository.setting(profile.profile_id).theme is None
        repository.rename_both(profile.profile_id, "light")
        assert repository.setting(profile.profile_id).theme == "light"
        repository.clear(profile.profile_id, both=None)
        assert repository.setting(profile.profile_id).theme is None
        with pytest.raises(ValueError, match="nothing is changed: give both"):
            repository.clear(profile.profile_id)
        missing = driver.record("Profile")
        for call in (repository.edit_name, repository.rename):
            argument = "nick" if call == repository.edit_name else "to"
            with pytest.raises(NotFound):
                call(missing.profile_id, **{argument: "x"})


def test_parameters_are_keywords_with_types() -> None:
    methods = repository_methods(*designed("partial"))
    found = {
        param.name: (param.annotation, param.default)
        for method in methods.values()
        for param in method.params
        if "NotGiven" in param.annotation
    }
    assert found == {
        "name": ("str | NotGiven", "NOT_GIVEN"),
        "nick": ("str | NotGiven | None", "NOT_GIVEN"),
        "email": ("str | NotGiven", "NOT_GIVEN"),
        "phone": ("str | NotGiven | None", "NOT_GIVEN"),
        "city": ("str | NotGiven", "NOT_GIVEN"),
        "street": ("str | NotGiven", "NOT_GIVEN"),
        "team_id": ("str | NotGiven | None", "NOT_GIVEN"),
        "rank": ("int | NotGiven | None", "NOT_GIVEN"),
        "state": ("ProfileState | NotGiven", "NOT_GIVEN"),
        "theme": ("str | NotGiven | None", "NOT_GIVEN"),
        "size": ("int | NotGiven", "NOT_GIVEN"),
        "to": ("str | NotGiven | None", "NOT_GIVEN"),
        "both": ("str | NotGiven | None", "NOT_GIVEN"),
    }
    assert repr(NOT_GIVEN) == "NOT_GIVEN"
    assert list(NotGiven) == [NOT_GIVEN]


# --- Keys made of several attributes


def templated(city: str, sk: str) -> tuple[Workload, Design]:
    """The document with the place of a profile in one key, as in an index that entities share."""
    workload, design = designed("partial")

    def facet(one: Facet) -> Facet:
        return replace(one, pk=(city,), sk=(sk,)) if one.slot == "gsi1" else one

    def slot(one: Slot) -> Slot:
        keys = {"pk": (KeyAttribute("gsi1pk"),), "sk": (KeyAttribute("gsi1sk"),)}
        return replace(one, **keys) if one.name == "gsi1" else one

    def item(one: Item) -> Item:
        return replace(one, facets=tuple(map(facet, one.facets)))

    design = replace(design, slots=tuple(map(slot, design.slots)), items=tuple(map(item, design.items)))
    return workload, map_patterns(design, workload)


@pytest.mark.parametrize(
    ("city", "sk", "reads"),
    [
        ("PLACE#{city}#{street}", "PROFILE#{profileId}", True),  # the one that is not given is needed
        ("PLACE#{city}", "STREET#{street}#{profileId}", True),  # each has a key of its own, but that is not looked at
        ("PLACE#{city}", "PROFILE#{profileId}", False),  # it is given, or the key stays
    ],
)
def test_a_key_of_two_optional_inputs_needs_the_stored_item(city: str, sk: str, reads: bool) -> None:
    workload, design = templated(city, sk)
    operation = design.operation("AP-023")
    assert operation is not None
    assert (operation.read_first == {"Profile"}) == reads
    assert [one for one in unproven(proven(workload, design)) if one[0] == "AP-023"] == []


# --- Both spellings, and refusals


DOCUMENT = """# Profiles

## Entities

### Profile

- **Attributes**: `profileId` (uuid, generated), `name` (string, mutable), `nick` (string, optional, mutable), `hits` (integer, mutable), `tags` (list of string, mutable)

### Note

- **Attributes**: `noteId` (ulid, generated), `profileId` (uuid, immutable, → Profile), `text` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Profile | get | profileId | Single |
| AP-002 | Note | notes | profileId | Collection |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Profile | new | Profile | create Profile | - |
| AP-011 | Note | new note | Note | create Note | - |
| AP-012 | Profile | edit | {row} |
"""


def test_both_spellings_mean_the_same() -> None:
    rows = [
        "profileId, name?, nick? | update Profile (name, nick) | -",
        "profileId, name?, nick? | update Profile (name?, nick?) | -",
        "profileId, name, nick | update Profile (name?, nick?) | -",
        "profileId, name?, nick | update Profile (name, nick?) | -",
        "profileId | update Profile (name?, nick?) | -",
        "profileId, name?, nick? | update Profile | -",
    ]
    bodies = set()
    for row in rows:
        result = read_text(DOCUMENT.format(row=row), "md")
        assert [one.message for one in result.diagnostics if one.severity == "error"] == []
        method = repository_methods(result.workload, solve(result.workload).design)["AP-012"]
        bodies.add((method.signature, method.body))
    assert len(bodies) == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("profileId?, name | update Profile (name) | -", "`profileId` may be left out, and the Profile is found by it"),
        ("key?, name | update Profile by key (name) | -", "`key` may be left out, and the Profile is found by it"),
        ("profileId? | delete Profile | -", "`profileId` may be left out, and the Profile is found by it"),
        ("profileId, name, n? | update Profile (name) | hits >= n", "`n` may be left out, and a condition compares"),
        ("profileId, name? | update Profile (name) | name <> name", "`name` may be left out, and a condition"),
        ("profileId, n? | update Profile (hits += n) | -", "`n` may be left out, and `hits` is changed by it"),
        ("profileId, n? | update Profile (hits -= n) | -", "`n` may be left out, and `hits` is changed by it"),
        ("profileId, tags? | update Profile (append tags) | -", "`tags` may be left out, and `tags` is changed by it"),
        ("Profile, n? | create Profile (nick = n) | -", "`n` may be left out, and `nick` of a new Profile is set"),
        ("profileId, name? | upsert Profile (name, hits += 1) | -", "and a new Profile needs `name`"),
        (
            "Profile, otherId, name? | create Profile; update Profile by otherId (name) | -",
            "and the new Profile has it",
        ),
        ("profileId[]?, name | update Profile[] (name) | -", "`profileId` may be left out, and it is a list"),
    ],
)
def test_what_must_be_there_cannot_be_left_out(row: str, message: str) -> None:
    result = read_text(DOCUMENT.format(row=row), "md")
    found = [one for one in result.diagnostics if one.severity == "error" and message in one.message]
    assert [one.code for one in found] == ["PJ212"]
    assert "?" in found[0].fix or "[]" in found[0].fix


@pytest.mark.slow
def test_the_proof_finds_code_that_changes_what_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(params: Iterable[str]) -> Part:
        return "True"

    workload, design = designed("partial")
    monkeypatch.setattr(existing_items, "is_any_given", always)
    found = {pattern for pattern, _, _ in unproven(proven(workload, design))}
    assert found >= {"AP-021", "AP-022", "AP-023", "AP-024", "AP-025", "AP-026", "AP-027", "AP-031"}


WIKI = """# Wiki

## Entities

### Page

- **Attributes**: `pageId` (string, natural), `title` (string, mutable), `body` (string, mutable, optional), `version` (integer, mutable)
- **History**: 20 versions

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Page | get | pageId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Page | new | Page | create Page | {atomic} |
| AP-011 | Page | edit | {inputs} | {items} | {atomic} |
"""


@pytest.mark.parametrize("atomic", ["No", "Yes"])
def test_a_history_counts_only_versions_that_change_something(atomic: str) -> None:
    forms = product(("pageId, title?, body?", "pageId, title, body?"), ("update Page (title, body)", "update Page"))
    for inputs, items in forms:
        workload = read_text(WIKI.format(inputs=inputs, items=items, atomic=atomic), "md").workload
        design = solve(workload).design
        assert unproven(proven(workload, design)) == []
        with driven(workload, design) as driver:
            page = driver.record("Page", title="a", body="b")
            driver.repository.new(page)
            driver.repository.edit(page.page_id, title="c")
            if "title?" in inputs:
                with pytest.raises(ValueError, match="nothing is changed"):
                    driver.repository.edit(page.page_id)
            after = driver.get("Page", page_id=page.page_id)
            assert (after.title, after.body, after.version) == ("c", "b", 2)
