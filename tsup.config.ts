import { mkdirSync, writeFileSync } from "node:fs";
import { defineConfig, type Options } from "tsup";
import { licensesOf } from "./scripts/licenses.ts";

/**
 * Development dependencies that the code imports become part of it: those that bring many packages or much that is not used
 * (Markdown's parser is 43 packages). So does `zod/mini`: see `noExternal`. Their licenses go with them.
 */
const licenses: NonNullable<Options["esbuildPlugins"]>[number] = {
  name: "licenses",
  setup(build) {
    build.initialOptions.metafile = true;
    build.onEnd(({ metafile }) => {
      if (metafile === undefined) return;
      mkdirSync("dist", { recursive: true });
      writeFileSync("dist/licenses.txt", licensesOf(metafile));
    });
  },
};

// Kept tiny on purpose: tsup is barely maintained, so nothing here may be hard to say in another bundler.
export default defineConfig({
  entry: {
    index: "src/index.ts",
    agents: "src/agents.ts",
    ai: "src/ai.ts",
    approval: "src/approval.ts",
    compose: "src/compose.ts",
    gate: "src/gate.ts",
    plan: "src/plan.ts",
    storage: "src/storage.ts",
    "durable-objects": "src/durable-objects.ts",
    fs: "src/fs.ts",
    http: "src/http.ts",
    inspector: "src/inspector.ts",
    login: "src/login.ts",
    mcp: "src/mcp.ts",
    "mcp-http": "src/mcp-http.ts",
    otel: "src/otel.ts",
    postgres: "src/postgres.ts",
    rag: "src/rag.ts",
    remark: "src/remark.ts",
    routed: "src/routed.ts",
    sqlite: "src/sqlite.ts",
    verify: "src/verify.ts",
    workspace: "src/workspace.ts",
    testing: "src/testing.ts",
    // What the contract starts as processes of their own: found by its path, exported nowhere.
    "testing/storage-worker": "src/testing/storage-contract/worker.ts",
    "cli/main": "src/cli/main.ts",
  },
  format: "esm",
  // Node would load 60 files of it in other languages with each command, which takes longer than all of ours. Types stay zod's.
  noExternal: ["zod/mini"],
  target: ["es2022", "node22"],
  // Entry points share chunks: a class that two of them export is one class, and `instanceof` holds between them.
  splitting: true,
  // Without this, tsup turns `node:sqlite` into `sqlite`, which no runtime has.
  removeNodeProtocol: false,
  dts: true,
  esbuildPlugins: [licenses],
  // The code is not minified, so that a stack trace can be read without them; they would be a third of the package.
  sourcemap: false,
  clean: true,
});
