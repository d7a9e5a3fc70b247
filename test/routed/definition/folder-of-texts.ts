import type { TextSource } from "../../../src/ports/content-provider.js";

/** Texts by path: a source that a test can edit. */
export class FolderOfTexts implements TextSource {
  readonly texts: Record<string, string>;

  constructor(texts: Record<string, string>) {
    this.texts = texts;
  }

  async list(folder: string): Promise<readonly string[]> {
    return Object.keys(this.texts)
      .filter((path) => folder === "" || path.startsWith(`${folder}/`))
      .sort();
  }

  async read(path: string): Promise<string | undefined> {
    return this.texts[path];
  }
}

/** Returns the file of a step. */
export function stepText(guidance: string, instructions = "Do it."): string {
  return `# Orchestrator Guidance\n${guidance}\n\n# Client Instructions\n${instructions}\n`;
}

/** Returns a valid garden in three steps, with the given changes. */
export function gardenTexts(changes: Record<string, string> = {}): Record<string, string> {
  return {
    "GARDEN/index.md":
      "# GARDEN\n\nA bed with peas.\n\n## Steps\n\n1. [Dig](steps/dig.md)\n2. [Sow](steps/sow.md)\n3. [Water](steps/water.md)\n",
    "GARDEN/steps/dig.md": stepText('If it is dug, proceed to "Sow".'),
    "GARDEN/steps/sow.md": stepText('Proceed to "Water".'),
    "GARDEN/steps/water.md": stepText('Proceed to "FINISH".'),
    ...changes,
  };
}
