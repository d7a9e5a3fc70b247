/**
 * The graph of waves that Kiro writes below its tasks: `{"waves": [{"id": 0, "tasks": ["1.1"]}, …]}` in a block
 * of JSON. The tasks of a wave wait for all of the wave before.
 */
import * as z from "zod/mini";
import type { Region } from "./region.js";
import type { SourceText } from "./source-text.js";

/** What tasks wait for, by their ids. */
export type Waves = ReadonlyMap<string, readonly string[]>;

const wavesSchema = z.object({
  waves: z.array(z.object({ tasks: z.array(z.pipe(z.union([z.string(), z.number()]), z.transform(String))) })),
});

/** Reads all graphs of a source; a block that is none says nothing. */
export function readWaves(source: SourceText, regions: readonly Region[]): Waves {
  const found = new Map<string, readonly string[]>();
  for (const region of regions) {
    if (region.kind !== "code" || !/^[ \t>]*(?:`{3,}|~{3,})[ \t]*json\b/i.test(source.text(region.start))) continue;
    let before: readonly string[] = [];
    for (const { tasks } of wavesOf(source, region)) {
      for (const id of tasks) found.set(id, before);
      before = tasks;
    }
  }
  return found;
}

function wavesOf(source: SourceText, { start, end }: Region) {
  const lines = Array.from({ length: end - start - 2 }, (_, index) => source.text(start + 1 + index));
  const text = lines.join("\n");
  if (!text.includes('"waves"')) return [];
  try {
    return wavesSchema.safeParse(JSON.parse(text)).data?.waves ?? [];
  } catch {
    return [];
  }
}
