/** A name without what people write differently: case, blanks, underscores, hyphens and signs. */
export function plainName(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** The one name that is meant: the same, or the only one that differs by case, blanks and signs alone. */
export function matchName(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const plain = plainName(name);
  const alike = names.filter((other) => plainName(other) === plain);
  return plain !== "" && alike.length === 1 ? alike[0] : undefined;
}
