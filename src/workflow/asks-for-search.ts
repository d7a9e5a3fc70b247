/** The tool that searches standards, by its usual name. */
export const SEARCH_TOOL = "search_standards";
/** The order to search, or the name of a tool for it. */
const SEARCHES = /\bMUST[-_ ]SEARCH\b|\b(?:search_standards|pos_search_project)\b/;

export function asksForSearch(text: string): boolean {
  return SEARCHES.test(text);
}
