import { describe, expect, it } from "vitest";
import { readMessage } from "../../src/mcp/stdio-messages.js";

const read = (text: string) => readMessage(Buffer.from(text));
const refused = (code: number, id: unknown, message: string) => ({
  kind: "refused",
  answer: { jsonrpc: "2.0", id, error: { code, message: expect.stringContaining(message) } },
});
const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;

describe("a line from a client", () => {
  it.each([
    ["hello", -32700, null, "not valid JSON"],
    ['{"jsonrpc":"2.0","id":1', -32700, null, "not valid JSON"],
    ["[".repeat(10_000), -32700, null, "not valid JSON"],
    ["[]", -32600, null, "batches"],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, null, "on its own line"],
    [deep, -32600, null, "batches"],
    ["1", -32600, null, "a JSON object"],
    ["null", -32600, null, "a JSON object"],
    ["{}", -32600, null, '"jsonrpc"'],
    ['{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7, '"jsonrpc"'],
    ['{"jsonrpc":"2.0","id":7}', -32600, 7, '"method"'],
    ['{"jsonrpc":"2.0","method":1,"params":"bar"}', -32600, null, '"method"'],
    ['{"jsonrpc":"2.0","id":"a","method":{}}', -32600, "a", '"method"'],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, null, '"id"'],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null, '"id"'],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, null, '"id"'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600, 1, '"params"'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', -32600, 1, '"params"'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"ping","more":1}',
      -32600,
      1,
      'may have only "jsonrpc", "id", "method" and "params"',
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}', -32600, 1, '"params._meta"'],
  ])("is refused with the error of JSON-RPC: %s", (text, code, id, message) => {
    expect(read(text)).toEqual(refused(code, id, message));
  });

  it("is refused if it isn't UTF-8, and accepted with a byte order mark or a carriage return", () => {
    expect(readMessage(Buffer.from([0x7b, 0xff, 0x7d]))).toEqual(refused(-32700, null, "not UTF-8"));
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect(read(`\ufeff${JSON.stringify(ping)}\r`)).toEqual({ kind: "request", message: ping });
  });

  it("gets no answer if JSON-RPC allows none", () => {
    for (const text of [
      "",
      "\r",
      " \t",
      '{"jsonrpc":"2.0","method":"x","params":[]}',
      '{"jsonrpc":"2.0","error":{}}',
    ]) {
      expect(read(text)).toEqual({ kind: "nothing" });
    }
  });

  it("is a notification or a response, depending on its members", () => {
    expect(read('{"jsonrpc":"2.0","method":"x"}')).toEqual({
      kind: "notification",
      message: { jsonrpc: "2.0", method: "x" },
    });
    expect(read('{"jsonrpc":"2.0","method":"x","params":{"a":1}}')).toMatchObject({ message: { params: { a: 1 } } });
    expect(read('{"jsonrpc":"2.0","id":1,"result":{}}')).toMatchObject({ kind: "response", id: 1 });
  });
});
