/** Characters that nobody sees: format and control characters, fillers, the braille pattern without dots. */
const UNSEEN = /(?!\s)[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800]/gu;

/** What a reader sees of a text: without blanks around it, and without characters that nobody sees. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, "").trim();
}
