import type { Diagnostic } from "../../../definition/diagnostic.js";
import type { DiagnosticCode } from "../../../definition/folder/diagnostic-codes.js";
import { METADATA_FILE } from "../../../definition/folder/read-workflow.js";
import { FILE_MAX } from "../../../definition/folder/workflow-files.js";
import { isPhasegateError } from "../../../errors.js";

/** Why a file of a workflow can't be had, from what the wall has thrown; throws what isn't the wall's. */
export function unreadableFile(path: string, error: unknown): Diagnostic {
  if (!isPhasegateError(error)) throw error;
  const { code, message, remedy } = error;
  if (code === "TOO_LARGE") return problem(path, "FILE_TOO_LARGE", `the file is larger than ${FILE_MAX} bytes`, remedy);
  if (code === "INVALID_INPUT") return problem(path, "NOT_UTF8", "the file is not UTF-8 text", remedy);
  const inPlace = "Put the real one there: no link that leads out, and no folder in place of a file.";
  const hint = code === "PATH_REFUSED" ? inPlace : remedy;
  return problem(path, "FILE_UNREADABLE", message, hint);
}

/** Why a workflow's whole folder can't be had. */
export function unreadableFolder(error: unknown): Diagnostic {
  if (!isPhasegateError(error)) throw error;
  const inPlace = "Put the folder itself there in place of the link, or name the folder that holds it as a root, too.";
  const hint = error.code === "PATH_REFUSED" ? inPlace : error.remedy;
  return problem(METADATA_FILE, "FILE_UNREADABLE", `the workflow's folder can't be read: ${error.message}`, hint);
}

/** A folder that is over the limits of what is read. */
export function folderTooLarge(): Diagnostic {
  const hint = "Move what is no part of the workflow elsewhere.";
  return problem(METADATA_FILE, "FOLDER_TOO_LARGE", "the folder holds more than is read", hint);
}

/** A folder that was another one each time that it was looked at. */
export function unsettledFolder(): Diagnostic {
  const hint = "Call again when nobody writes to it; replace a folder by one rename rather than file by file.";
  return problem(METADATA_FILE, "FILE_UNREADABLE", "the workflow's folder changes while it is read", hint);
}

function problem(file: string, code: DiagnosticCode, message: string, hint: string): Diagnostic {
  return { file, severity: "error", code, message, hint };
}
