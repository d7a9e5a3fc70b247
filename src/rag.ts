/**
 * Texts through search: an index of Markdown files, content out of any retriever, and a search tool for
 * agents. `OramaRetriever` needs Node and the optional peer `@orama/orama`.
 *
 * @packageDocumentation
 */
export type { Embed } from "./adapters/rag/embed-texts.js";
export { OramaRetriever, type OramaRetrieverOptions } from "./adapters/rag/orama-retriever.js";
export { RagContent, type RagContentOptions, type RefreshableRetriever } from "./adapters/rag/rag-content.js";
export type { SearchProblem, SyncReport } from "./adapters/rag/sync-index.js";
export type { Chunk, Retriever, SearchQuery } from "./ports/retriever.js";
export {
  createSearchTool,
  type SearchAnswer,
  type SearchTool,
  type SearchToolOptions,
} from "./tool/create-search-tool.js";
