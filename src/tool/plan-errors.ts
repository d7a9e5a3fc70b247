import type { AnyPhasegateError } from "../errors.js";
import type { WireObject } from "./wire-object.js";

/** Seed 001's words for errors that have to do with plans: which keys they add, and which they say otherwise. */
export function planWords(error: AnyPhasegateError, message: string, hint: string): WireObject {
  switch (error.code) {
    case "PLAN_PARSE": {
      const { file, line } = error.details;
      return { error: "parse_error", message, hint, source_path: file, line_number: line };
    }
    case "TEMPLATE":
      return { error: "template_error", message, hint, source_path: error.details.file };
    case "PHASE_OUT_OF_RANGE": {
      const { sourcePath } = error.details;
      if (sourcePath === undefined) return { message, hint };
      return { error: "phase_out_of_range_error", message, hint, source_path: sourcePath };
    }
    case "TASK_LOCKED":
      return { open_dependencies: error.details.open, ready_tasks: error.details.ready };
    default:
      return {};
  }
}
