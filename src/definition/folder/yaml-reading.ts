import type { Document, Range } from "yaml";
import type { SourcePosition } from "../../errors.js";
import type { Report } from "./report.js";

/** The parser, loaded. */
export type Yaml = typeof import("yaml");

/** A YAML text that is being read. */
export interface YamlReading {
  readonly yaml: Yaml;
  readonly document: Document.Parsed;
  readonly text: string;
  readonly report: Report;
  at(offset: number): SourcePosition;
}

/** Where a node begins in its text. */
export function startOf(yaml: Yaml, node: unknown): number {
  const range: Range | null | undefined = yaml.isNode(node) ? node.range : undefined;
  return range?.[0] ?? 0;
}
