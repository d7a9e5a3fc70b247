import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  createEngine,
  createWorkflowTool,
  type ErrorCode,
  MemoryContent,
  MemoryStorage,
  PhasegateError,
} from "phasegate";
import { describe, expect, it } from "vitest";
// The compiler requires every code in it.
import { WIRE_ERRORS } from "../../src/tools/dispatch.js";

const CODES = Object.keys(WIRE_ERRORS).sort();
const PAGE = readFileSync(fileURLToPath(new URL("../../docs/errors.md", import.meta.url)), "utf8");
const [intro = "", ...parts] = PAGE.split(/^## /m);
const ENTRIES = parts.map((part) => {
  const [heading = "", , ...lines] = part.split("\n");
  return { heading, text: lines.join("\n").trim() };
});
/** Those who the page says can do something about an error. */
const ROLES = [...intro.matchAll(/^- \*\*(\w+)\*\*:/gm)].map(([, role]) => role);

describe("docs/errors.md", () => {
  it("has an entry for each error code, in order, and for nothing else", () => {
    expect(ENTRIES.map(({ heading }) => heading)).toEqual(CODES);
  });

  it("says in each entry what the code means, then who can do what about it", () => {
    expect(ROLES).toEqual(["Agent", "Host", "Operator", "Author", "Approver"]);
    for (const { heading, text } of ENTRIES) {
      const [meaning = "", actions = "", ...more] = text.split("\n\n");
      expect(meaning, heading).toMatch(/^[A-Z][\s\S]{30,}\.$/);
      expect(more, heading).toEqual([]);
      const items = actions.split(/^(?=- )/m);
      expect(items.length, heading).toBeGreaterThan(0);
      for (const item of items) {
        const [, role] = /^- \*\*(\w+)\*\*: [a-z`]/.exec(item) ?? [];
        expect(ROLES, `${heading}: ${item}`).toContain(role);
      }
    }
  });
});

describe("docs/http.md", () => {
  it("has each code that clients of phased sessions get, with its status", () => {
    const page = readFileSync(fileURLToPath(new URL("../../docs/http.md", import.meta.url)), "utf8");
    const rows = [...page.matchAll(/^\| ([\d, ]+) \| (`[A-Z_`, ]+) \|/gm)];
    const listed = rows.flatMap(([, status, codes = ""]) => {
      return [...codes.matchAll(/[A-Z_]+/g)].map(([code]) => [code, Number(status)] as const);
    });
    // Only a decider, or the text of a routed step, leads to the others.
    const routedOnly = ["DECIDER_FAILED", "DEFINITION_UNAVAILABLE", "STEP_NOT_CURRENT"];
    const phased = Object.entries(WIRE_ERRORS).filter(([code]) => !routedOnly.includes(code));
    expect(Object.fromEntries(listed)).toMatchObject(
      Object.fromEntries(phased.map(([code, { status }]) => [code, status])),
    );
  });
});

describe("the url of an error", () => {
  it("leads to the entry of its code", () => {
    for (const { heading } of ENTRIES) {
      const error = new PhasegateError(heading as ErrorCode, "it failed", { remedy: "fix it", details: {} as never });
      const [page, fragment] = error.url.split("#");
      expect(page).toBe("https://github.com/OWNER/phasegate/blob/main/docs/errors.md");
      // GitHub's fragment of a heading, and the site's.
      expect(fragment).toBe(heading.toLowerCase());
    }
  });

  it("is not in JSON, nor in an answer to an agent", async () => {
    const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [] }) });
    const error = await engine
      .session("none")
      .state()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "SESSION_NOT_FOUND", url: expect.stringMatching(/#session_not_found$/) });
    expect(JSON.stringify(error)).not.toContain("errors.md");
    const answer = await createWorkflowTool(engine).dispatch({ action: "get_state", session_id: "none" });
    expect(answer).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(JSON.stringify(answer)).not.toContain("errors.md");
  });
});
