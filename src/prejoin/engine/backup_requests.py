"""The requests of backups, point-in-time recovery, exports and imports. The names are those of AWS's API model."""

from __future__ import annotations

import msgspec

from prejoin.engine.requests import (
    AttributeDefinition,
    KeySchemaElement,
    OnDemandThroughput,
    ProvisionedThroughput,
    RequestShape,
    SecondaryIndex,
    SSESpecification,
)


class CreateBackupInput(RequestShape, frozen=True):
    table_name: str | None = None
    backup_name: str | None = None


class BackupInput(RequestShape, frozen=True):
    """The request of DescribeBackup and DeleteBackup."""

    backup_arn: str | None = None


class ListBackupsInput(RequestShape, frozen=True):
    table_name: str | None = None
    limit: int | None = None
    time_range_lower_bound: float | None = None
    time_range_upper_bound: float | None = None
    exclusive_start_backup_arn: str | None = None
    backup_type: str | None = None


class RestoreInput(RequestShape, frozen=True):
    """The members with which a table is restored: its name, and what is different from the original."""

    target_table_name: str | None = None
    billing_mode_override: str | None = None
    global_secondary_index_override: list[SecondaryIndex] | None = None
    local_secondary_index_override: list[SecondaryIndex] | None = None
    provisioned_throughput_override: ProvisionedThroughput | None = None
    on_demand_throughput_override: OnDemandThroughput | None = None
    encryption_override: SSESpecification | None = msgspec.field(name="SSESpecificationOverride", default=None)


class RestoreFromBackupInput(RestoreInput, frozen=True):
    backup_arn: str | None = None


class RestoreToPointInTimeInput(RestoreInput, frozen=True):
    source_table_arn: str | None = None
    source_table_name: str | None = None
    use_latest_restorable_time: bool | None = None
    restore_date_time: float | None = None


class IncrementalExport(RequestShape, frozen=True):
    export_from_time: float | None = None
    export_to_time: float | None = None
    export_view_type: str | None = None


class ExportTableInput(RequestShape, frozen=True):
    table_arn: str | None = None
    export_time: float | None = None
    client_token: str | None = None
    s3_bucket: str | None = msgspec.field(name="S3Bucket", default=None)
    s3_bucket_owner: str | None = msgspec.field(name="S3BucketOwner", default=None)
    s3_prefix: str | None = msgspec.field(name="S3Prefix", default=None)
    s3_sse_algorithm: str | None = msgspec.field(name="S3SseAlgorithm", default=None)
    s3_sse_kms_key_id: str | None = msgspec.field(name="S3SseKmsKeyId", default=None)
    export_format: str | None = None
    export_type: str | None = None
    incremental_export_specification: IncrementalExport | None = None
    filter_specification: msgspec.Raw | None = None


class ExportInput(RequestShape, frozen=True):
    """The request of DescribeExport."""

    export_arn: str | None = None


class ListExportsInput(RequestShape, frozen=True):
    table_arn: str | None = None
    max_results: int | None = None
    next_token: str | None = None


class BucketSource(RequestShape, frozen=True):
    s3_bucket: str | None = msgspec.field(name="S3Bucket", default=None)
    s3_bucket_owner: str | None = msgspec.field(name="S3BucketOwner", default=None)
    s3_key_prefix: str | None = msgspec.field(name="S3KeyPrefix", default=None)


class CsvOptions(RequestShape, frozen=True):
    delimiter: str | None = None
    header_list: list[str] | None = None


class InputFormatOptions(RequestShape, frozen=True):
    csv: CsvOptions | None = None


class TableCreation(RequestShape, frozen=True):
    """The table that an import creates."""

    table_name: str | None = None
    attribute_definitions: list[AttributeDefinition] | None = None
    key_schema: list[KeySchemaElement] | None = None
    billing_mode: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    encryption: SSESpecification | None = msgspec.field(name="SSESpecification", default=None)
    global_secondary_indexes: list[SecondaryIndex] | None = None


class ImportTableInput(RequestShape, frozen=True):
    client_token: str | None = None
    s3_bucket_source: BucketSource | None = msgspec.field(name="S3BucketSource", default=None)
    input_format: str | None = None
    input_format_options: InputFormatOptions | None = None
    input_compression_type: str | None = None
    table_creation_parameters: TableCreation | None = None


class ImportInput(RequestShape, frozen=True):
    """The request of DescribeImport."""

    import_arn: str | None = None


class ListImportsInput(RequestShape, frozen=True):
    table_arn: str | None = None
    page_size: int | None = None
    next_token: str | None = None
