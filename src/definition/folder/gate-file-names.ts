/** The names that a gate's file may have. */
export const GATE_FILES = ["gate-definition.yaml", "gate-definition.yml"] as const;

/** Whether a path ends in the name of a gate's file. */
export function isGateFile(path: string): boolean {
  return GATE_FILES.some((name) => path === name || path.endsWith(`/${name}`));
}

/**
 * Whether a file or folder of this name was probably meant as a gate: `Gate-Definition.YAML`, `gate.json`,
 * `gate-definition.yaml.bak`. Where there is no gate file, none of these may be passed over in silence.
 */
export function looksLikeGate(name: string): boolean {
  // Markdown is read as text: `task-3-write-gate-definitions.md` is a task.
  if (/\.md$/i.test(name)) return /^gates?[^a-z]{0,2}def/i.test(name);
  const gate = name.search(/gate/i);
  if (gate !== -1 && /\.ya?ml/i.test(name.slice(gate))) return true;
  return /gates?[^a-z]{0,2}def|^gates?\.(?:json\w?|toml|txt)$/i.test(name);
}
