"""Where public names are defined. Each is imported when it is first used: cold start is a feature."""

_NAMES = {
    "prejoin.table.client.client": "Client",
    "prejoin.table.client.async_client": "AsyncClient AsyncTransaction",
    "prejoin.table.client.transaction": "Transaction",
    "prejoin.table.client.observe": "Call",
    "prejoin.table.schema.schema": "Schema",
    "prejoin.table.schema.declare": "Entity Index Key",
    "prejoin.types": "Kind Type",
    "prejoin.keys": "KeyValueError Order Template TemplateError When",
    "prejoin.table.read.page": "Collection Page",
    "prejoin.table.read.decode": "Unreadable",
    "prejoin.table.read.transact_get": "Get",
    "prejoin.table.read.cursor": "begun",
    "prejoin.table.read.signed_cursor": "EncryptedCursors SignedCursors",
    "prejoin.table.condition.record": "begins_with between contains exists of_type one_of size",
    "prejoin.table.update.changes": "Changes",
    "prejoin.table.update.draft": "add appended if_absent prepended",
    "prejoin.table.admin.drift": "Difference",
    "prejoin.table.ids": "ulid",
    "prejoin.engine": "Durability Embedded OpenError",
    "prejoin.engine.http": "Server",
    "prejoin.transport": (
        "AWS AsyncTransport AnswerLost ConnectionFailed Credentials CredentialsMissing Endpoint NotConfigured "
        "OnRetry OutcomeUnknown Retries Transport TransportError"
    ),
    "prejoin.protocol.errors": "DynamoDBError",
    "prejoin.errors": "PrejoinError",
    "prejoin.table.errors": (
        "AlreadyExists ArgumentError CodecError ConditionFailed Conflict CursorError Failure ItemTooLarge "
        "NoSuchTable NotAValue NotFound NotServed NotUnique OtherTenant PartlyWritten SchemaError TableError "
        "TooMany TransactionCancelled Unanswered UnknownAttribute UnknownValue Unprocessed VersionConflict"
    ),
    "prejoin.patterns.unique": "Unique",
    "prejoin.patterns.copies": "Copy",
    "prejoin.patterns.version": "Version",
    "prejoin.patterns.timestamps": "Timestamps",
    "prejoin.patterns.ttl": "TimeToLive",
    "prejoin.patterns.soft_delete": "SoftDelete purge restore",
    "prejoin.patterns.child": "Child",
    "prejoin.patterns.cascade": "delete_tree",
    "prejoin.patterns.receipt": "Receipt TokenReused once receipts",
    "prejoin.patterns.tenant": "tenant_policy",
    "prejoin.patterns.aggregates.counted": "Counted Summed",
    "prejoin.patterns.aggregates.highest": "Highest Lowest",
    "prejoin.patterns.aggregates.recount": "Recounted recount recount_all",
    "prejoin.patterns.aggregates.sharded": "total",
    "prejoin.patterns.integrity.audit": "audit",
    "prejoin.patterns.integrity.expected": "Finding",
    "prejoin.patterns.integrity.repair": "repair",
    "prejoin.patterns.integrity.reshard": "Resharded reshard",
    "prejoin.patterns.trees.tree": "Tree ancestors children subtree",
    "prejoin.patterns.trees.move": "MoveUnfinished move resume_moves",
    "prejoin.pipeline.document": "Document check_document parse_document read_document",
    "prejoin.pipeline.design.design_table": (
        "ContradictionError DesignRequest DesignResult design_table prove_design why with_alternatives without"
    ),
    "prejoin.pipeline.design.frontier": "design_frontier frontier_svg",
    "prejoin.design.frontier": "FrontierPoint",
    "prejoin.pipeline.design.design_file": "DesignFile read_design",
    "prejoin.pipeline.design.design_document": "design_target write_design",
    "prejoin.pipeline.build.build": "build_project",
    "prejoin.pipeline.build.build_plan": "BuildPlan",
    "prejoin.pipeline.build.settings": "Overrides",
    "prejoin.pipeline.query.query": "QueryResult run_pattern",
    "prejoin.pipeline.query.arguments": "MissingArgumentsError",
    "prejoin.pipeline.connection": "TablePlace",
    "prejoin.pipeline.progress": "Progress",
    "prejoin.pipeline.errors": "GeneratedCodeError InputError InvalidArgumentError PipelineError RefusedError",
    "prejoin.diagnostics": "Diagnostic Severity",
}
HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
"""The module of each public name."""
