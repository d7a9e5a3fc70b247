/**
 * Texts through search: an index of Markdown files, content out of any retriever, and a search tool for
 * agents. `OramaRetriever` needs Node and the optional peer `@orama/orama`.
 *
 * @packageDocumentation
 */

export type { Chunk, PlacedChunk, Retriever, SearchQuery } from "./ports/retriever.js";
export type { Embed } from "./search/chunk-index.js";
export { RagContent, type RagContentOptions, type RefreshableRetriever } from "./search/rag-content.js";
export { OramaRetriever, type OramaRetrieverOptions } from "./search/retriever.js";
export type { SearchProblem } from "./search/sync.js";
export { createSearchTool, type SearchTool, type SearchToolOptions } from "./tools/search-tool.js";
