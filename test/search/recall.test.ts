import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OramaRetriever, type SearchQuery } from "phasegate/rag";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";
import { toyEmbedding } from "./toy-embedding.js";

const WORKFLOWS = ["spec_creation_v1", "spec_execution_v1"];
const REASON = skipReason(...WORKFLOWS);

const metadataSchema = z.object({
  phases: z.array(
    z.object({
      phase_number: z.union([z.number(), z.string()]),
      phase_name: z.string(),
      purpose: z.string().default(""),
      tasks: z
        .array(
          z.object({ task_number: z.number(), name: z.string(), file: z.string(), purpose: z.string().default("") }),
        )
        .default([]),
    }),
  ),
});

interface Part {
  readonly workflow: string;
  readonly phase: number;
  readonly task?: number;
  readonly file: string;
  /** The name in the metadata. */
  readonly named: string;
}

/** Returns every phase and task of a workflow that has a text. */
function partsOf(workflow: string): Part[] {
  const text = readFileSync(join(CORPUS, workflow, "metadata.json"), "utf8");
  return metadataSchema
    .parse(JSON.parse(text))
    .phases.flatMap(({ phase_number: phase, phase_name, purpose, tasks }) => {
      if (typeof phase === "string") return [];
      const folder = `${workflow}/phases/${phase}`;
      return [
        { workflow, phase, file: `${folder}/phase.md`, named: `Phase ${phase}: ${phase_name} ${purpose}` },
        ...tasks.map((task) => ({
          workflow,
          phase,
          task: task.task_number,
          file: `${folder}/${task.file}`,
          named: `Phase ${phase} Task ${task.task_number}: ${task.name} ${task.purpose}`,
        })),
      ];
    });
}

/** Returns the title of a part's text. */
function titleOf({ file }: Part): string {
  return /^# (.*)$/m.exec(readFileSync(join(CORPUS, file), "utf8"))?.[1] ?? "";
}

const FILTERS: Record<string, (part: Part) => Omit<SearchQuery, "query">> = {
  "no filter": () => ({}),
  "its workflow": ({ workflow }) => ({ workflow }),
  "its workflow and phase": ({ workflow, phase }) => ({ workflow, phase }),
  "all filters": ({ workflow, phase, task }) => ({ workflow, phase, ...(task === undefined ? {} : { task }) }),
};
const QUERIES: Record<string, (part: Part) => string> = {
  "name in the metadata": ({ named }) => named,
  title: titleOf,
};

describe.skipIf(REASON !== "").each([
  ["by words", undefined],
  ["by words and a toy embedding", toyEmbedding],
])(`recall at 1 on workflows that people use, %s${REASON}`, (_, embed) => {
  const parts = REASON === "" ? WORKFLOWS.flatMap(partsOf) : [];
  const retriever = new OramaRetriever({
    roots: [CORPUS],
    freshFor: 60_000,
    ...(embed === undefined ? {} : { embed }),
  });

  it.each(
    Object.entries(FILTERS).flatMap(([filters, filter]) =>
      Object.entries(QUERIES).map(([kind, query]) => [filters, kind, filter, query] as const),
    ),
  )("is 1 with %s, asked by its %s", async (_filters, _kind, filter, query) => {
    expect(parts).toHaveLength(37);
    const missed: string[] = [];
    for (const part of parts) {
      const [first] = await retriever.search({ query: query(part), ...filter(part), limit: 1 });
      if (first?.file !== part.file || first.task !== part.task) missed.push(`${query(part)}: ${first?.file}`);
    }
    expect(missed).toEqual([]);
  });

  it("is 1 for the requirements of a phase's checkpoint", async () => {
    for (const { workflow, phase, file } of parts.filter(({ task }) => task === undefined)) {
      const query = `${workflow} Phase ${phase} checkpoint requirements evidence`;
      const filters = { workflow, phase, tags: ["phase", "checkpoint", "evidence"] };
      const [first] = await retriever.search({ query, ...filters, limit: 1 });
      expect([first?.file, first?.headings.at(-1)]).toEqual([file, expect.stringMatching(/validation gate/i)]);
    }
  });
});
