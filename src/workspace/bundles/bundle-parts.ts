/** What a bundle names beside its agents: workflows, resources, paths. */
import type { ObjectReader } from "../../definition/folder/object-reader.js";
import type { Report } from "../../definition/folder/report.js";
import { shown } from "../../definition/names.js";
import { isPhasegateError, type SourcePosition } from "../../errors.js";
import { checkedPath } from "../roots/checked-path.js";
import type { BundleWorkflow } from "./bundle.js";

/** Workflows may be listed by path, or with a name beside it. */
export function workflowsOf(reader: ObjectReader, report: Report): readonly BundleWorkflow[] {
  const value = reader.value("workflows");
  if (value === undefined) return [];
  const isPaths = Array.isArray(value) && value.every((item) => typeof item === "string");
  const found = isPaths
    ? pathsOf(reader, "workflows", report).map((path, index) => ({
        workflow: { name: path.slice(path.lastIndexOf("/") + 1), path },
        place: reader.place("workflows", index),
      }))
    : (reader.objects("workflows") ?? []).flatMap((one) => {
        const given = one.required("path", one.text("path"), "the path of its folder");
        const path = pathOf(one, "path", given, report);
        const name = one.text("name") ?? one.text("id") ?? path?.slice(path.lastIndexOf("/") + 1);
        one.text("description");
        one.rest();
        return path === undefined || name === undefined ? [] : [{ workflow: { name, path }, place: one.place() }];
      });
  refuseTwins(
    found.map(({ workflow, place }) => ({ name: workflow.name, place })),
    "workflow",
    report,
  );
  return found.map(({ workflow }) => workflow);
}

/** Folders and files with a meaning of their own. */
export function resourcesOf(reader: ObjectReader, report: Report): Readonly<Record<string, string>> {
  const given = reader.object("resources");
  const names = Object.keys(reader.fields("resources") ?? {});
  const paths = names.flatMap((name) => {
    const path = given === undefined ? undefined : pathOf(given, name, given.text(name), report);
    return path === undefined ? [] : [[name, path] as const];
  });
  return Object.fromEntries(paths);
}

/** A list of paths, those that lead out reported and left out. */
export function pathsOf(reader: ObjectReader, key: string, report: Report): string[] {
  return (reader.texts(key) ?? []).flatMap((text, index) => {
    const path = checked(text, reader.place(key, index), report);
    return path === undefined ? [] : [path];
  });
}

/** One path; undefined, with an error, if it leads out. */
export function pathOf(
  reader: ObjectReader,
  key: string,
  text: string | undefined,
  report: Report,
): string | undefined {
  return text === undefined ? undefined : checked(text, reader.place(key), report);
}

/** `{bundle-root}/` is where a bundle's paths begin anyhow. */
function checked(text: string, place: SourcePosition, report: Report): string | undefined {
  try {
    return checkedPath(text.replace(/^\{(?:bundle|core)-root\}\//, ""));
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    report.error("PATH_REFUSED", place, error.message, "Write a path relative to the bundle's folder, without '..'.");
    return undefined;
  }
}

/** Reports names that are there twice; case makes no other name. */
export function refuseTwins(
  found: readonly { readonly name: string; readonly place: SourcePosition }[],
  what: string,
  report: Report,
): void {
  const seen = new Set<string>();
  for (const { name, place } of found) {
    const key = name.toLowerCase();
    const hint = "Give one of the two another name.";
    if (seen.has(key)) report.error("BUNDLE_PART_DUPLICATE", place, `a second ${what} is called ${shown(name)}`, hint);
    seen.add(key);
  }
}
