import type { SourcePosition } from "../../errors.js";
import { revisionOf } from "../digest.js";
import { shown } from "../names.js";
import { nearest } from "../nearest.js";
import { findPlaceholders, PLACEHOLDERS, type TemplateKind, USUAL_TEMPLATES } from "../placeholders.js";
import { checkedPath } from "./checked-path.js";
import type { ObjectReader } from "./object-reader.js";
import { linesOf } from "./positions.js";
import type { Report } from "./report.js";
import type { WorkflowFiles } from "./workflow-files.js";

/** What templates are read from. */
export interface TemplateReading {
  readonly files: WorkflowFiles;
  readonly report: Report;
}

/** Finds a template, and looks through it. `place` is where it is named, or should be. */
export function readTemplate(
  kind: TemplateKind,
  templates: ObjectReader | undefined,
  place: SourcePosition,
  { files, report }: TemplateReading,
): { readonly path: string; readonly revision: string | undefined } {
  const given = templates?.text(kind);
  const paths =
    given === undefined || templates === undefined
      ? [USUAL_TEMPLATES[kind]]
      : checkedPath(given, templates, kind, report);
  const [path] = paths;
  if (path !== undefined && !files.has(path)) {
    const message = `the template of ${kind}s is missing: there is no ${shown(path)}`;
    const hint = `Write it, as a .md file, or name another one: "templates": {"${kind}": "${USUAL_TEMPLATES[kind]}"}.`;
    report.error("TEMPLATE_MISSING", place, message, hint);
  }
  const text = path === undefined ? undefined : files.text(path);
  if (path !== undefined && text !== undefined) warnUnknown(kind, path, text, report);
  return { path: path ?? USUAL_TEMPLATES[kind], revision: text === undefined ? undefined : revisionOf(text) };
}

/** A placeholder that nothing is put in the place of stays as it is, for an agent to wonder at. */
function warnUnknown(kind: TemplateKind, file: string, text: string, report: Report): void {
  const known = PLACEHOLDERS[kind];
  const at = linesOf(file, text);
  for (const { name, offset } of findPlaceholders(text).filter((found) => !known.includes(found.name))) {
    const meant = nearest(name, known);
    const hint =
      meant === undefined
        ? `Use one of ${known.join(", ")}; prose in brackets is told apart by small letters.`
        : `Did you mean [${meant}]?`;
    const message = `nothing is put in the place of ${shown(`[${name}]`)} in a template of ${kind}s`;
    report.warn("TEMPLATE_PLACEHOLDER_UNKNOWN", at(offset), message, hint);
  }
}
