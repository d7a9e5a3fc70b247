/** Scripts that are written without spaces: each character is a word. */
const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}";
/** Built from a string, since compilers know the flag only for newer targets. */
const WORD = new RegExp(`[${UNSPACED}]|[[\\p{L}\\p{M}\\p{N}]--[${UNSPACED}]]+`, "gv");
/**
 * Behind each word: the index looks words up by their beginning, and this makes the end part of it. Else
 * `1` would find `10` and `15`, and find them to be rarer, so better.
 */
const END = " ";
/** How many words' stems are kept. */
const STEMS_MAX = 50_000;

/**
 * Makes the function that gives the words of a text, each once, of any script: in lower case, at their
 * stems. `snake_case` and `kebab-case` are several words.
 */
export function createWords(stem: (word: string) => string): (text: string) => string[] {
  const stems = new Map<string, string>();
  const stemOf = (word: string): string => {
    const known = stems.get(word);
    if (known !== undefined) return known;
    if (stems.size >= STEMS_MAX) stems.clear();
    const made = `${stem(word)}${END}`;
    stems.set(word, made);
    return made;
  };
  return (text) => {
    const words = new Set<string>();
    for (const word of text.normalize("NFKC").toLowerCase().match(WORD) ?? []) words.add(stemOf(word));
    return [...words];
  };
}
