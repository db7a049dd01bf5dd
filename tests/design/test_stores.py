"""Large contents in an object store: decided in the document, priced, rendered, deployed and proven."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from tests.design.claims import false_claims
from tests.design.test_large_contents import NOW, TEXT, errors, workload
from tests.render.infrastructure.documents import read_template, resolved
from tests.solutions import solve

from prejoin import (
    Client,
    Embedded,
    Entity,
    InputError,
    Key,
    Large,
    LargeValue,
    MemoryStore,
    NoStore,
    Schema,
    SchemaError,
    read_large,
    store_large,
)
from prejoin.design import codes
from prejoin.design.checks import check_design
from prejoin.design.cost.bill import OBJECT_STORE, bill
from prejoin.design.cost.contents import contents
from prejoin.design.cost.objective import objective
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.explain.explanation import explain_design
from prejoin.design.layout.growth import growth, keeps
from prejoin.design.model import ContentStore, Design
from prejoin.design.whatif.attempt import WhatIf
from prejoin.design.whatif.frontier import frontier
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from prejoin.patterns.large.large import LargePattern, large_pattern
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove
from prejoin.proof.prove_contents import prove_contents
from prejoin.proof.sample_table import SampleTable
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.infrastructure.options import Encryption, Infrastructure, Role
from prejoin.render.infrastructure.policies import policies_of
from prejoin.render.python.package import render_package, render_python
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import ContentPlace, Workload

STORED = f"{TEXT}\n## Decisions\n\n- Document.body in a store\n"
STORE = (ContentStore("Document", "body"),)


def stored() -> tuple[Workload, Design]:
    archive = workload(STORED)
    return archive, solve(archive).design


@pytest.mark.parametrize(
    ("decision", "found"),
    [
        ("Document.body in a store", STORE),
        ("Document.body in an object store", STORE),
        ("Document.body in parts", ()),
        ("minimise money", STORE),
        ("minimise structures", ()),
        ("minimise money\n- Document.body in parts", ()),
        ("minimise structures\n- Document.body in a store", STORE),
    ],
)
def test_place_is_decided_by_the_document_or_by_the_objective(decision: str, found: tuple[ContentStore, ...]) -> None:
    assert solve(workload(f"{TEXT}\n## Decisions\n\n- {decision}\n")).design.stores == found


def test_decision_is_the_same_in_every_format() -> None:
    archive = workload(STORED)
    assert archive.decisions[0].pin == ContentPlace("Document", "body", store=True)
    for form in ("md", "yaml", "json"):
        assert read_text(write_text(archive, form), form).workload == archive


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ("Document.title in a store", "`Document.title` is in its item"),
        ("Document.bodies in a store", "no attribute `bodies`"),
        ("Letter.body in parts", "no entity `Letter`"),
        ("Document.body in a store\n- Document.body in parts", "exclude each other"),
    ],
)
def test_decisions_that_cannot_be_obeyed_are_errors(decisions: str, message: str) -> None:
    found = errors(f"{TEXT}\n## Decisions\n\n- {decisions}\n")
    assert any(message in one for one in found), found


def test_bill_has_requests_and_storage_of_objects_instead_of_units() -> None:
    archive, design = stored()
    (body,) = contents(archive, design)
    found = bill(archive, design)
    assert (body.stored, body.write_units, body.object_count) == (True, 0, 1)
    assert float(body.written) == pytest.approx(1.5 * 2_592_000 * 0.005 / 1000)
    assert float(body.kept) == pytest.approx(1000 * 2 * 1024 * 1024 / 1e9 * 0.023)
    (objects,) = [one for one in found.storage if one.item == "Document.body"]
    assert (objects.slot, objects.stored) == (OBJECT_STORE, 1000 * 2 * 1024 * 1024)
    assert objects.dollars == round(body.kept, 6)
    assert found.kept == sum(one.dollars for one in found.storage)
    assert found.per_second.write == sum(one.rate * one.units.write for one in found.patterns)
    assert false_claims(archive, solve(archive)) == []
    assert body.objects == body.written + body.kept
    in_parts = workload()
    (parts,) = contents(in_parts, solve(in_parts).design)
    assert (parts.parts, parts.objects) == (body.parts, body.objects)
    assert parts.parts > 100 * parts.objects


@pytest.mark.slow
def test_store_is_a_structure_so_it_is_on_the_front_but_not_the_default() -> None:
    archive = workload()
    solution = solve(archive)
    front = frontier(WhatIf(archive, solution))
    assert [point.design.stores for point in front] == [(), STORE]
    assert front[0].design == solution.design
    assert front[1].complexity == front[0].complexity + 1
    assert objective(archive, front[1].design).dollars < objective(archive, solution.design).dollars


def test_explanation_prices_both_places_and_the_hint_is_gone() -> None:
    archive, design = stored()
    said = " ".join(text for about in explain_design(archive, design).entities for text in about.text)
    assert "`body` is in an object store, 1 object for each of 2.1 MB" in said
    assert "in parts in the table both would be $9,998" in said
    assert "Reading a thousand costs $0.0004; from parts it would be $0.0322." in said
    assert codes.LARGE_OBJECTS.id not in [one.code for one in check_design(design, archive)]


def test_hint_about_parts_names_the_decision() -> None:
    archive = workload()
    (hint,) = [one for one in check_design(solve(archive).design, archive) if one.code == codes.LARGE_OBJECTS.id]
    assert "`Document.body in a store`" in hint.fix
    decided = workload(f"{TEXT}\n## Decisions\n\n- Document.body in parts\n")
    assert codes.LARGE_OBJECTS.id not in [one.code for one in check_design(solve(decided).design, decided)]


def test_design_document_is_read_back() -> None:
    archive, design = stored()
    text = write_document(design, archive)
    assert read_document(text, archive).design == design
    assert read_document(text.replace("object store |", "parts        |"), archive).design.stores == ()
    unclear = read_document(text.replace("object store |", "somewhere    |"), archive)
    assert "`somewhere` is not a place" in [one.message for one in unclear.diagnostics]


def test_store_in_a_design_by_hand_has_to_be_of_a_content() -> None:
    archive, design = stored()
    text = write_document(design, archive)
    wrong = read_document(text.replace("| Document | body      | object", "| Document | title     | object"), archive)
    assert any("`Document.title` is no large content" in one.message for one in wrong.diagnostics)


def test_kept_store_stays() -> None:
    archive, design = stored()
    plain = workload()
    assert solve(plain, design).design.stores == STORE
    in_parts = solve(plain).design
    assert keeps(in_parts, design)
    assert not keeps(design, in_parts)
    assert growth(in_parts, design, archive).stores == STORE
    against = workload(f"{TEXT}\n## Decisions\n\n- Document.body in parts\n")
    kept = solve(against, design).design
    assert kept.stores == STORE
    said = [one.message for one in check_design(kept, against) if one.code == codes.NO_EFFECT.id]
    assert len(said) == 1
    assert "in a store, where contents may be" in said[0]


def test_generated_code_takes_a_store_and_is_proven() -> None:
    archive, design = stored()
    schema = render_package(archive, design).modules["schema"]
    assert "def schema(store: ObjectStore) -> Schema:" in schema
    assert 'patterns=[Large("body", store)]' in schema
    proof = prove(archive, design, Embedded(), now=NOW)
    assert proof.findings == ()
    assert all(one.problem == "" for one in proof.patterns)


def test_proof_stores_contents_outside_the_table_and_finds_a_lost_one() -> None:
    archive, design = stored()
    sample = SampleTable.create(archive, design, Embedded(), NOW)
    assert prove_contents(sample) == ""
    (content,) = sample.contents
    store = large_pattern(sample.package.schema, sample.package.classes["Document"], "body").declared.store
    assert isinstance(store, MemoryStore)
    with sample.watched() as calls:
        record = sample.client.get(sample.package.classes["Document"], **content.key)
        assert read_large(sample.client, record, "body") == content.data
    assert [call.operation for call in calls] == ["GetItem"]
    for key in list(store.keys("")):
        store.delete(key)
    assert "the content of Document.body cannot be read" in prove_contents(sample)


def test_schema_without_a_store_refuses_contents() -> None:
    @dataclass
    class Document:
        document_id: str
        body: LargeValue | None = None

    schema = Schema(Entity(Document, Key("DOC#{document_id}", "DOC"), patterns=[Large("body", NoStore())]))
    db = Client(schema, "documents", Embedded())
    db.create_table()
    db.insert(Document("1"))
    assert db.get(Document, document_id="1") == Document("1")
    assert store_large(db, Document, "body", b"small", document_id="1").place == "item"
    with pytest.raises(SchemaError, match="has no store for large contents"):
        store_large(db, Document, "body", os.urandom(20_000), document_id="1")


def test_generated_tests_use_a_store_in_memory() -> None:
    files = {path.name: text for path, text in render_python(*stored()).items()}
    assert "db = Client(schema(MemoryStore()), TABLE, Embedded())" in files["test_repository.py"]
    assert "def test_content_of_document_body() -> None:" in files["test_repository.py"]
    assert "SCHEMA = schema(NoStore())" in files["schema.py"]


def test_policies_allow_objects_to_those_who_use_them() -> None:
    archive, design = stored()
    roles = (Role("reader", ("AP-001",)), Role("writer", ("AP-020",)), Role("commenter", ("AP-022",)))
    found = {
        policy.role: {f"{one.service}:{action}" for one in policy.statements for action in one.actions}
        for policy in policies_of(archive, design, Infrastructure(roles=roles))
    }
    assert found == {
        "reader": {"dynamodb:GetItem", "s3:GetObject", "s3:ListBucket"},
        "writer": {"dynamodb:PutItem", "s3:PutObject"},
        "commenter": {"dynamodb:PutItem"},
    }


def test_policies_name_the_folders_that_the_client_uses() -> None:
    archive, design = stored()
    schema = load_package(archive, design).schema
    used = [
        pattern.prefix(design.table)
        for entity in schema.entities
        for pattern in entity.patterns
        if isinstance(pattern, LargePattern) and pattern.declared.store
    ]
    (text,) = LANGUAGES["cloudformation"](archive, design, Infrastructure()).values()
    resources = read_template(text)["Resources"]
    (objects,) = [
        one
        for one in resources["ApplicationPolicy"]["Properties"]["PolicyDocument"]["Statement"]
        if one["Sid"] == "Objects"
    ]
    assert [f"Bucket.Arn/{key}*" for key in used] == [resolved(one, design.table) for one in objects["Resource"]]
    for language in LANGUAGES:
        rendered = "\n".join(LANGUAGES[language](archive, design, Infrastructure()).values())
        for key in used:
            assert f"/{key.partition('/')[2]}*" in rendered, language


@pytest.mark.parametrize(
    ("language", "kept", "times"),
    [
        ("cloudformation", " DeletionPolicy: Retain", 2),  # the table and the bucket
        ("terraform", "prevent_destroy = true", 2),
        ("cdk-python", "RemovalPolicy.RETAIN", 2),
        ("cdk-typescript", "RemovalPolicy.RETAIN", 2),
        ("sst", "forceDestroy: false", 1),  # the component's own default is true
    ],
)
def test_bucket_is_not_destroyed_with_its_objects(language: str, kept: str, times: int) -> None:
    text = "\n".join(LANGUAGES[language](*stored(), Infrastructure()).values())
    assert text.count(kept) == times


def test_reader_of_objects_may_only_decrypt_with_the_key() -> None:
    archive, design = stored()
    options = Infrastructure(encryption=Encryption.CUSTOMER, roles=(Role("reader", ("AP-001",)),))
    (policy,) = policies_of(archive, design, options)
    assert policy.key_actions == ("kms:Decrypt", "kms:DescribeKey")


def test_template_has_a_private_encrypted_bucket() -> None:
    (text,) = LANGUAGES["cloudformation"](*stored(), Infrastructure()).values()
    template = read_template(text)
    bucket = template["Resources"]["Bucket"]
    assert (bucket["Type"], bucket["DeletionPolicy"]) == ("AWS::S3::Bucket", "Retain")
    properties = bucket["Properties"]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    (rule,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    (rule,) = properties["LifecycleConfiguration"]["Rules"]
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    # As long as the table can be restored, the objects that its items referred to are kept.
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 35}
    (denied,) = template["Resources"]["BucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert (denied["Effect"], denied["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert template["Outputs"]["BucketName"] == {"Value": {"Ref": "Bucket"}}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_has_the_bucket_only_where_contents_are_in_it(language: str) -> None:
    plain = workload()
    for options in (Infrastructure(), Infrastructure(encryption=Encryption.CUSTOMER, tags={"team": "a"})):
        with_store = "\n".join(LANGUAGES[language](*stored(), options).values())
        without = "\n".join(LANGUAGES[language](plain, solve(plain).design, options).values())
        assert "s3:PutObject" in with_store
        assert ("AES256" in with_store or "S3_MANAGED" in with_store) is (options.encryption is not Encryption.CUSTOMER)
        assert "s3" not in without
        assert "ucket" not in without


def test_query_interfaces_say_how_the_store_is_given() -> None:
    assert "- `Document.body`: in an object store; the client's schema is `schema(S3Store(…))`" in query_interfaces(
        *stored(), {}
    )


def test_evolution_refuses_to_take_the_store_away() -> None:
    archive, design = stored()
    plain = workload()
    old, new = CodeVersion("old", archive, design), CodeVersion("new", plain, solve(plain).design)
    with pytest.raises(InputError, match=r"Document\.body is in parts in NEW"):
        plan_transition(old, new)
