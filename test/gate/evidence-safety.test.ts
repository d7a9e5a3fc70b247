import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { checkEvidenceSafety, type EvidenceLimits } from "../../src/gate/evidence.js";

const LIMITS: EvidenceLimits = { maxBytes: 10_000, maxDepth: 8 };

/** Returns the error for a value. */
function refusal(value: unknown, limits: Partial<EvidenceLimits> = {}) {
  try {
    checkEvidenceSafety(value, { ...LIMITS, ...limits });
  } catch (error) {
    if (isPhasegateError(error)) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** Returns the paths and reasons of a refusal. */
function reasons(value: unknown, limits: Partial<EvidenceLimits> = {}) {
  const error = refusal(value, limits);
  if (!isPhasegateError(error, "EVIDENCE_UNSAFE")) throw error;
  return error.details.problems.map(({ path, reason }) => `${path}: ${reason}`);
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const accepts = (value: unknown, limits: Partial<EvidenceLimits> = {}) => {
  return checkEvidenceSafety(value, { ...LIMITS, ...limits }).evidence;
};

describe("plain evidence", () => {
  it("is copied unchanged", () => {
    const value = {
      text: "t",
      yes: true,
      no: false,
      none: null,
      n: -1.5e-7,
      list: [[], {}, [null]],
      deep: { a: { b: 1 } },
    };
    const evidence = accepts(value);
    expect(evidence).toEqual(value);
    expect(JSON.stringify(evidence)).toBe(JSON.stringify(value));
    expect(evidence).not.toBe(value);
    expect(evidence.deep).not.toBe(value.deep);
  });

  it("may have no prototype, as some parsers create it", () => {
    const value = Object.assign(Object.create(null), { a: Object.assign(Object.create(null), { b: 1 }) });
    expect(accepts(value)).toEqual({ a: { b: 1 } });
  });

  it("may be empty", () => expect(accepts({})).toEqual({}));

  it("may have keys that only look dangerous", () => {
    const value = { __proto: 1, toString: 2, hasOwnProperty: 3, "constructor ": 4, "": 5 };
    expect(accepts(value)).toEqual(value);
  });

  it("may contain the same object twice", () => {
    const shared = { a: [1] };
    expect(accepts({ one: shared, two: shared, three: [shared, shared] })).toEqual({
      one: { a: [1] },
      two: { a: [1] },
      three: [{ a: [1] }, { a: [1] }],
    });
  });
});

describe("a value that is not an object", () => {
  class Report {
    passed = true;
  }
  const cases: [string, unknown, string][] = [
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["a list", [{ a: 1 }], "a list"],
    ["a string", "{}", "a string"],
    ["a number", 3, "a number"],
    ["a boolean", true, "a boolean"],
    ["a bigint", 3n, "a bigint"],
    ["a symbol", Symbol("s"), "a symbol"],
    ["a function", () => ({}), "a function"],
    ["a Date", new Date(0), "a Date"],
    ["a Map", new Map(), "a Map"],
    ["a class instance", new Report(), "a Report"],
    ["an object with an object as its prototype", Object.create({ passed: true }), "a foreign object"],
    ["an object below a null prototype", Object.create(Object.create(null)), "a foreign object"],
  ];
  for (const [name, value, kind] of cases) {
    it(`${name} is refused as evidence`, () => {
      expect(reasons(value)).toEqual([`evidence: it must be an object, got ${kind}`]);
    });
    if (!["null", "a list", "a string", "a number", "a boolean"].includes(name)) {
      it(`${name} is refused inside evidence`, () => {
        expect(reasons({ in: [value] })).toEqual([`evidence.in[0]: ${kind} is not JSON`]);
      });
    }
  }
});

describe("keys that reach a prototype", () => {
  const texts: [string, string][] = [
    ['{"__proto__": {"passed": true}}', "evidence.__proto__"],
    ['{"constructor": 1}', "evidence.constructor"],
    ['{"prototype": null}', "evidence.prototype"],
    ['{"a": {"b": {"__proto__": {}}}}', "evidence.a.b.__proto__"],
    ['{"list": [1, [{"constructor": {"prototype": {}}}]]}', "evidence.list[1][0].constructor"],
  ];
  for (const [text, path] of texts) {
    it(`are refused: ${text}`, () => {
      expect(reasons(JSON.parse(text))).toEqual([`${path}: this key is refused`]);
    });
  }

  it("do not change the prototype", () => {
    refusal(JSON.parse('{"__proto__": {"polluted": true}}'));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("are refused as symbols, too", () => {
    expect(reasons({ [Symbol("secret")]: 1 })).toEqual(['evidence."Symbol(secret)": this key is refused']);
    expect(reasons({ [Symbol("a")]: 1, [Symbol("b")]: 2 })).toEqual([
      'evidence."Symbol(a)": this key is refused',
      'evidence."Symbol(b)": this key is refused',
    ]);
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [Symbol(`secret ${index}`), index]));
    expect(reasons(many)).toHaveLength(20);
  });
});

describe("values that JSON lacks are refused", () => {
  it("NaN and infinities at any depth", () => {
    expect(reasons({ a: Number.NaN, b: [Number.POSITIVE_INFINITY], c: { d: Number.NEGATIVE_INFINITY } })).toEqual([
      "evidence.a: NaN is not a JSON number",
      "evidence.b[0]: Infinity is not a JSON number",
      "evidence.c.d: -Infinity is not a JSON number",
    ]);
    expect(reasons(JSON.parse('{"a": 1e400}'))).toEqual(["evidence.a: Infinity is not a JSON number"]);
  });

  it("undefined, which JSON.stringify would omit", () => {
    expect(reasons({ a: undefined })).toEqual(["evidence.a: undefined is not JSON"]);
  });

  it("holes in lists, which JSON.stringify would fill", () => {
    const list: unknown[] = [1];
    list[2] = 3;
    expect(reasons({ list })).toEqual(["evidence.list[1]: undefined is not JSON"]);
  });

  it("a list of 2 ** 32 - 1 holes, in a short time", () => {
    const list: unknown[] = [];
    list.length = 2 ** 32 - 1;
    expect(refusal({ list }).code).toBe("EVIDENCE_TOO_LARGE");
    expect(refusal({ list }, { maxBytes: Number.MAX_SAFE_INTEGER }).code).toBe("EVIDENCE_UNSAFE");
  });
});

describe("values that change when they are read", () => {
  it("are read once, accessors too", () => {
    let reads = 0;
    const evidence = accepts({
      get tests() {
        reads += 1;
        return reads === 1 ? "passed" : Number.NaN;
      },
    });
    expect([evidence.tests, evidence.tests, reads]).toEqual(["passed", "passed", 1]);
    expect(Object.getOwnPropertyDescriptor(evidence, "tests")).toMatchObject({ value: "passed", writable: true });
  });

  it("cannot control their serialization", () => {
    const list = Object.assign([1, 2], { toJSON: () => JSON.parse('{"__proto__": {"a": 1}}') });
    expect(JSON.stringify(accepts({ list }))).toBe('{"list":[1,2]}');
    class Liar extends Array<number> {
      toJSON() {
        return "x".repeat(1e6);
      }
    }
    expect(JSON.stringify(accepts({ list: Liar.of(1, 2) }))).toBe('{"list":[1,2]}');
    expect(reasons({ toJSON: () => ({}) })).toEqual(["evidence.toJSON: a function is not JSON"]);
  });

  it("are copied: later changes have no effect", () => {
    const value = { list: [1] };
    const evidence = accepts(value);
    value.list.push(2);
    expect(evidence).toEqual({ list: [1] });
  });
});

describe("cycles", () => {
  it("are refused where they close", () => {
    const value: Record<string, unknown> = { name: "a" };
    value.self = value;
    const list: unknown[] = [];
    list.push([list]);
    expect(reasons({ value, list })).toEqual([
      "evidence.value.self: it holds itself",
      "evidence.list[0][0]: it holds itself",
    ]);
  });

  it("are refused at the top", () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    expect(reasons(value)).toEqual(["evidence.self: it holds itself"]);
  });
});

describe("depth", () => {
  const nested = (depth: number): unknown => (depth === 1 ? { leaf: 1 } : { in: nested(depth - 1) });
  const lists = (depth: number): unknown => (depth === 0 ? 1 : [lists(depth - 1)]);

  it("counts nested objects and lists, the evidence included", () => {
    expect(accepts(nested(8))).toEqual(nested(8));
    expect(reasons(nested(9))).toEqual([`evidence${".in".repeat(8)}: it is nested more than 8 deep`]);
    expect(accepts({ list: lists(7) })).toEqual({ list: lists(7) });
    expect(reasons({ list: lists(8) })).toEqual([`evidence.list${"[0]".repeat(7)}: it is nested more than 8 deep`]);
    expect(accepts({ a: 1 }, { maxDepth: 1 })).toEqual({ a: 1 });
    expect(reasons({ a: [] }, { maxDepth: 1 })).toHaveLength(1);
  });

  it("is checked before a stack overflow", () => {
    expect(reasons({ list: lists(5_000) }, { maxDepth: 64 })).toHaveLength(1);
  });
});

describe("size", () => {
  const atLimit: [string, (fill: string) => unknown][] = [
    ["plain text", (fill) => ({ text: fill })],
    ["characters of three bytes", (fill) => ({ text: `${"€".repeat(200)}${fill}` })],
    ["characters of four bytes", (fill) => ({ text: `${"🙂".repeat(200)}${fill}` })],
    ["control characters, six bytes each", (fill) => ({ text: `${"\u0001".repeat(200)}${fill}` })],
    ["lone surrogates, six bytes each", (fill) => ({ text: `${"\ud800".repeat(200)}${fill}` })],
    ["quotes and backslashes", (fill) => ({ text: `${'"\\'.repeat(200)}${fill}` })],
    ["keys with umlauts", (fill) => ({ ["ä".repeat(200)]: fill })],
    ["long numbers", (fill) => ({ list: Array(50).fill((-1 / 3) * 1e-300), fill })],
    ["many small values", (fill) => ({ list: [...Array(100).fill(0), null, true, false, [], {}], fill })],
  ];
  for (const [name, make] of atLimit) {
    it(`is exact to the byte: ${name}`, () => {
      const maxBytes = 2_000;
      const value = make("x".repeat(maxBytes - bytesOf(make(""))));
      expect(bytesOf(value)).toBe(maxBytes);
      expect(accepts(value, { maxBytes })).toEqual(value);
      const error = refusal(value, { maxBytes: maxBytes - 1 });
      expect(error).toMatchObject({ code: "EVIDENCE_TOO_LARGE", details: { bytes: maxBytes, limit: maxBytes - 1 } });
      expect(error.message).toBe(`the evidence is ${maxBytes} bytes of JSON; ${maxBytes - 1} are allowed`);
    });
  }

  it("is estimated in characters: at most the number of bytes, at least a sixth of it", () => {
    for (const [, make] of atLimit) {
      const value = make("y");
      const { characters } = checkEvidenceSafety(value, LIMITS);
      expect(characters).toBeLessThanOrEqual(bytesOf(value));
      expect(characters * 6).toBeGreaterThanOrEqual(bytesOf(value));
    }
  });

  it("is estimated exactly if nothing needs an escape", () => {
    const value = {
      yes: true,
      no: false,
      none: null,
      n: -12.5,
      text: "abc",
      list: [1, [], {}, [2, 3]],
      in: { a: 1, b: {} },
    };
    expect(checkEvidenceSafety(value, LIMITS).characters).toBe(bytesOf(value));
    expect(checkEvidenceSafety({}, LIMITS).characters).toBe(2);
  });

  it("is reported exactly up to four times the limit, and as a lower bound above", () => {
    const text = "x".repeat(380);
    const near = refusal({ text }, { maxBytes: 100 });
    expect(near.message).toBe("the evidence is 391 bytes of JSON; 100 are allowed");
    const far = refusal({ text, more: text, rest: text }, { maxBytes: 100 });
    expect(far).toMatchObject({ message: expect.stringMatching(/is more than \d+ bytes/), details: { limit: 100 } });
    const { bytes } = far.details as { bytes: number };
    expect(bytes).toBeGreaterThan(400);
    expect(bytes).toBeLessThan(bytesOf({ text, more: text, rest: text }));
  });

  it("is determined quickly for a value with shared parts", () => {
    let value: unknown[] = ["x"];
    for (let level = 0; level < 40; level += 1) value = [value, value, value];
    expect(refusal({ value }, { maxDepth: 64 }).code).toBe("EVIDENCE_TOO_LARGE");
  });

  it("is checked after safety", () => {
    expect(refusal({ text: "x".repeat(500), bad: Number.NaN }, { maxBytes: 400 }).code).toBe("EVIDENCE_UNSAFE");
  });
});

describe("a refusal", () => {
  it("names up to twenty problems at once", () => {
    const value = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, undefined]));
    const found = reasons(value);
    expect(found).toHaveLength(20);
    expect(found[19]).toBe("evidence.k19: undefined is not JSON");
    expect(reasons({ list: Array(30).fill(undefined) })).toHaveLength(20);
  });

  it("contains a remedy, and shortens and escapes long or unusual keys", () => {
    const error = refusal({ [`a\n${"b".repeat(500)}`]: Number.NaN, "c d": Number.NaN });
    expect(error.message.length).toBeLessThan(250);
    expect(error.message).not.toContain("\n");
    expect(error.message).toContain('evidence."c d": NaN is not a JSON number');
    expect(error.remedy).toMatch(/plain JSON/);
  });
});

describe("placeholders of proposed calls", () => {
  const said = "it is a placeholder of a proposed call, not a value";
  const placeholders = [
    "<string>",
    "<string: what was done>",
    "<boolean>",
    "<list, of files>",
    "<an object with claim>",
  ];
  const more = [
    "<one of: a, b>",
    "<as before>",
    "<all other fields>",
    "<why it failed>",
    "<the report once it is done>",
  ];

  it("are refused wherever they stand, with the advice to do the work", () => {
    for (const text of [...placeholders, ...more])
      expect(reasons({ deep: [text] }), text).toEqual([`evidence.deep[0]: ${said}`]);
    expect(refusal({ a: "<string>" }).remedy).toContain("Do the work first");
    expect(refusal({ a: "<string>", b: undefined }).remedy).toContain("Send evidence as plain JSON");
  });

  it("are no other texts", () => {
    const texts = [
      "<p>",
      "<stringent>",
      "<b>string</b>",
      "string",
      "<string> is the type",
      "a <string>",
      "once it is done",
      "<",
    ];
    expect(accepts({ texts })).toEqual({ texts });
  });
});

it("an error calls the value by its name", () => {
  const errorOf = (name: string) => {
    try {
      checkEvidenceSafety({ a: undefined }, LIMITS, name);
    } catch (error) {
      return String(error);
    }
    return "";
  };
  expect(errorOf("evidence")).toContain("the evidence is refused: evidence.a:");
  expect(errorOf("options")).toContain("the options are refused: options.a:");
});

it("a placeholder may have several lines", () => {
  expect(reasons({ a: "<string: what was done,\nand why>" })).toHaveLength(1);
});
