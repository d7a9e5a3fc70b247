/** 5,000 chunks out of 500 files: building the index, one filtered query and loading it, against bare Orama on the same texts. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, insertMultiple, load, save, search } from "@orama/orama";
import { OramaRetriever } from "phasegate/rag";
import { median, medians, ratio, row, time } from "./measure.mjs";

const FILES = 500;
const SECTIONS = 10;
const ROUNDS = 9;
const QUERY = "how the checkpoint of a release is verified";
/** What Orama needs to search the same texts by words, and to filter them exactly. */
const SCHEMA = { text: "string", headings: "string", workflow: "enum", phase: "enum", task: "enum", tags: "enum[]" };

/** A generator that gives the same numbers each time. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

const next = numbers(7);
const LETTERS = ["a", "e", "i", "o", "u", "st", "r", "n", "l", "ch", "p", "m", "d", "k"];
const WORDS = Array.from({ length: 4000 }, () => Array.from({ length: 2 + next(4) }, () => LETTERS[next(14)]).join(""));
/** Some words are frequent and most are rare. */
const word = () =>
  next(12) === 0 ? ["release", "checkpoint", "verified", "phase"][next(4)] : WORDS[Math.min(next(4000), next(4000))];
const words = (count) => Array.from({ length: count }, word).join(" ");

/** About 1 KB as people write it: prose, a list, and a fence or a checklist. */
function section(number) {
  const list = Array.from({ length: 4 }, () => `- ${words(9)}`).join("\n");
  const last = number % 2 === 0 ? `\`\`\`sh\n${words(3)}\n${words(4)}\n\`\`\`` : `- [ ] ${words(6)}\n- [ ] ${words(7)}`;
  return `## ${number} ${words(3)}\n\n${words(40)}.\n\n${list}\n\n${words(45)}.\n\n${last}\n\n`;
}

/** The files of five workflows, and the same texts as documents for Orama. */
async function corpus(root) {
  const documents = [];
  for (let file = 0; file < FILES; file += 1) {
    const [workflow, phase] = [`workflow_${file % 5}`, file % 20];
    const title = `Notes ${file} on ${words(2)}`;
    const sections = Array.from({ length: SECTIONS }, (_, index) => section(index));
    const folder = join(root, workflow, "phases", String(phase));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `notes-${file}.md`), `# ${title}\n\n${sections.join("")}`);
    for (const [index, text] of sections.entries()) {
      const headings = `${title} ${text.slice(3, text.indexOf("\n"))}`;
      documents.push({ id: `${file}#${index}`, text, headings, workflow, phase, tags: [] });
    }
  }
  return documents;
}

/** The medians of two kinds of work in turn, in microseconds, and of the ratios round by round: a disk's speed drifts. */
async function inTurn(bare, ours) {
  const times = { bare: [], ours: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, work] of Object.entries({ bare, ours })) {
      globalThis.gc();
      const begun = performance.now();
      await work(round);
      times[name].push((performance.now() - begun) * 1000);
    }
  }
  const ratios = times.ours.map((time, round) => time / times.bare[round]);
  return { bare: median(times.bare), ours: median(times.ours), ratio: Number(median(ratios).toFixed(2)) };
}

/** An index of the documents, and nothing else. */
function bareIndex(documents) {
  const database = create({ schema: SCHEMA });
  insertMultiple(database, documents);
  return database;
}

export async function run() {
  const root = await mkdtemp(join(tmpdir(), "phasegate-search-"));
  const [sources, kept] = [join(root, "sources"), join(root, "kept")];
  const documents = await corpus(sources);
  const texts = { roots: [sources], freshFor: 1000 };

  const building = await inTurn(
    async (round) => writeFile(join(root, `bare-${round}.json`), JSON.stringify(save(bareIndex(documents)))),
    async (round) => {
      const report = await new OramaRetriever({ ...texts, folder: join(root, `ours-${round}`) }).refresh();
      if (report.chunks < documents.length || report.problems.length > 0) throw new Error(JSON.stringify(report));
    },
  );

  const database = bareIndex(documents);
  const retriever = new OramaRetriever({ ...texts, folder: kept });
  await retriever.refresh();
  const where = { workflow: { eq: "workflow_2" }, phase: { eq: 7 } };
  const query = { query: QUERY, workflow: "workflow_2", phase: 7, limit: 5 };
  const asking = await medians({
    bare: { fn: () => search(database, { term: QUERY, where, limit: 5 }) },
    ours: {
      fn: async () => {
        const found = await retriever.search(query);
        if (found.length !== 5 || found.some(({ phase }) => phase !== 7)) throw new Error("wrong chunks");
      },
    },
  });

  const loading = await inTurn(
    async () => load(create({ schema: SCHEMA }), JSON.parse(await readFile(join(root, "bare-0.json"), "utf8"))),
    async () => {
      const problems = [];
      const opened = new OramaRetriever({ ...texts, folder: kept, onProblem: (problem) => problems.push(problem) });
      const report = await opened.refresh();
      if (report.changed > 0 || problems.length > 0) throw new Error(JSON.stringify([report, problems]));
    },
  );
  await rm(root, { recursive: true, force: true });
  return [
    row(
      "5,000 chunks: read, cut, indexed, kept",
      time(building.ours),
      `bare Orama, texts at hand ${time(building.bare)}`,
      building.ratio,
      1.5,
    ),
    row(
      "a filtered query among 5,000 chunks",
      time(asking.ours),
      `bare Orama ${time(asking.bare)}`,
      ratio(asking.ours, asking.bare),
      1.5,
    ),
    row(
      "5,000 chunks loaded, all files looked at",
      time(loading.ours),
      `bare Orama ${time(loading.bare)}`,
      loading.ratio,
      1.5,
    ),
  ];
}
