"""Single-table design for DynamoDB: typed clients, patterns, an embedded engine, and the design pipeline.

Everything public is here, or in `prejoin.testing` (a pytest plugin and a boto3 mock). Other modules are private: their
names may change without notice. Nothing is imported before it is used, so `import prejoin` costs nothing.

Declare entities with their keys, and bind the schema to a table:

    >>> from dataclasses import dataclass
    >>> from prejoin import Client, Embedded, Entity, Key, Schema
    >>> @dataclass
    ... class Order:
    ...     user_id: str
    ...     order_id: str
    ...     total: int
    >>> schema = Schema(Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}")))
    >>> db = Client(schema, "shop", Embedded())  # or AWS(), Endpoint(url); AsyncClient for asyncio
    >>> db.create_table()
    >>> db.insert(Order("42", "o1", 30))
    Order(user_id='42', order_id='o1', total=30)
    >>> db.query(Order, user_id="42").items
    (Order(user_id='42', order_id='o1', total=30),)

- Clients: `Client` and `AsyncClient` insert, put, update, delete, get, query, collect and run transactions.
- Places: `AWS()`, `Endpoint(url)` and `Embedded()`, a DynamoDB in memory or in a file.
- Patterns, declared as `Entity(…, patterns=[…])`: `Unique`, `Copy`, `Counted`, `Version`, `TimeToLive` and others.
- Streams: `read_changes` makes typed changes of stream records, `StreamHandlers` handle them in Lambda or by a
  `StreamConsumer` on the embedded engine.
- Conditions and updates: `between`, `exists`, `one_of`, `add`, `appended` and others.
- The pipeline, which needs the extra `design`: `read_document`, `check_document`, `design_table`, `prove_design`,
  `build_project` and `run_pattern` do what the commands do.
- Migrations, which need the extra `migrate`: `discover_database`, `open_migration`, `plan_load`, `load_table`,
  `follow_table`, `verify_table`, `cut_over`, `roll_back` and `migration_status`; for the application `record_changes`
  and `ShadowReads`.
- From one design to the next, which needs the extra `design`: `open_version`, `plan_transition` and `open_evolution`.
- Errors: all derive from `PrejoinError`.
"""

from typing import TYPE_CHECKING, Any

from prejoin._exports import HOMES
from prejoin._version import __version__ as __version__

if TYPE_CHECKING:
    from prejoin.design.whatif.frontier import FrontierPoint as FrontierPoint
    from prejoin.diagnostics import Diagnostic as Diagnostic
    from prejoin.diagnostics import Severity as Severity
    from prejoin.engine import Durability as Durability
    from prejoin.engine import Embedded as Embedded
    from prejoin.engine import OpenError as OpenError
    from prejoin.engine.http import Server as Server
    from prejoin.errors import PrejoinError as PrejoinError
    from prejoin.keys import KeyValueError as KeyValueError
    from prejoin.keys import Order as Order
    from prejoin.keys import Template as Template
    from prejoin.keys import TemplateError as TemplateError
    from prejoin.keys import When as When
    from prejoin.migrate.cutover import Cutover as Cutover
    from prejoin.migrate.cutover import CutoverEntity as CutoverEntity
    from prejoin.migrate.cutover import CutoverResult as CutoverResult
    from prejoin.migrate.cutover import cut_over as cut_over
    from prejoin.migrate.discover.discover import Discovery as Discovery
    from prejoin.migrate.discover.discover import discover_database as discover_database
    from prejoin.migrate.discover.document import Misfit as Misfit
    from prejoin.migrate.evolve.items import Evolution as Evolution
    from prejoin.migrate.evolve.items import StepResult as StepResult
    from prejoin.migrate.evolve.items import open_evolution as open_evolution
    from prejoin.migrate.evolve.plan import BackfillEstimate as BackfillEstimate
    from prejoin.migrate.evolve.plan import EvolutionStep as EvolutionStep
    from prejoin.migrate.evolve.plan import estimate_backfill as estimate_backfill
    from prejoin.migrate.evolve.plan import open_version as open_version
    from prejoin.migrate.evolve.plan import steps_of as steps_of
    from prejoin.migrate.evolve.plan import write_steps as write_steps
    from prejoin.migrate.evolve.transition import CodeVersion as CodeVersion
    from prejoin.migrate.evolve.transition import Transition as Transition
    from prejoin.migrate.evolve.transition import plan_transition as plan_transition
    from prejoin.migrate.follow.follow import FollowResult as FollowResult
    from prejoin.migrate.follow.follow import follow_table as follow_table
    from prejoin.migrate.load.export import ExportResult as ExportResult
    from prejoin.migrate.load.export import export_items as export_items
    from prejoin.migrate.load.load import LoadResult as LoadResult
    from prejoin.migrate.load.load import load_table as load_table
    from prejoin.migrate.load.plan import EntityPlan as EntityPlan
    from prejoin.migrate.load.plan import LoadPlan as LoadPlan
    from prejoin.migrate.load.plan import plan_load as plan_load
    from prejoin.migrate.load.state import DeadLetter as DeadLetter
    from prejoin.migrate.load.state import EntityProgress as EntityProgress
    from prejoin.migrate.migration import Migration as Migration
    from prejoin.migrate.migration import open_migration as open_migration
    from prejoin.migrate.outbox import NotRecordedError as NotRecordedError
    from prejoin.migrate.outbox import outbox_table as outbox_table
    from prejoin.migrate.outbox import record_changes as record_changes
    from prejoin.migrate.outbox import record_rows as record_rows
    from prejoin.migrate.rollback import RollbackResult as RollbackResult
    from prejoin.migrate.rollback import roll_back as roll_back
    from prejoin.migrate.shadow import ShadowCounts as ShadowCounts
    from prejoin.migrate.shadow import ShadowDifference as ShadowDifference
    from prejoin.migrate.shadow import ShadowReads as ShadowReads
    from prejoin.migrate.status import MigrationStatus as MigrationStatus
    from prejoin.migrate.status import migration_status as migration_status
    from prejoin.migrate.verify.sides import PatternComparison as PatternComparison
    from prejoin.migrate.verify.verify import EntityComparison as EntityComparison
    from prejoin.migrate.verify.verify import VerifyResult as VerifyResult
    from prejoin.migrate.verify.verify import verify_table as verify_table
    from prejoin.patterns.aggregates.count import Counted as Counted
    from prejoin.patterns.aggregates.count import Summed as Summed
    from prejoin.patterns.aggregates.highest import Highest as Highest
    from prejoin.patterns.aggregates.highest import Lowest as Lowest
    from prejoin.patterns.aggregates.recount import Recounted as Recounted
    from prejoin.patterns.aggregates.recount import recount as recount
    from prejoin.patterns.aggregates.recount import recount_all as recount_all
    from prejoin.patterns.aggregates.sharded import total as total
    from prejoin.patterns.aggregates.sharded_counter import ShardedCounter as ShardedCounter
    from prejoin.patterns.aggregates.sharded_counter import with_counts as with_counts
    from prejoin.patterns.bounds import Bounds as Bounds
    from prejoin.patterns.bulk.change import bulk_delete as bulk_delete
    from prejoin.patterns.bulk.change import bulk_update as bulk_update
    from prejoin.patterns.bulk.collection import delete_collection as delete_collection
    from prejoin.patterns.bulk.items import bulk_copy as bulk_copy
    from prejoin.patterns.bulk.items import bulk_export as bulk_export
    from prejoin.patterns.bulk.items import bulk_import as bulk_import
    from prejoin.patterns.bulk.items import delete_tenant as delete_tenant
    from prejoin.patterns.bulk.job import BulkOptions as BulkOptions
    from prejoin.patterns.bulk.job import BulkProgress as BulkProgress
    from prejoin.patterns.bulk.load import bulk_load as bulk_load
    from prejoin.patterns.cascade import delete_tree as delete_tree
    from prejoin.patterns.child import Child as Child
    from prejoin.patterns.copies import Copy as Copy
    from prejoin.patterns.follows import Follows as Follows
    from prejoin.patterns.follows import refresh as refresh
    from prejoin.patterns.history import History as History
    from prejoin.patterns.history import compare_versions as compare_versions
    from prejoin.patterns.history import history as history
    from prejoin.patterns.history import restore_version as restore_version
    from prejoin.patterns.history import version_of as version_of
    from prejoin.patterns.integrity.audit import audit as audit
    from prejoin.patterns.integrity.findings import Finding as Finding
    from prejoin.patterns.integrity.repair import repair as repair
    from prejoin.patterns.integrity.reshard import Resharded as Resharded
    from prejoin.patterns.integrity.reshard import reshard as reshard
    from prejoin.patterns.large.content import LargeContentError as LargeContentError
    from prejoin.patterns.large.content import delete_large as delete_large
    from prejoin.patterns.large.content import read_large as read_large
    from prejoin.patterns.large.content import store_large as store_large
    from prejoin.patterns.large.content import stream_large as stream_large
    from prejoin.patterns.large.content import write_large as write_large
    from prejoin.patterns.large.garbage import remove_garbage as remove_garbage
    from prejoin.patterns.large.large import Large as Large
    from prejoin.patterns.large.large import LargeValue as LargeValue
    from prejoin.patterns.large.stores import FolderStore as FolderStore
    from prejoin.patterns.large.stores import MemoryStore as MemoryStore
    from prejoin.patterns.large.stores import NoStore as NoStore
    from prejoin.patterns.large.stores import ObjectStore as ObjectStore
    from prejoin.patterns.mirror import Mirror as Mirror
    from prejoin.patterns.next_form import NextForm as NextForm
    from prejoin.patterns.read_as import ReadAs as ReadAs
    from prejoin.patterns.receipt import Receipt as Receipt
    from prejoin.patterns.receipt import TokenReused as TokenReused
    from prejoin.patterns.receipt import once as once
    from prejoin.patterns.receipt import receipts as receipts
    from prejoin.patterns.soft_delete import SoftDelete as SoftDelete
    from prejoin.patterns.soft_delete import purge as purge
    from prejoin.patterns.soft_delete import restore as restore
    from prejoin.patterns.tenant import tenant_policy as tenant_policy
    from prejoin.patterns.timestamps import Timestamps as Timestamps
    from prejoin.patterns.trees.move import MoveUnfinished as MoveUnfinished
    from prejoin.patterns.trees.move import move as move
    from prejoin.patterns.trees.move import resume_moves as resume_moves
    from prejoin.patterns.trees.tree import Tree as Tree
    from prejoin.patterns.trees.tree import ancestors as ancestors
    from prejoin.patterns.trees.tree import children as children
    from prejoin.patterns.trees.tree import subtree as subtree
    from prejoin.patterns.ttl import TimeToLive as TimeToLive
    from prejoin.patterns.unique import Unique as Unique
    from prejoin.patterns.version import Version as Version
    from prejoin.pipeline.build.build import build_project as build_project
    from prejoin.pipeline.build.build_plan import BuildPlan as BuildPlan
    from prejoin.pipeline.build.settings import Overrides as Overrides
    from prejoin.pipeline.check import check_document as check_document
    from prejoin.pipeline.connection import TablePlace as TablePlace
    from prejoin.pipeline.design.design_document import design_target as design_target
    from prejoin.pipeline.design.design_document import write_design as write_design
    from prejoin.pipeline.design.design_file import DesignFile as DesignFile
    from prejoin.pipeline.design.design_file import read_design as read_design
    from prejoin.pipeline.design.design_table import ContradictionError as ContradictionError
    from prejoin.pipeline.design.design_table import DesignRequest as DesignRequest
    from prejoin.pipeline.design.design_table import DesignResult as DesignResult
    from prejoin.pipeline.design.design_table import design_table as design_table
    from prejoin.pipeline.design.design_table import prove_design as prove_design
    from prejoin.pipeline.design.design_table import why as why
    from prejoin.pipeline.design.design_table import with_alternatives as with_alternatives
    from prejoin.pipeline.design.design_table import without as without
    from prejoin.pipeline.design.frontier import design_frontier as design_frontier
    from prejoin.pipeline.design.frontier import frontier_svg as frontier_svg
    from prejoin.pipeline.document import Document as Document
    from prejoin.pipeline.document import parse_document as parse_document
    from prejoin.pipeline.document import read_document as read_document
    from prejoin.pipeline.errors import GeneratedCodeError as GeneratedCodeError
    from prejoin.pipeline.errors import InputError as InputError
    from prejoin.pipeline.errors import InvalidArgumentError as InvalidArgumentError
    from prejoin.pipeline.errors import PipelineError as PipelineError
    from prejoin.pipeline.errors import RefusedError as RefusedError
    from prejoin.pipeline.progress import Progress as Progress
    from prejoin.pipeline.query.arguments import MissingArgumentsError as MissingArgumentsError
    from prejoin.pipeline.query.query import QueryResult as QueryResult
    from prejoin.pipeline.query.query import run_pattern as run_pattern
    from prejoin.protocol.errors import DynamoDBError as DynamoDBError
    from prejoin.streams.changes import StreamChange as StreamChange
    from prejoin.streams.changes import read_changes as read_changes
    from prejoin.streams.consumer import StreamConsumer as StreamConsumer
    from prejoin.streams.handlers import StreamHandlers as StreamHandlers
    from prejoin.streams.records import StreamRecordError as StreamRecordError
    from prejoin.streams.refresh import keep_fresh as keep_fresh
    from prejoin.streams.totals import Contribution as Contribution
    from prejoin.streams.totals import StreamTotals as StreamTotals
    from prejoin.streams.totals import contributions as contributions
    from prejoin.streams.totals import keep_totals as keep_totals
    from prejoin.streams.totals import rebuild_totals as rebuild_totals
    from prejoin.table.admin.drift import Difference as Difference
    from prejoin.table.admin.drift import UnfitTable as UnfitTable
    from prejoin.table.client.async_client import AsyncClient as AsyncClient
    from prejoin.table.client.async_client import AsyncTransaction as AsyncTransaction
    from prejoin.table.client.client import Client as Client
    from prejoin.table.client.observe import Call as Call
    from prejoin.table.client.transaction import Transaction as Transaction
    from prejoin.table.condition.record import begins_with as begins_with
    from prejoin.table.condition.record import between as between
    from prejoin.table.condition.record import contains as contains
    from prejoin.table.condition.record import exists as exists
    from prejoin.table.condition.record import not_ as not_
    from prejoin.table.condition.record import of_type as of_type
    from prejoin.table.condition.record import one_of as one_of
    from prejoin.table.condition.record import size as size
    from prejoin.table.errors import AlreadyExists as AlreadyExists
    from prejoin.table.errors import ArgumentError as ArgumentError
    from prejoin.table.errors import CodecError as CodecError
    from prejoin.table.errors import ConditionFailed as ConditionFailed
    from prejoin.table.errors import Conflict as Conflict
    from prejoin.table.errors import CursorError as CursorError
    from prejoin.table.errors import Failure as Failure
    from prejoin.table.errors import ItemTooLarge as ItemTooLarge
    from prejoin.table.errors import NoSuchTable as NoSuchTable
    from prejoin.table.errors import NotAValue as NotAValue
    from prejoin.table.errors import NotFound as NotFound
    from prejoin.table.errors import NotServed as NotServed
    from prejoin.table.errors import NotUnique as NotUnique
    from prejoin.table.errors import OtherTenant as OtherTenant
    from prejoin.table.errors import PartlyWritten as PartlyWritten
    from prejoin.table.errors import SchemaError as SchemaError
    from prejoin.table.errors import TableError as TableError
    from prejoin.table.errors import TooMany as TooMany
    from prejoin.table.errors import TransactionCancelled as TransactionCancelled
    from prejoin.table.errors import Unanswered as Unanswered
    from prejoin.table.errors import UnknownAttribute as UnknownAttribute
    from prejoin.table.errors import UnknownValue as UnknownValue
    from prejoin.table.errors import Unprocessed as Unprocessed
    from prejoin.table.errors import VersionConflict as VersionConflict
    from prejoin.table.ids import ulid as ulid
    from prejoin.table.not_given import NOT_GIVEN as NOT_GIVEN
    from prejoin.table.not_given import NotGiven as NotGiven
    from prejoin.table.read.cursor import begun as begun
    from prejoin.table.read.decode import Unreadable as Unreadable
    from prejoin.table.read.page import Collection as Collection
    from prejoin.table.read.page import Page as Page
    from prejoin.table.read.signed_cursor import EncryptedCursors as EncryptedCursors
    from prejoin.table.read.signed_cursor import SignedCursors as SignedCursors
    from prejoin.table.read.transact_get import Get as Get
    from prejoin.table.schema.declare import Entity as Entity
    from prejoin.table.schema.declare import Index as Index
    from prejoin.table.schema.declare import Key as Key
    from prejoin.table.schema.schema import Schema as Schema
    from prejoin.table.update.changes import Changes as Changes
    from prejoin.table.update.draft import add as add
    from prejoin.table.update.draft import appended as appended
    from prejoin.table.update.draft import if_absent as if_absent
    from prejoin.table.update.draft import prepended as prepended
    from prejoin.transport import AWS as AWS
    from prejoin.transport import AnswerLost as AnswerLost
    from prejoin.transport import AsyncTransport as AsyncTransport
    from prejoin.transport import ConnectionFailed as ConnectionFailed
    from prejoin.transport import Credentials as Credentials
    from prejoin.transport import CredentialsMissing as CredentialsMissing
    from prejoin.transport import Endpoint as Endpoint
    from prejoin.transport import NotConfigured as NotConfigured
    from prejoin.transport import OnRetry as OnRetry
    from prejoin.transport import OutcomeUnknown as OutcomeUnknown
    from prejoin.transport import Retries as Retries
    from prejoin.transport import Transport as Transport
    from prejoin.transport import TransportError as TransportError
    from prejoin.transport.s3 import S3Error as S3Error
    from prejoin.transport.s3 import S3Store as S3Store
    from prejoin.types import Kind as Kind
    from prejoin.types import Type as Type

__all__ = sorted(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
