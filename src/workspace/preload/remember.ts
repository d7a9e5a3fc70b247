/** How many results a function keeps. */
const KEPT = 128;

/**
 * A function of texts that remembers its newest results by these texts: what is worked out of a text is the same as long as
 * the text is. A rejection is forgotten.
 */
export function remember<Texts extends readonly string[], T>(
  make: (...texts: Texts) => Promise<T>,
): (...texts: Texts) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (...texts) => {
    const key = texts.join("\0");
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make(...texts);
    known.set(key, made);
    made.catch(() => known.delete(key));
    const [oldest] = known.keys();
    if (oldest !== undefined && known.size > KEPT) known.delete(oldest);
    return made;
  };
}
