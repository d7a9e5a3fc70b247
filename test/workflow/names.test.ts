import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { formatDiagnostic } from "../../src/workflow/diagnostic.js";
import {
  isWorkflowType,
  nearest,
  parseRelativePath,
  parseSessionId,
  sessionIdFor,
  sessionIdPrefix,
  shown,
} from "../../src/workflow/names.js";

describe("session ids", () => {
  it("consist of type, target and an ending, at most 128 characters", () => {
    expect(sessionIdFor("test_generation_v3", "src/My File.py", "20251023_143022")).toBe(
      "test_generation_v3_src_my_file_py_20251023_143022",
    );
    expect(sessionIdFor("…", "…", "1")).toBe("workflow_target_1");
    const long = sessionIdFor("t".repeat(128), `${"d/".repeat(400)}last.ts`, "20251023_143022_abc123");
    expect(long.length).toBeLessThanOrEqual(128);
    expect(long).toMatch(/last_ts_20251023_143022_abc123$/);
    expect(long.startsWith(sessionIdPrefix("t".repeat(128), `${"d/".repeat(400)}last.ts`))).toBe(true);
  });

  it("are validated when they are parsed", () => {
    for (const wrong of ["", "_a", "A", "a b", "../a", "a".repeat(129), 3, null, 10n]) {
      expect(() => parseSessionId(wrong)).toThrow("session_id is not valid");
    }
    expect(parseSessionId("a-1_b")).toBe("a-1_b");
  });
});

describe("names", () => {
  it("of workflows cannot reach a prototype or another folder", () => {
    for (const wrong of ["constructor", "__proto__", "a..b", "a/b", ".a", "", "a".repeat(129), 1])
      expect(isWorkflowType(wrong)).toBe(false);
    expect(isWorkflowType("release.v1-b_2")).toBe(true);
  });

  it("of workflows are folder names that every file system accepts", () => {
    for (const name of [
      "Größe",
      "_private",
      "Fix a bug",
      "-x",
      "工作流",
      "a (draft) & more",
      "Ops+",
      "💡",
      "comma, too",
    ])
      expect([name, isWorkflowType(name)]).toEqual([name, true]);
    for (const name of [
      " a",
      "a ",
      "a.",
      "a\\b",
      "a:b",
      "a?",
      "a|b",
      'a"b',
      "a<b",
      "a*",
      "a\nb",
      "a\tb",
      "a\u00a0b",
      "a\u200bb",
    ])
      expect([name, isWorkflowType(name)]).toEqual([name, false]);
    for (const name of ["CON", "nul.md", "Lpt1", "a\u202eb", "\ud800", "ü".repeat(128), "工".repeat(100), ".."])
      expect([name, isWorkflowType(name)]).toEqual([name, false]);
    expect(isWorkflowType("ü".repeat(120))).toBe(true);
  });

  it("are suggested only if they are similar", () => {
    expect(nearest("srdCreated", ["srd_created", "other"])).toBe("srd_created");
    expect(nearest("zz", ["o", "phase"])).toBeUndefined();
    expect(nearest("workflow_features", ["workflow_type"])).toBeUndefined();
  });

  it("are compared by the letters of all scripts", () => {
    expect(nearest("設計", ["要件"])).toBeUndefined();
    expect(nearest("описание_шага", ["next", "gate"])).toBeUndefined();
    expect(nearest("описание_шага", ["next", "ОписаниеШага"])).toBe("ОписаниеШага");
    expect(nearest("größe", ["grösse", "Größe_"])).toBe("Größe_");
  });

  it("without letters and digits mean nothing", () => {
    expect(nearest("---", ["__", "a"])).toBeUndefined();
  });
});

describe("a value in a message", () => {
  it("is a single short line, and valid for values that are not JSON", () => {
    const itself: Record<string, unknown> = {};
    itself.itself = itself;
    expect(shown("a\u202eb\u0000")).toBe('"a\\u202eb\\u0000"');
    expect([shown(10n), shown(itself), shown(undefined), shown({ a: 1 })]).toEqual([
      "a bigint",
      "an object",
      "undefined",
      '{"a":1}',
    ]);
    expect(shown("x".repeat(500)).length).toBe(80);
    for (const before of ["", "a"]) expect(shown(before + "😀".repeat(60))).toMatch(/^"a?😀{38,39}…$/u);
  });
});

describe("paths", () => {
  it("are relative, with '/' between names", () => {
    expect(parseRelativePath("./src//a.ts")).toBe("src/a.ts");
    expect(parseRelativePath("src\\a..b.ts")).toBe("src/a..b.ts");
    expect(parseRelativePath(".")).toBe(".");
  });

  it("that are invalid are refused", () => {
    for (const wrong of [
      3,
      "",
      " ",
      "/a",
      "\\a",
      "C:a",
      "../a",
      "a/../../b",
      "a\\..\\b",
      "a\nb",
      "x".repeat(1025),
      `${"ü".repeat(128)}`,
    ]) {
      const refusal = (() => {
        try {
          return parseRelativePath(wrong);
        } catch (error) {
          return error;
        }
      })();
      expect(isPhasegateError(refusal, "PATH_REFUSED"), String(wrong).slice(0, 20)).toBe(true);
    }
  });
});

describe("a diagnostic", () => {
  it("is printed in the format of compilers", () => {
    const base = { file: "a.json", severity: "error", code: "X", message: "wrong" } as const;
    expect(formatDiagnostic(base)).toBe("a.json: error: wrong");
    expect(formatDiagnostic({ ...base, line: 2, column: 3, hint: "fix it" })).toBe("a.json:2:3: error: wrong (fix it)");
    expect(formatDiagnostic({ ...base, column: 3 })).toBe("a.json: error: wrong");
  });
});
