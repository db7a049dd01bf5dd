// What SST documents of its globals, as far as we use it. SST makes its own declarations when it is first run, online.
type Value<T> = { readonly value: T };
type Key = string | string[];
type Projection = "all" | "keys-only" | string[];

interface IndexArgs {
  readonly hashKey?: string;
  readonly rangeKey?: string;
}

declare namespace aws {
  namespace dynamodb {
    interface TableArgs {
      billingMode?: "PROVISIONED" | "PAY_PER_REQUEST" | string;
      readCapacity?: number;
      writeCapacity?: number;
      onDemandThroughput?: { maxReadRequestUnits?: number; maxWriteRequestUnits?: number };
      tableClass?: string;
      pointInTimeRecovery?: { enabled: boolean };
      serverSideEncryption?: { enabled: boolean; kmsKeyArn?: string | Value<string> };
      tags?: Record<string, string>;
      globalSecondaryIndexes?: IndexArgs[];
    }
  }
  namespace kms {
    class Key {
      constructor(
        name: string,
        args: { description: string; enableKeyRotation: boolean },
        options: { retainOnDelete: boolean },
      );
      readonly arn: Value<string>;
    }
  }
  namespace s3 {
    interface EncryptionRule {
      applyServerSideEncryptionByDefault: { sseAlgorithm: string; kmsMasterKeyId?: string | Value<string> };
      bucketKeyEnabled?: boolean;
    }
    class BucketServerSideEncryptionConfigurationV2 {
      constructor(name: string, args: { bucket: Value<string>; rules: EncryptionRule[] });
    }
    interface LifecycleRule {
      id: string;
      status: string;
      abortIncompleteMultipartUpload: { daysAfterInitiation: number };
      noncurrentVersionExpiration?: { noncurrentDays: number };
      expiration?: { expiredObjectDeleteMarker: boolean };
    }
    class BucketVersioningV2 {
      constructor(name: string, args: { bucket: Value<string>; versioningConfiguration: { status: string } });
    }
    class BucketLifecycleConfigurationV2 {
      constructor(name: string, args: { bucket: Value<string>; rules: LifecycleRule[] });
    }
  }
  namespace iam {
    class Policy {
      constructor(name: string, args: { description: string; policy: Value<string> });
      readonly arn: Value<string>;
    }
  }
  namespace appautoscaling {
    class Target {
      constructor(
        name: string,
        args: {
          serviceNamespace: string;
          resourceId: Value<string>;
          scalableDimension: string;
          minCapacity: number;
          maxCapacity: number;
        },
      );
      readonly serviceNamespace: Value<string>;
      readonly resourceId: Value<string>;
      readonly scalableDimension: Value<string>;
    }
    class Policy {
      constructor(
        name: string,
        args: {
          policyType: string;
          serviceNamespace: Value<string>;
          resourceId: Value<string>;
          scalableDimension: Value<string>;
          targetTrackingScalingPolicyConfiguration: {
            predefinedMetricSpecification: { predefinedMetricType: string };
            targetValue: number;
          };
        },
      );
    }
  }
}

declare namespace sst {
  namespace aws {
    class Bucket {
      constructor(
        name: string,
        args: { cors: boolean; transform: { bucket: { forceDestroy: boolean; tags?: Record<string, string> } } },
      );
      readonly name: Value<string>;
      readonly arn: Value<string>;
    }
    class Dynamo {
      constructor(
        name: string,
        args: {
          fields: Record<string, "string" | "number" | "binary">;
          primaryIndex: { hashKey: string; rangeKey?: string };
          globalIndexes?: Record<string, { hashKey: Key; rangeKey?: Key; projection?: Projection }>;
          localIndexes?: Record<string, { rangeKey: string; projection?: Projection }>;
          stream?: "keys-only" | "new-image" | "old-image" | "new-and-old-images";
          ttl?: string;
          deletionProtection?: boolean;
          transform?: {
            table?: globalThis.aws.dynamodb.TableArgs | ((args: globalThis.aws.dynamodb.TableArgs) => void);
          };
        },
      );
      readonly arn: Value<string>;
      readonly name: Value<string>;
      readonly nodes: { readonly table: { readonly streamArn: Value<string> } };
    }
  }
}

declare const $util: {
  output<T>(value: T): { apply<U>(with_: (value: T) => U): Value<U> };
};
declare function $interpolate(texts: TemplateStringsArray, ...values: Value<string>[]): Value<string>;
declare function $jsonStringify(value: unknown): Value<string>;
