/**
 * A host's own retriever, for a vector store or a search service: it needs one method. The store here imitates one of
 * LangChain's, whose documents have `pageContent` and `metadata`.
 */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { createSearchTool, RagContent, type RefreshableRetriever } from "phasegate/rag";

interface Metadata {
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly source: string;
  readonly from: number;
  readonly to: number;
  /** Which piece of its file it is, from 1, and how many there are. */
  readonly number: number;
  readonly of: number;
}

interface Document {
  readonly pageContent: string;
  readonly metadata: Metadata;
}

const documents: readonly Document[] = [
  {
    pageContent: "# Dig\n\nLoosen the soil.",
    metadata: { workflow: "garden", phase: 1, source: "garden/dig.md", from: 1, to: 3, number: 1, of: 1 },
  },
  {
    pageContent: "# Sow\n\nSeeds in rows.",
    metadata: { workflow: "garden", phase: 2, source: "garden/sow.md", from: 1, to: 3, number: 1, of: 1 },
  },
  {
    pageContent: "# Rain\n\nWater seeds daily.",
    metadata: { source: "guide/rain.md", from: 1, to: 3, number: 1, of: 1 },
  },
];

const store = {
  async similaritySearchWithScore(query: string, k: number, filter: Partial<Metadata>) {
    const fits = ({ metadata }: Document) =>
      Object.entries(filter).every(([name, value]) => new Map(Object.entries(metadata)).get(name) === value);
    const words = query.toLowerCase().split(/\W+/);
    const score = ({ pageContent }: Document) =>
      words.filter((word) => pageContent.toLowerCase().includes(word)).length;
    const found = documents.filter(fits).map((document) => [document, score(document)] as const);
    return found.sort(([, one], [, other]) => other - one).slice(0, k);
  },
};

// #region retriever
const retriever: RefreshableRetriever = {
  async search({ query, limit = 5, tags = [], ...filters }) {
    const found = await store.similaritySearchWithScore(query, limit, filters);
    return found.map(([{ pageContent: text, metadata }, score]) => {
      const { source: file, from, to, number, of, ...place } = metadata;
      const tokens = Math.ceil(text.length / 4);
      return { ...place, text, file, headings: [], lines: [from, to], tokens, score, tags, part: { number, of } };
    });
  },
};
// #endregion retriever

const garden = defineWorkflow({
  type: "garden",
  revision: "1",
  name: "Garden",
  description: "From soil to leaf",
  phases: [
    { number: 1, name: "Dig", content: "comes out of the store" },
    { number: 2, name: "Sow", content: "comes out of the store" },
  ],
});
const content = new RagContent({ definitions: new MemoryContent({ workflows: [garden] }), retriever });
const engine = createEngine({ storage: new MemoryStorage(), content });
const { phase } = await engine.start({ workflowType: "garden", target: "bed.txt" });
assert.equal(phase.content.text, "# Dig\n\nLoosen the soil.");
await engine.close();

const answer = await createSearchTool(retriever).handler({ query: "seeds" });
assert.match(JSON.stringify(answer), /Water seeds daily/);
assert.doesNotMatch(JSON.stringify(answer), /Seeds in rows/, "phases are hidden from agents that search");
console.log(`phase 1 out of ${phase.content.sources.join(", ")}`);
