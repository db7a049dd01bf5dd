// AWS's JavaScript SDK on the server whose URL is given: the plain client and the document client.
import assert from "node:assert/strict";
import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ResourceNotFoundException,
  TransactionCanceledException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
  paginateQuery,
} from "@aws-sdk/lib-dynamodb";

const client = new DynamoDBClient({ endpoint: process.argv[2], region: "us-east-1" });
const documents = DynamoDBDocumentClient.from(client);
const TableName = "javascript";

const steps = {
  async "a table with an index is made"() {
    const made = await client.send(
      new CreateTableCommand({
        TableName,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [
          { AttributeName: "pk", AttributeType: "S" },
          { AttributeName: "sk", AttributeType: "N" },
          { AttributeName: "kind", AttributeType: "S" },
        ],
        KeySchema: [
          { AttributeName: "pk", KeyType: "HASH" },
          { AttributeName: "sk", KeyType: "RANGE" },
        ],
        GlobalSecondaryIndexes: [
          {
            IndexName: "by-kind",
            KeySchema: [{ AttributeName: "kind", KeyType: "HASH" }],
            Projection: { ProjectionType: "ALL" },
          },
        ],
      }),
    );
    assert.equal(made.TableDescription.TableName, TableName);
    assert.ok(made.TableDescription.CreationDateTime instanceof Date);
    await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1 }, { TableName });
  },

  async "binary values are bytes"() {
    const Item = { pk: { S: "bytes" }, sk: { N: "1" }, b: { B: new Uint8Array([0, 255]) } };
    await client.send(new PutItemCommand({ TableName, Item }));
    const got = await client.send(new GetItemCommand({ TableName, Key: { pk: Item.pk, sk: Item.sk } }));
    assert.deepEqual([...got.Item.b.B], [0, 255]);
    assert.equal(got.$metadata.httpStatusCode, 200);
    assert.ok(got.$metadata.requestId);
  },

  async "documents are written and read"() {
    const Item = { pk: "a", sk: 1, kind: "x", deep: { list: [1, "two", null, true] }, tags: new Set(["p", "q"]) };
    await documents.send(new PutCommand({ TableName, Item }));
    const got = await documents.send(new GetCommand({ TableName, Key: { pk: "a", sk: 1 } }));
    assert.deepEqual(got.Item, Item);
  },

  async "an update has a condition and gives back what it changed"() {
    const update = {
      TableName,
      Key: { pk: "a", sk: 1 },
      UpdateExpression: "SET deep.#l[0] = :v",
      ConditionExpression: "contains(tags, :t)",
      ExpressionAttributeNames: { "#l": "list" },
      ExpressionAttributeValues: { ":v": 7, ":t": "p" },
      ReturnValues: "ALL_NEW",
    };
    const updated = await documents.send(new UpdateCommand(update));
    assert.deepEqual(updated.Attributes.deep.list, [7, "two", null, true]);
    update.ExpressionAttributeValues[":t"] = "absent";
    await assert.rejects(documents.send(new UpdateCommand(update)), ConditionalCheckFailedException);
  },

  async "batches and pages"() {
    for (let from = 0; from < 50; from += 25) {
      const puts = Array.from({ length: 25 }, (_, at) => ({
        PutRequest: { Item: { pk: "many", sk: from + at, kind: "y" } },
      }));
      await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }));
    }
    const query = {
      TableName,
      KeyConditionExpression: "pk = :p AND sk < :n",
      ExpressionAttributeValues: { ":p": "many", ":n": 45 },
      ScanIndexForward: false,
    };
    const sizes = [];
    const seen = [];
    for await (const page of paginateQuery({ client: documents, pageSize: 20 }, query)) {
      sizes.push(page.Items.length);
      seen.push(...page.Items.map((item) => item.sk));
    }
    assert.deepEqual(sizes, [20, 20, 5]);
    assert.deepEqual(seen, Array.from({ length: 45 }, (_, at) => 44 - at));
    const Keys = [{ pk: "many", sk: 3 }, { pk: "many", sk: 999 }];
    const got = await documents.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys } } }));
    assert.equal(got.Responses[TableName].length, 1);
    const index = { TableName, IndexName: "by-kind", KeyConditionExpression: "kind = :k", Select: "COUNT" };
    const counted = await documents.send(new QueryCommand({ ...index, ExpressionAttributeValues: { ":k": "y" } }));
    assert.equal(counted.Count, 50);
  },

  async "transactions"() {
    const TransactItems = [
      { Put: { TableName, Item: { pk: "t", sk: 1 }, ConditionExpression: "attribute_not_exists(pk)" } },
      { Delete: { TableName, Key: { pk: "many", sk: 0 } } },
    ];
    await documents.send(new TransactWriteCommand({ TransactItems }));
    await assert.rejects(documents.send(new TransactWriteCommand({ TransactItems })), (error) => {
      assert.ok(error instanceof TransactionCanceledException);
      assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["ConditionalCheckFailed", "None"]);
      return true;
    });
    const gets = [{ pk: "t", sk: 1 }, { pk: "many", sk: 0 }].map((Key) => ({ Get: { TableName, Key } }));
    const got = await documents.send(new TransactGetCommand({ TransactItems: gets }));
    assert.deepEqual(got.Responses.map((one) => one.Item), [{ pk: "t", sk: 1 }, undefined]);
  },

  async "many at once"() {
    const reads = Array.from({ length: 200 }, (_, at) =>
      documents.send(new GetCommand({ TableName, Key: { pk: "many", sk: (at % 49) + 1 } })),
    );
    const got = await Promise.all(reads);
    assert.ok(got.every((one, at) => one.Item.sk === (at % 49) + 1));
  },

  async "errors are of their class"() {
    const nowhere = new GetCommand({ TableName: "nowhere", Key: { pk: "a", sk: 1 } });
    await assert.rejects(documents.send(nowhere), ResourceNotFoundException);
    const half = new GetCommand({ TableName, Key: { pk: "a" } });
    await assert.rejects(documents.send(half), { name: "ValidationException" });
  },

  async "the table is removed"() {
    await client.send(new DeleteTableCommand({ TableName }));
  },
};

for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log(`ok ${name}`);
}
