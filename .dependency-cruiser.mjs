/**
 * The house: which room may import which. A room that isn't listed may not be imported, and types count as imports.
 * Anyone may import errors.ts. test/package/import-arrows.test.ts plants every wrong-way import and sees it caught.
 */
const PURE = ["definition", "template", "plan", "gate", "decision"];
// Not in PURE: only engines know what a session's events are. To ports, kernel and adapters a commit's body is opaque.
const ENGINE = [...PURE, "session", "ports", "kernel"];
const TOOL = [...ENGINE, "engine", "routed"];

const MAY_IMPORT = {
  definition: [],
  template: ["definition"],
  plan: ["definition"],
  gate: ["definition"],
  // What a decider is asked and what it may answer: deciders are adapters, so it stands before the ports.
  decision: ["definition"],
  // What a gate said is part of what happened to a session.
  session: ["definition", "gate"],
  ports: PURE,
  // Phased, routed and recorded sessions share one kernel, so it knows of no phases and no gates.
  kernel: ["definition", "ports"],
  engine: ENGINE,
  // Routed sessions ask the same gates: verifiers, signatures, limits and figures are the phased engine's.
  routed: [...ENGINE, "engine"],
  tool: TOOL,
  // Checks of paths and names that need no file system live in definition.
  walls: ["definition"],
  adapters: [...PURE, "ports", "walls"],
  // Recorded sessions have the figures, the watching and the checks of whole logs that the others have.
  workspace: [...PURE, "ports", "kernel", "engine", "walls"],
  // What contract suites and fakes are made of.
  testing: ["definition", "ports", "adapters/memory", "kernel", "engine"],
  mcp: [...TOOL, "tool", "walls", "workspace"],
  http: [...TOOL, "tool"],
  // The bin is a host of its own: it chooses adapters, it serves MCP, and it runs the contract over adapters of others.
  cli: [...TOOL, "tool", "walls", "workspace", "adapters", "mcp", "http", "testing"],
};

/** Where `node:` is allowed. What runs in a browser or an edge worker has none of it. */
const NODE_ROOMS = [
  "^src/(walls|workspace|testing|cli)/",
  // Not the files directly in adapters/: memory shares them.
  "^src/adapters/(?!memory/)[^/]+/",
  "^src/mcp/[^/]*stdio[^/]*[.]ts$",
];

const rooms = Object.keys(MAY_IMPORT).join("|");

const arrows = Object.entries(MAY_IMPORT).map(([room, allowed]) => ({
  name: `arrows-${room}`,
  comment: `${room} may import ${["errors.ts", ...allowed].join(", ")} and itself`,
  severity: "error",
  from: { path: `^src/${room}/` },
  to: {
    path: "^src/",
    pathNot: ["^src/errors[.]ts$", `^src/${room}/`, ...allowed.map((name) => `^src/${name}/`)],
  },
}));

export default {
  forbidden: [
    ...arrows,
    {
      name: "room-unknown",
      comment: "a new room needs its arrows in .dependency-cruiser.mjs",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: `^src/(${rooms})/` },
      to: {},
    },
    {
      name: "adapters-apart",
      comment: "an adapter doesn't import another one: who uses the one must not load the other's driver",
      severity: "error",
      from: { path: "^src/adapters/([^/]+)/" },
      to: { path: "^src/adapters/[^/]+/", pathNot: "^src/adapters/$1/" },
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
      comment: "Node's modules are for walls, adapters, workspace, testing, mcp's stdio files and cli",
      severity: "error",
      from: { path: "^src/", pathNot: NODE_ROOMS },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "core-runs-anywhere",
      comment: "nothing that index.ts reaches, not even by import(), needs Node",
      severity: "error",
      from: { path: "^src/index[.]ts$" },
      to: { path: NODE_ROOMS, reachable: true },
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
      comment: "definition/markdown/from-markdown.ts is the parser whose time grows with the text; import that",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/definition/markdown/from-markdown[.]ts$" },
      to: { path: "node_modules/mdast-util-from-markdown/" },
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
      comment: "what is shipped may only need what is installed with it: dependencies and peers",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["npm-peer", "type-only"] },
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
