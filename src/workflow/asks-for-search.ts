/** Texts that tell an agent to search standards. */
/** The tool that searches standards, by its usual name. */
export const SEARCH_TOOL = "search_standards";
/** What tells the agent to search: the order, or the name of a tool for it. */
const SEARCHES = /\bMUST[-_ ]SEARCH\b|\b(?:search_standards|pos_search_project)\b/;

/** Returns true if a text tells the agent to search. */
export function asksForSearch(text: string): boolean {
  return SEARCHES.test(text);
}
