import { HIDDEN } from "../names.js";

/** The names that a gate's file may have. */
export const GATE_FILES = ["gate-definition.yaml", "gate-definition.yml"] as const;

/** Whether a path ends in the name of a gate's file. */
export function isGateFile(path: string): boolean {
  return GATE_FILES.some((name) => path === name || path.endsWith(`/${name}`));
}

/** Whether a path is a gate's file in a folder that a reader takes for a phase's: `phases/01/`, `Phases/1/`. */
export function isInLikelyPhase(path: string): boolean {
  return isGateFile(path) && /^\s*phases?\s*\/[^/\p{N}]*\p{N}[^/]*\/[^/]+$/iu.test(path.replace(HIDDEN, ""));
}

/**
 * Whether a file or folder of this name was probably meant as a gate: `Gate-Definition.YAML`, `gate.json`,
 * `gate-definition.yaml.bak`, or the usual name with letters of another script. Where there is no gate file, none of these
 * may be passed over in silence.
 */
export function looksLikeGate(written: string): boolean {
  const name = written.normalize("NFKC").replace(HIDDEN, "");
  if (GATE_FILES.some((usual) => isAlike(usual, name))) return true;
  // Markdown is read as text: `task-3-write-gate-definitions.md` is a task.
  if (/\.md$/i.test(name)) return /^gates?[^a-z]{0,2}def/i.test(name);
  const gate = name.search(/gate/i);
  if (gate !== -1 && /\.ya?ml/i.test(name.slice(gate))) return true;
  return /gates?[^a-z]{0,2}def|^gates?\.(?:json\w?|toml|txt)$/i.test(name);
}

/** Whether a name is another one, but for letters that aren't ASCII: a Cyrillic `а` is an `a` to whoever reads it. */
function isAlike(usual: string, name: string): boolean {
  const letters = [...name.toLowerCase()];
  return letters.length === usual.length && letters.every((letter, at) => letter === usual[at] || letter > "\u007f");
}
