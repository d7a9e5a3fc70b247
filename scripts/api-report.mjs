/**
 * Compares the public API of every entry point with its report in etc/. With --local it updates the
 * reports instead. Fails on a name that two entry points export. Needs a build.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { CompilerState, Extractor, ExtractorConfig } from "@microsoft/api-extractor";

const local = process.argv.includes("--local");
const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
const config = ExtractorConfig.loadFile("api-extractor.json");

// api-extractor doesn't make the folder, and without it reports nothing but that.
mkdirSync("etc", { recursive: true });

const entries = Object.entries(exports).filter(([, target]) => typeof target !== "string"); // ./package.json
const homes = new Map();
for (const [entry, { types }] of entries) {
  for (const name of exportedNames(types)) homes.set(name, [...(homes.get(name) ?? []), entry]);
}
const undocumented = new Set();
const failed = [];
const prepared = entries.map(([entry, target]) => {
  const name = entry === "." ? "index" : entry.slice(2);
  const report = `${name}.api.md`;
  const configured = ExtractorConfig.prepare({
    configObject: {
      ...config,
      mainEntryPointFilePath: target.types.replace("./", "<projectFolder>/"),
      apiReport: { ...config.apiReport, reportFileName: report },
    },
    configObjectFullPath: `${process.cwd()}/api-extractor.json`,
    packageJsonFullPath: `${process.cwd()}/package.json`,
  });
  return { name, report, configured };
});
const reports = new Set(prepared.map(({ report }) => report));
// One compiler reads all declarations once; one for each entry point would read them again each time.
const additionalEntryPoints = prepared.map(({ configured }) => configured.mainEntryPointFilePath);
const compilerState = CompilerState.create(prepared[0].configured, { additionalEntryPoints });
for (const { name, report, configured } of prepared) {
  const isNew = !existsSync(`etc/${report}`);
  const result = Extractor.invoke(configured, {
    compilerState,
    localBuild: local,
    messageCallback(message) {
      // It says which TypeScript it brings along, once for each entry point.
      if (message.messageId === "console-preamble") message.handled = true;
      if (message.messageId === "ae-undocumented") undocumented.add(`${name}: ${message.text}`);
    },
  });
  if (!result.succeeded || (!local && (result.apiReportChanged || isNew))) failed.push(report);
  else console.log(`etc/${report}: ${result.apiReportChanged || isNew ? "updated" : "as it was"}`);
}

for (const report of readdirSync("etc").filter((file) => file.endsWith(".api.md") && !reports.has(file))) {
  console.error(`etc/${report} belongs to no entry point: delete it`);
  failed.push(report);
}

const repeated = [...homes].filter(([, places]) => places.length > 1);
for (const [name, places] of repeated) console.error(`More than one entry point exports ${name}: ${places.join(", ")}`);
for (const text of undocumented) console.error(`A member without a comment: ${text}`);
if (repeated.length + undocumented.size > 0) process.exitCode = 1;

if (failed.length > 0) {
  console.error(`\nThe public API is not what etc/ says: ${failed.join(", ")}`);
  console.error("If that is meant, run `npm run api`, and commit etc/ with the change.");
  process.exitCode = 1;
}

/** The names in the export lists of a file of declarations. */
function exportedNames(path) {
  const lists = readFileSync(path, "utf8").matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  return [...lists].flatMap(([, list]) =>
    list.split(",").map((name) => name.trim().replace(/^(type )?(\w+ as )?/, "")),
  );
}
