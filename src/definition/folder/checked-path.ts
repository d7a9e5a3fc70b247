import { isPhasegateError } from "../../errors.js";
import { parseRelativePath } from "../relative-path.js";
import type { ObjectReader } from "./object-reader.js";
import type { Report } from "./report.js";

/** A path that metadata gives, in a list of one; empty, with an error, if no path may look like that. */
export function checkedPath(path: string, reader: ObjectReader, key: string, report: Report): string[] {
  try {
    return [parseRelativePath(path)];
  } catch (error) {
    if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
    report.error("PATH_REFUSED", reader.place(key), error.message, "Give a path inside the workflow's folder.");
    return [];
  }
}
