/** What becomes part of our code, and is no package beside it (tsup.config.ts). */
const BUNDLED = "node_modules/(@babel/code-frame|@dagrejs/dagre|diff|mdast-util-[^/]+|micromark-[^/]+)/";

/**
 * Which module may import which. A module that isn't listed may not be imported, and types count as imports. A folder
 * within a module can be a module of its own. Anyone may import errors.ts. test/package/import-arrows.slow.test.ts plants
 * every import in the wrong direction and sees it caught.
 */
const MODEL = ["workflow", "template", "plan", "rules", "gate"];
const PORTS = [...MODEL, "routed/decision", "ports"];
const ENGINE = [
  ...PORTS,
  "workflow/infer",
  "workflow/files",
  "runtime",
  "log",
  "approval",
  "engine",
  "phased",
  "routed",
];
const STORAGE = ["workflow", "ports", "storage/common"];

const MAY_IMPORT = {
  // The model of workflows; what reads their files is above the ports.
  workflow: [],
  template: ["workflow"],
  plan: ["workflow"],
  rules: ["workflow"],
  "workflow/infer": ["workflow", "rules"],
  gate: ["workflow", "rules"],
  // What a decider is asked and what it may answer.
  "routed/decision": ["workflow"],
  ports: ["workflow", "plan", "routed/decision"],
  "workflow/files": ["workflow", "workflow/infer", "rules", "ports"],
  runtime: ["workflow", "ports"],
  // All kinds of sessions share one log, which knows of no phases and no gates.
  log: ["workflow", "ports"],
  approval: ["workflow", "ports", "log"],
  // Lists, watches, listeners and metrics of engines of all kinds.
  engine: ["workflow", "ports", "runtime"],
  phased: [...PORTS, "workflow/files", "runtime", "log", "approval", "engine"],
  // Routed sessions ask the same gates: verifiers, signatures and limits are the phased engine's.
  routed: [...PORTS, "runtime", "log", "approval", "engine", "phased"],
  tools: [...PORTS, "runtime", "approval", "engine", "phased", "routed"],
  sandbox: ["workflow"],
  "storage/common": ["workflow", "ports"],
  "storage/memory": STORAGE,
  "storage/files": STORAGE,
  // The log in SQLite's tables, for every driver.
  "storage/sql": STORAGE,
  "storage/sqlite": [...STORAGE, "storage/sql"],
  "storage/durable-objects": [...STORAGE, "storage/sql"],
  "storage/postgres": STORAGE,
  content: ["workflow", "workflow/files", "ports", "sandbox"],
  search: ["workflow", "workflow/files", "ports", "sandbox", "content"],
  deciders: ["workflow", "ports", "routed/decision"],
  verifiers: ["workflow", "plan", "rules", "gate", "ports", "sandbox"],
  workspace: ["workflow", "workflow/files", "gate", "ports", "runtime", "log", "engine", "phased", "tools", "sandbox"],
  testing: ["workflow", "workflow/files", "ports", "phased", "content"],
  mcp: ["workflow", "gate", "ports", "runtime", "phased", "routed", "tools", "workspace", "read"],
  // The tools for agents in code; of a workspace, its types alone.
  agents: ["workflow", "ports", "engine", "phased", "routed", "tools", "workspace"],
  http: ["workflow", "ports", "runtime", "phased", "routed", "tools"],
  // Who calls a server over HTTP; knows no engines.
  login: ["workflow", "ports"],
  // Watches engines through the port alone: no engine knows it, and it knows no engine.
  otel: ["workflow", "routed/decision", "ports"],
  // Workflows as pictures.
  graph: ["workflow"],
  // Sessions as people are shown them, over everything that there is to see.
  read: [...ENGINE, "workspace", "graph"],
  inspector: [...ENGINE, "workspace", "graph", "read"],
  "inspector/page": ["workflow", "gate", "read", "inspector"],
  // Sets up a project for its clients, for the command line alone.
  setup: ["workflow", "sandbox"],
  // The command line is a host of its own: it chooses the adapters.
  cli: [
    ...ENGINE,
    ...["storage/common", "storage/files", "storage/sqlite", "storage/postgres"],
    ...[
      "content",
      "search",
      "deciders",
      "verifiers",
      "sandbox",
      "workspace",
      "testing",
      "tools",
      "mcp",
      "http",
      "agents",
    ],
    ...["setup", "graph", "read", "inspector", "login", "otel"],
  ],
};

/** Where `node:` is allowed. What runs in a browser or an edge worker has none of it. */
const NODE_ROOMS = [
  "^src/(sandbox|workspace|testing|cli|verifiers|search)/",
  "^src/inspector/(?!page/)",
  "^src/storage/(files|sqlite|postgres)/",
  "^src/mcp/stdio[.]ts$",
  "^src/agents/transcript[.]ts$",
  "^src/setup/(?:project|ignored|own-record|read-pack)[.]ts$",
];

/** The files of a module, without those of the modules within it. */
function filesOf(room) {
  const within = Object.keys(MAY_IMPORT).filter((other) => other.startsWith(`${room}/`));
  const inner = within.map((other) => other.slice(room.length + 1)).join("|");
  return inner === "" ? `^src/${room}/` : `^src/${room}/(?!(?:${inner})/)`;
}

const rooms = Object.keys(MAY_IMPORT).map(filesOf);

const arrows = Object.entries(MAY_IMPORT).map(([room, allowed]) => ({
  name: `arrows-${room}`,
  comment: `${room} may import ${["errors.ts", ...allowed].join(", ")} and itself`,
  severity: "error",
  from: { path: filesOf(room) },
  to: {
    path: "^src/",
    pathNot: ["^src/errors[.]ts$", filesOf(room), ...allowed.map(filesOf)],
  },
}));

export default {
  forbidden: [
    ...arrows,
    {
      name: "room-unknown",
      comment: "a new room needs its arrows in .dependency-cruiser.mjs",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: rooms },
      to: {},
    },
    {
      name: "errors-alone",
      comment: "anyone may import errors.ts, so it imports nothing",
      severity: "error",
      from: { path: "^src/errors[.]ts$" },
      to: {},
    },
    {
      name: "entry-not-imported",
      comment: "entry points are for the outside; inside, import the file that has the name",
      severity: "error",
      from: {},
      to: { path: ["^src/[^/]+[.]ts$", "^src/.*/index[.]ts$"], pathNot: "^src/errors[.]ts$" },
    },
    {
      name: "node-outside",
      comment:
        "Node's modules are for the sandbox, workspaces, testing, the command line, stdio and the adapters that need them",
      severity: "error",
      from: { path: "^src/", pathNot: NODE_ROOMS },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "effects-by-the-clock",
      comment:
        "recorded sessions take time, timers and random numbers from ports/clock.ts, as scripts/effects.grit says",
      severity: "error",
      from: { path: "^src/workspace/session/" },
      to: { path: "^(?:node:)?(?:crypto|perf_hooks|process|timers(?:/promises)?)$", dependencyTypes: ["core"] },
    },
    {
      name: "core-runs-anywhere",
      comment: "nothing that these entry points reach, not even by import(), needs Node",
      severity: "error",
      from: { path: "^src/(index|approval|gate|plan|storage)[.]ts$" },
      to: { path: NODE_ROOMS, reachable: true },
    },
    {
      name: "page-knows-the-wire",
      comment:
        "the page runs in browsers: of the server it knows the types in wire.ts and of the read model, the filters and the order of lists, the words for claims, for how a session and an attempt stand and for what is noted, and which lines of an output are shown",
      severity: "error",
      from: { path: "^src/inspector/page/" },
      to: {
        path: "^src/",
        pathNot:
          "^src/(?:(?:errors|workflow/hidden|gate/(?:unchecked|excerpt)|read/(?:model|attempt-words|filter|noted|order|standing|why-text))[.]ts$|inspector/(?:page/|wire[.]ts$))",
      },
    },
    {
      name: "page-imports-types",
      comment: "what the page imports of the server is gone when it is built",
      severity: "error",
      from: { path: "^src/inspector/page/" },
      to: { path: "^src/(?:inspector/wire|read/model)[.]ts$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "no-cycles",
      comment: "two files that need each other are one file, or miss a third",
      severity: "error",
      from: { path: "^src/" },
      to: { circular: true },
    },
    {
      name: "markdown-in-linear-time",
      comment: "workflow/from-markdown.ts is the parser whose time grows with the text; import that",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/workflow/from-markdown[.]ts$" },
      to: { path: "node_modules/mdast-util-from-markdown/" },
    },
    {
      name: "telemetry-in-one-place",
      comment: "OpenTelemetry is for src/otel; engines and tools have the port in ports/telemetry.ts",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/otel/" },
      to: { path: "node_modules/@opentelemetry/" },
    },
    {
      name: "resolvable",
      comment: "a misspelt or uninstalled import",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true },
    },
    {
      name: "shipped-dependencies",
      comment:
        "what is shipped may only need what is installed with it, dependencies and peers, or what is bundled with it",
      severity: "error",
      // The page is shipped with what it needs in its bundle.
      from: { path: "^src/", pathNot: "^src/inspector/page/" },
      to: {
        pathNot: BUNDLED,
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["npm-peer", "type-only"],
      },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Types too: a port that names an event's type knows events.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node", "default"] },
  },
};
