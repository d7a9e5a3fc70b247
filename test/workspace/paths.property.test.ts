import { join, normalize, sep } from "node:path";
import fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { isInside } from "../../src/sandbox/resolve.js";
import { keptBack, secretIn } from "../../src/workflow/names.js";
import { openFolders, placesOf, showLocation } from "../../src/workspace/roots/paths.js";
import { createRoots, type Roots } from "../../src/workspace/roots/roots.js";
import { howOften } from "../support/how-often.js";
import { makeWorkspace } from "./make-workspace.js";

const RUNS = howOften(1_000, 100_000);
let roots: Roots;
let places: ReadonlyMap<string, string>;

beforeEach(async () => {
  const { base, bundle, output } = await makeWorkspace();
  const opened = await openFolders({ bundleRoot: bundle, coreRoot: join(base, "project/core"), outputRoot: output });
  const variables = { team: "alpha", up: "../..", docs: { root: "bundle-root", path: "docs" } };
  roots = createRoots({ roots: opened, project: await placesOf(join(base, "project")), variables });
  places = new Map(opened.map(({ name, places: [place = ""] }) => [name, place]));
});

const PIECES = [
  "..",
  ".",
  "...",
  "/",
  "\\",
  "//",
  "a",
  "b.md",
  "a..b",
  ".env",
  "{bundle-root}",
  "{core-root}",
  "{project-root}",
  "{output-root}",
  "{up}",
  "{team}",
  "{docs}",
  "{constructor}",
  "{",
  "}",
  "core",
  "bundle",
  "src",
  "%2e",
  "\uff0e",
  "\0",
  "C:",
  "~",
  " ",
  "\u202e",
  "2026-01-02-030405",
  "$&",
  "é",
  "e\u0301",
];
const path = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join("")) },
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join("/")) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
);

it("every accepted path is inside its root, also relative to a file, and its shown form is accepted again", () => {
  let taken = 0;
  fc.assert(
    fc.property(path, fc.boolean(), (given, isBeside) => {
      const from = isBeside ? { root: "bundle-root", path: "workflows/x/workflow.yaml" } : undefined;
      let location: ReturnType<Roots["resolve"]>;
      try {
        location = roots.resolve(given, from);
      } catch (error) {
        expect(isPhasegateError(error, "PATH_REFUSED"), String(error)).toBe(true);
        return;
      }
      taken += 1;
      const root = places.get(location.root);
      if (root === undefined) throw new Error(`{${location.root}} is none that can be read`);
      const place = normalize(join(root, location.path));
      expect(isInside(root, place)).toBe(true);
      expect(location.path.split("/")).not.toContain("..");
      expect(
        place
          .split(sep)
          .join("/")
          .endsWith(location.path === "." ? "" : location.path),
      ).toBe(true);
      // A name may contain braces from a variable's value; all other paths resolve to the same place again.
      if (!/[{}]/.test(location.path)) expect(roots.resolve(showLocation(location))).toEqual(location);
    }),
    { numRuns: RUNS },
  );
  expect(taken).toBeGreaterThan(RUNS / 50);
});

it.each(["app.env-ci", ".npmrc-work", "server.key-new", "privkey.pem-expired", "prod.secrets.yaml", "x.p12-legacy"])(
  "%s is a secret, whatever follows the name of one",
  (path) => {
    expect(secretIn(path)).toBeDefined();
    expect(keptBack(path)).toBeDefined();
  },
);

it("a path with a withheld name is withheld, with any names around it", () => {
  const plain = fc.stringMatching(/^[a-z]{1,8}$/);
  const kept = fc.constantFrom(".env", ".git", "id_rsa", "a.pem", ".ENV.local", "TLS.KEY");
  fc.assert(
    fc.property(fc.array(plain), kept, fc.array(plain), (before, name, after) => {
      expect(keptBack([...before, name, ...after].join("/"))).toBeDefined();
    }),
  );
});
