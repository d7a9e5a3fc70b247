/** The reference as Markdown: a page for each entry point of package.json, and one for each of its names: `npm run docs`. */
import { readFileSync } from "node:fs";

const { exports } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const entries = Object.entries(exports).flatMap(([path, target]) =>
  target.types === undefined ? [] : [path.slice(2)],
);

/** @type {import("typedoc").TypeDocOptions & import("typedoc-plugin-markdown").PluginOptions} */
export default {
  entryPoints: entries.map((name) => `src/${name || "index"}.ts`),
  plugin: ["typedoc-plugin-markdown"],
  out: "docs/api",
  outputFileStrategy: "members",
  groupOrder: ["Functions", "Classes", "Variables", "Interfaces", "Type Aliases"],
  indexFormat: "table",
  entryFileName: "README",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  pageTitleTemplates: { module: ({ name }) => (name === "index" ? "phasegate" : `phasegate/${name}`) },
  // VitePress gives headings these ids; its own may differ where two headings are alike.
  useCustomAnchors: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  typeAliasPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  excludeInternal: true,
  excludePrivate: true,
  disableGit: true,
  disableSources: true,
  readme: "none",
  // `npm run check:types` has found the errors of types; to look for them again takes four times as long as the rest.
  skipErrorChecking: true,
  // Types inside of others, which no entry point exports, have no page: editors show them.
  validation: { notExported: false, invalidLink: true, notDocumented: true, rewrittenLink: true },
  requiredToBeDocumented: ["Enum", "Class", "Interface", "TypeAlias", "Function", "Variable", "Method"],
  treatWarningsAsErrors: true,
};
