/** Every check of a workflow's files, by the code that its diagnostics carry, with what it means. */
export const DIAGNOSTIC_CODES = {
  // files
  METADATA_MISSING: "the folder has no metadata.json",
  FILE_UNREADABLE: "a file or folder can't be read: it leads out of its root, is none, or the system refuses",
  FILE_TOO_LARGE: "a file is over its size limit",
  FOLDER_TOO_LARGE: "the folder holds more than is read",
  NOT_UTF8: "a file is not UTF-8 text",
  DEFINITION_TOO_LARGE: "the definition as a whole is too large to be pinned to a session",
  BOM: "a file begins with a byte order mark",
  CRLF: "a file has line ends of two characters",
  // syntax
  JSON_SYNTAX: "metadata.json is not strict JSON",
  YAML_SYNTAX: "a gate file is not YAML",
  YAML_VERSION: "a gate file asks for another YAML than 1.2, or has another directive",
  YAML_TAG: "a gate file holds a tag that is not part of YAML's core",
  YAML_MERGE: "a gate file holds a merge key",
  YAML_ALIASES: "a gate file's aliases expand too far",
  NESTED_TOO_DEEPLY: "values are nested too deeply",
  VALUE_NOT_JSON: "a value can't be written as JSON",
  // keys and values
  KEY_MISSING: "a key is missing",
  KEY_UNKNOWN: "a key has no meaning to this version",
  KEY_DUPLICATE: "a key is there twice",
  NAME_RESERVED: "a name that would reach an object's prototype",
  VALUE_WRONG: "a value is of the wrong kind",
  PATH_REFUSED: "a path that leads out of the workflow's folder",
  // the workflow
  WORKFLOW_TYPE_INVALID: "the folder's name can't be a workflow type",
  WORKFLOW_TYPE_DIFFERS: "workflow_type is not the folder's name",
  WORKFLOW_HIDDEN: "a folder of the same type in a later root is not used",
  DYNAMIC_CONTRADICTS: "the metadata says both that phases come from a plan and that they don't",
  TEMPLATE_MISSING: "a template of the phases or tasks of a plan isn't there",
  TEMPLATE_PLACEHOLDER_UNKNOWN: "a template holds a placeholder that nothing is put in the place of",
  PHASES_MISSING: "there is no phase",
  PHASE_COUNT: "there are fewer phases than the metadata says (an error), or more (a warning)",
  PHASE_DUPLICATE: "a phase number is there twice",
  PHASE_FILE_MISSING: "a phase's text isn't there",
  PHASE_UNLISTED: "a phase's folder that the metadata doesn't list",
  START_PHASE_UNKNOWN: "start_phase is not the number of a phase",
  TITLE_MISSING: "a phase or task has a name neither in the metadata nor in its text",
  TASK_DUPLICATE: "a task number is there twice in a phase",
  TASK_FILE_MISSING: "a task's text isn't there",
  TASK_UNLISTED: "a task's file that the metadata doesn't list",
  // gates
  GATE_OPEN: "a phase asks for nothing: any evidence object passes",
  GATE_EMPTY: "a gate file asks for nothing",
  GATE_DUPLICATE: "a phase has two gate files",
  GATE_FILE_MISNAMED: "a file or folder that looks like a gate's but has not its name or place, and is not read",
  GATE_DIFFERS: "gate file and metadata ask for different fields",
  FIELD_TYPE_UNKNOWN: "a field of evidence has a type that isn't known",
  RULE_MISPLACED: "a field asks for what only a gate can ask for",
  RULE_INVALID: "a rule that can't be read, or doesn't fit the evidence that it is about",
  VALIDATOR_UNKNOWN: "a field names a validator that there isn't",
  VALIDATOR_UNUSED: "a validator is defined that no field names",
} as const;

/** Which check found something. */
export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;
