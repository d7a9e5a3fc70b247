/**
 * A host's own StorageAdapter and ContentProvider, checked with the contract suites. Any test runner can run the cases;
 * here a loop does.
 */
import assert from "node:assert/strict";
import {
  type Content,
  type ContentPart,
  type ContentProvider,
  createEngine,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
  type SessionId,
  type StorageAdapter,
  type WorkflowDefinition,
  type WorkflowListing,
} from "phasegate";
import type { AppendOptions, Commit, Page, SessionQuery, SessionSummary } from "phasegate/storage";
import { contentContract, storageContract } from "phasegate/testing";

/** Counts calls and passes them on to another storage; a cache or metrics would look the same. */
class CountingStorage implements StorageAdapter {
  readonly counts: Record<string, number> = {};
  readonly #inner: StorageAdapter;

  constructor(inner: StorageAdapter) {
    this.#inner = inner;
  }

  get capabilities(): StorageAdapter["capabilities"] {
    return this.#inner.capabilities;
  }

  read(id: SessionId): Promise<Commit | undefined> {
    this.#count("read");
    return this.#inner.read(id);
  }

  append(commit: Commit, options?: AppendOptions): Promise<void> {
    this.#count("append");
    return this.#inner.append(commit, options);
  }

  log(id: SessionId, options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<Commit> {
    this.#count("log");
    return this.#inner.log(id, options);
  }

  payload(id: SessionId, hash: string): Promise<string | undefined> {
    this.#count("payload");
    return this.#inner.payload(id, hash);
  }

  list(query: SessionQuery): Promise<Page<SessionSummary>> {
    this.#count("list");
    return this.#inner.list(query);
  }

  countActive(upTo: number): Promise<number> {
    this.#count("countActive");
    return this.#inner.countActive(upTo);
  }

  remove(id: SessionId): Promise<void> {
    this.#count("remove");
    return this.#inner.remove(id);
  }

  #count(method: string): void {
    this.counts[method] = (this.counts[method] ?? 0) + 1;
  }
}

const hello = defineWorkflow({
  type: "hello",
  revision: "1",
  name: "Hello",
  description: "One phase",
  phases: [
    { number: 1, name: "Say hello", content: "# Say hello to NAME", tasks: [{ name: "say it", content: "# Now" }] },
  ],
});

/** Fills in a name; everything else comes from another provider. */
class GreetingContent implements ContentProvider {
  readonly #inner = new MemoryContent({ workflows: [hello] });

  list(): Promise<readonly WorkflowListing[]> {
    return this.#inner.list();
  }

  definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    return this.#inner.definition(type, revision);
  }

  async text(type: string, part: ContentPart): Promise<Content> {
    const content = await this.#inner.text(type, part);
    const text = content.text.replace("NAME", "Ada!");
    return { ...content, text, tokens: Math.ceil(text.length / 4) };
  }
}

const cases = [
  ...storageContract({ open: async () => new CountingStorage(new MemoryStorage()) }),
  ...contentContract({ open: async () => new GreetingContent() }),
];
let kept = 0;
const broken: string[] = [];
for (const { name, run } of cases) {
  try {
    // A reason means that a case was not run: this storage has no `watch`, and no other process opens it.
    const reason = await run();
    if (reason === undefined) kept += 1;
    console.log(reason === undefined ? `kept: ${name}` : `not tried: ${name}: ${reason}`);
  } catch (error) {
    broken.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
assert.deepEqual(broken, []); // all broken duties at once, each with what was expected and what came

const storage = new CountingStorage(new MemoryStorage());
const engine = createEngine({ storage, content: new GreetingContent() });
const { phase } = await engine.start({ workflowType: "hello", target: "greeting.txt" });
assert.equal(phase.content.text, "# Say hello to Ada!");
assert.equal(storage.counts.append, 1);
console.log(`${kept} promises kept, ${cases.length - kept} not tried.`);
