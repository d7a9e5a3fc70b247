/** An embedding for tests: hashes words into a few numbers. Texts with the same words are similar. */
export async function toyEmbedding(texts: readonly string[]): Promise<number[][]> {
  return texts.map((text) => {
    const vector = Array.from({ length: 128 }, () => 0);
    for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
      const at = [...word].reduce((hash, character) => (hash * 31 + character.charCodeAt(0)) % 128, 7);
      vector[at] = (vector[at] ?? 0) + 1;
    }
    return vector;
  });
}
