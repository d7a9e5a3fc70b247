import { isJsonObject, type JsonValue } from "../../workflow/json.js";
import { createReport } from "../../workflow/report.js";
import { readYaml, splitFrontMatter } from "../../workflow/yaml.js";
import { allWorkflows } from "./find.js";
import { type FoundWorkflow, folderOf, nameOf, readWhole } from "./parts.js";
import type { SkillPlaces } from "./skills.js";
/** A workflow of a workspace. */
export interface WorkflowSummary {
  /** What `preload_workflow` takes. */
  readonly name: string;
  readonly shape: FoundWorkflow["shape"];
  /** Its first file. */
  readonly path: string;
  /** What its first file says of it. */
  readonly description?: string;
}

/** All workflows below the roots, by root and path. One that can't be read is listed without its description. */
export async function listWorkflows({ source, roots }: SkillPlaces): Promise<readonly WorkflowSummary[]> {
  const found = await allWorkflows(source, roots);
  return Promise.all(
    found.map(async ({ shape, file }) => {
      const path = source.show(file);
      const said = await descriptionOf(shape, path, () => readWhole(source, file));
      return { name: nameOf(folderOf(file)), shape, path, ...(said === undefined ? {} : { description: said }) };
    }),
  );
}

async function descriptionOf(
  shape: FoundWorkflow["shape"],
  path: string,
  read: () => Promise<{ readonly text: string }>,
): Promise<string | undefined> {
  try {
    const { text } = await read();
    const report = createReport();
    const source =
      shape === "classic" ? await readYaml(path, text, report) : (await splitFrontMatter(path, text, report)).source;
    return textOf(source?.value);
  } catch {
    // Whatever it is: whoever loads it is told, and the others are listed.
    return undefined;
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return isJsonObject(value) && typeof value.description === "string" ? value.description : undefined;
}
