/**
 * Compares the public API of every entry point with its report in etc/. With --local it updates the
 * reports instead. Needs a build.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";

const local = process.argv.includes("--local");
const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
const config = ExtractorConfig.loadFile("api-extractor.json");

// api-extractor doesn't make the folder, and without it reports nothing but that.
mkdirSync("etc", { recursive: true });

const failed = [];
const reports = new Set();
for (const [entry, target] of Object.entries(exports)) {
  if (typeof target === "string") continue; // ./package.json
  const name = entry === "." ? "index" : entry.slice(2);
  const report = `${name}.api.md`;
  reports.add(report);
  const isNew = !existsSync(`etc/${report}`);
  const result = Extractor.invoke(
    ExtractorConfig.prepare({
      configObject: {
        ...config,
        mainEntryPointFilePath: target.types.replace("./", "<projectFolder>/"),
        apiReport: { ...config.apiReport, reportFileName: report },
      },
      configObjectFullPath: `${process.cwd()}/api-extractor.json`,
      packageJsonFullPath: `${process.cwd()}/package.json`,
    }),
    {
      localBuild: local,
      messageCallback(message) {
        // It says which TypeScript it brings along, once for each entry point.
        if (message.messageId === "console-preamble") message.handled = true;
      },
    },
  );
  // A type that isn't exported is told with the name of a chunk, which changes from build to build.
  const hidden = /^\/\/ dist\/.*The symbol "(\w+)"/m.exec(reportText(report))?.[1];
  if (hidden !== undefined) {
    console.error(`etc/${report}: export the type ${hidden} from this entry point, too`);
    failed.push(report);
    continue;
  }
  if (!result.succeeded || (!local && (result.apiReportChanged || isNew))) failed.push(report);
  else console.log(`etc/${report}: ${result.apiReportChanged || isNew ? "updated" : "as it was"}`);
}

for (const report of readdirSync("etc").filter((file) => file.endsWith(".api.md") && !reports.has(file))) {
  console.error(`etc/${report} belongs to no entry point: delete it`);
  failed.push(report);
}

if (failed.length > 0) {
  console.error(`\nThe public API is not what etc/ says: ${failed.join(", ")}`);
  console.error("If that is meant, run `npm run api`, and commit etc/ with the change.");
  process.exitCode = 1;
}

function reportText(report) {
  return existsSync(`etc/${report}`) ? readFileSync(`etc/${report}`, "utf8") : "";
}
