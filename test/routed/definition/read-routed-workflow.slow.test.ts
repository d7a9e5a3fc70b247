import { describe, expect, it } from "vitest";
import { formatDiagnostic } from "../../../src/workflow/diagnostic.js";
import { readRoutedWorkflow } from "../../../src/workflow/files/routed-workflow.js";
import { FolderOfTexts, gardenTexts, stepText } from "./folder-of-texts.js";

function read(changes: Record<string, string> = {}, includeRoots: readonly string[] = []) {
  return readRoutedWorkflow("GARDEN", new FolderOfTexts(gardenTexts(changes)), includeRoots);
}

async function diagnosed(changes: Record<string, string>, includeRoots: readonly string[] = []) {
  return (await read(changes, includeRoots)).diagnostics.map(({ code, file, line, severity }) => [
    code,
    file,
    line,
    severity,
  ]);
}

const index = (list: string, above = "# GARDEN\n\nPeas.\n\n") => ({ "GARDEN/index.md": `${above}${list}\n` });
const STEPS = "- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)\n- [Water](steps/water.md)\n";

describe("a routed workflow", () => {
  it("has the steps in the order of the index, each with both sections", async () => {
    const { definition, diagnostics } = await read();
    expect(diagnostics).toEqual([]);
    expect(definition).toMatchObject({ name: "GARDEN", goal: "A bed with peas." });
    expect(definition?.steps.map(({ name, file }) => [name, file])).toEqual([
      ["Dig", "steps/dig.md"],
      ["Sow", "steps/sow.md"],
      ["Water", "steps/water.md"],
    ]);
    expect(definition?.steps[0]).toMatchObject({ guidance: 'If it is dug, proceed to "Sow".', instructions: "Do it." });
  });

  it.each([
    ["- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)"],
    ["* [Dig](steps/dig.md)\n* [Sow](steps/sow.md)"],
    ["+ [Dig](./steps/dig.md)\n+ [Sow](./steps/sow.md)"],
    ["1) [Dig](steps/dig.md)\n2) [Sow](steps/sow.md)"],
    ["-   [Dig](steps/dig.md) first\n-   then [Sow](steps/sow.md)."],
    ["- **[Dig](steps/dig.md)**\n- [**Sow**](steps/sow.md)"],
    ["- [ ] [Dig](steps/dig.md)\n- [x] [Sow](steps/sow.md)"],
    ['- [Dig](steps/dig.md "in spring")\n- [Sow](<steps/sow.md>)'],
    ["- [Dig](steps/dig.md#how)\n- [Sow](steps/sow.md)"],
    ["- [Dig](steps/dig.md)\n  - [Sow](steps/sow.md)"],
    ["> - [Dig](steps/dig.md)\n> - [Sow](steps/sow.md)"],
    ["- [Dig](steps/dig.md)\n\n  See also [the tools](steps/tools.md).\n\n- [Sow](steps/sow.md)"],
    ["- [Dig](steps/dig.md)\r\n- [Sow](steps/sow.md)\r"],
    ["### Spring\n\n- [Dig](steps/dig.md)\n\n### Later\n\n- [Sow](steps/sow.md)"],
    ["```md\n- [Weed](steps/weed.md)\n```\n\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)"],
    ["<!--\n- [Weed](steps/weed.md)\n-->\n\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)"],
    ["- [Dig][1]\n- [Sow][]\n\n[1]: steps/dig.md\n[sow]: <steps/sow.md> 'after that'"],
    ["- [Dig]\n- ![a bed][bed] [Sow][s]\n\n[bed]: bed.png\n[dig]: steps/dig.md\n\n[s]: steps/sow.md"],
    ["- [Weed][weed]\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)\n\n```\n[weed]: steps/weed.md\n```"],
    ["- see https://example.com/steps/x.md\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)"],
    [
      "- [Weed](steps/weed.md)\n\n## High-Level Plan:\n\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)\n\n## Notes\n\n- [Water](steps/water.md)",
    ],
  ])("reads its list of steps from %j", async (list) => {
    const { definition } = await read(index(list));
    expect(definition?.steps.map(({ name }) => name)).toEqual(["Dig", "Sow"]);
  });

  it("finds a file with spaces in its name", async () => {
    const { definition } = await read({
      ...index("- [Dig a Bed](steps/dig%20a%20bed.md)"),
      "GARDEN/steps/dig a bed.md": stepText("Then finish."),
    });
    expect(definition?.steps[0].file).toBe("steps/dig a bed.md");
  });

  it.each([
    ["# GARDEN\n\n# Goal\nPeas.\n\n# Steps\n", "Peas."],
    ["# GARDEN\n\n### Overall Goal:\n\nPeas.\n\nAnd beans.\n\n## Steps\n", "Peas.\n\nAnd beans."],
    ["# GARDEN\n\nPeas.\n\n## Why\n\nThey are good.\n\n", "Peas.\n\nThey are good."],
    ["# GARDEN\n\n<!-- not this -->\n\nPeas.\n\n", "Peas."],
    ["Peas.\n\n", "Peas."],
    ["# GARDEN\n\n", undefined],
  ])("reads its goal from %j", async (above, goal) => {
    expect((await read(index(STEPS, above))).definition?.goal).toBe(goal);
  });

  it("has a goal that ends where its steps start", async () => {
    const below = "# GARDEN\n\n## Goal\n\nPeas.\n\n* soon\n\n";
    expect((await read(index(STEPS, below))).definition?.goal).toBe("Peas.\n\n* soon");
  });
});

describe("a step's sections", () => {
  it.each([
    ["#   orchestrator   GUIDANCE  \nGo on.\n#  CLIENT instructions:\nDo it.\n"],
    ["# Client Instructions\nDo it.\n\n# Goal\nPeas.\n\n# Orchestrator Guidance\nGo on.\n"],
    ["# Orchestrator Guidance\r\nGo on.\r\n\r\n# Client Instructions\r\nDo it.\r\n"],
    ["Orchestrator Guidance\n===\nGo on.\n\n# Client Instructions #\nDo it.\n\n# Context Expectations\nNone.\n"],
    ["\uFEFF# Orchestrator Guidance\nGo on.\n# Client Instructions\nDo it."],
  ])("are found in %j", async (text) => {
    const { definition } = await read({ ...index("- [Dig](steps/dig.md)"), "GARDEN/steps/dig.md": text });
    expect(definition?.steps[0]).toMatchObject({ guidance: "Go on.", instructions: "Do it." });
  });

  it("keep the content of fences, section headings too", async () => {
    const guidance = "Go on.\n\n```\n# Client Instructions\nnot these\n```";
    const { definition } = await read({ ...index("- [Dig](steps/dig.md)"), "GARDEN/steps/dig.md": stepText(guidance) });
    expect(definition?.steps[0]).toMatchObject({ guidance, instructions: "Do it." });
  });

  it("keep headings of other levels, and exclude other sections", async () => {
    const instructions = "Do it.\n\n## How\n\nWith a spade.";
    const text = `${stepText("Go on.", instructions)}\n# Tools\nA spade.\n`;
    const { definition } = await read({ ...index("- [Dig](steps/dig.md)"), "GARDEN/steps/dig.md": text });
    expect(definition?.steps[0]).toMatchObject({ instructions, content: text.trim() });
  });

  it.each([
    ["# Client Instructions\nDo it.\n", "SECTION_MISSING", 1],
    ["# Client Instructions\nDo it.\n\n## Orchestrator Guidance\nGo on.\n", "SECTION_MISSING", 4],
    ["# Client Instructions\nDo it.\n\n# Orchestrator Guidance\n\n", "SECTION_MISSING", 4],
    [`${stepText("Go on.")}\n# Client Instructions\nDo more.\n`, "SECTION_DUPLICATE", 7],
    ["```\n# Orchestrator Guidance\nGo on.\n```\n# Client Instructions\nDo it.\n", "SECTION_MISSING", 1],
  ])("are reported as wrong in %j", async (text, code, line) => {
    const found = await diagnosed({ ...index("- [Dig](steps/dig.md)"), "GARDEN/steps/dig.md": text });
    expect(found).toContainEqual([code, "steps/dig.md", line, "error"]);
  });
});

describe("reading a routed workflow reports", () => {
  it("a folder without an index", async () => {
    const { diagnostics } = await readRoutedWorkflow("NONE", new FolderOfTexts({ "NONE/steps/dig.md": "" }));
    expect(diagnostics.map(formatDiagnostic)).toEqual([
      "index.md: error: there is no index.md (Write one with a list of links to steps/*.md.)",
    ]);
  });

  it("an invalid workflow name", async () => {
    const { diagnostics } = await readRoutedWorkflow("a:b", new FolderOfTexts({ "a:b/index.md": "" }));
    expect(diagnostics.map(({ code }) => code)).toEqual(["WORKFLOW_TYPE_INVALID", "STEPS_MISSING"]);
  });

  it.each([
    ["no list", "STEPS_MISSING", 1],
    ["- [Dig](steps/dig.md)\n- [Weed](steps/wead.md)", "STEP_FILE_MISSING", 6],
    ["- [Dig](steps/../../secret.md)", "PATH_REFUSED", 5],
    ["- [Dig](steps/dig.txt)", "PATH_REFUSED", 5],
    ["- [Dig](steps/dig.md)\n- [Dig](steps/sow.md)", "STEP_DUPLICATE", 6],
    ["- [Dig](steps/dig.md)\n- [Dig\u200b](steps/sow.md)", "STEP_DUPLICATE", 6],
    ["- [Säen](steps/dig.md)\n- [Sa\u0308en](steps/sow.md)", "STEP_DUPLICATE", 6],
    ["- [FINISH](steps/dig.md)", "STEP_NAME_INVALID", 5],
    ["- [\u200b](steps/dig.md)", "STEP_NAME_INVALID", 5],
    ["- [constructor](steps/dig.md)", "STEP_NAME_INVALID", 5],
    ["- [](steps/dig.md)", "STEP_NAME_INVALID", 5],
    [`- [${"x".repeat(121)}](steps/dig.md)`, "STEP_NAME_INVALID", 5],
    [`${"> ".repeat(40)}- [Dig](steps/dig.md)`, "INDEX_UNREADABLE", 1],
  ])("%j", async (list, code, line) => {
    expect(await diagnosed(index(list))).toContainEqual([code, "index.md", line, "error"]);
  });

  it("two steps with one file, as a warning", async () => {
    const found = await diagnosed(
      index("- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)\n- [Dig again](steps/dig.md)\n- [Water](steps/water.md)"),
    );
    expect(found).toContainEqual(["STEP_DUPLICATE", "index.md", 7, "warning"]);
  });

  it("a file among the steps that the index does not list", async () => {
    const found = await diagnosed({ "GARDEN/steps/weed.md": stepText("Go on.") });
    expect(found).toEqual([["STEP_UNLISTED", "steps/weed.md", undefined, "warning"]]);
  });

  it.each([
    ['If not, go to "Weed".', "STEP_UNKNOWN", 2],
    ['proceed "Ask for Peas", unless told otherwise. Else proceed to "Sow".', "STEP_UNKNOWN", 2],
    ["Transition to the `weed` step, or to `Sow`.", "STEP_UNKNOWN", 2],
    ["Go to **Sew**.", "STEP_UNKNOWN", 2],
    ["Continue with step 'Sown'.", "STEP_UNKNOWN", 2],
    ["Go on.\nThen move to “Sow” or “Weed”.", "STEP_UNKNOWN", 3],
    ["[Sow](../sow.md) comes next.", "LINK_MISSING", 2],
    ["[Sow](sew.md) comes next.", "LINK_MISSING", 2],
  ])("guidance that contains %j", async (guidance, code, line) => {
    const found = await diagnosed({ "GARDEN/steps/dig.md": stepText(guidance) });
    expect(found).toContainEqual([code, "steps/dig.md", line, "warning"]);
  });

  it.each([
    ['If the status is "success", proceed to "Sow".'],
    ["If `depth` is `20`, proceed to `Sow`."],
    ['If the output contains "Sow now:", proceed to the step **Sow**.'],
    ["The user's choice isn't 'final'; go to 'Sow'."],
    ["Go to [Sow](sow.md)."],
    ["Go to [Sow](sow.md), as [described](https://example.com/peas.md)."],
    ["Stay on this step."],
    ['Proceed to "Sow" or "Water", or to "FINISH".'],
    ['Proceed to "sow".'],
    ["Proceed to `steps/sow.md`."],
    ["Proceed to the `sow` step, or back to step 'SOW'."],
    ['Proceed to "Sow"; when the bed is done, "Finish".'],
    ["Transition to Sow with `is_wet` set to false."],
    ["Move all stones to `stones.md`, then proceed to Sow."],
  ])("nothing for guidance that contains %j", async (guidance) => {
    expect(await diagnosed({ "GARDEN/steps/dig.md": stepText(guidance) })).toEqual([]);
  });

  it("a name in a text that fits two steps", async () => {
    const texts = {
      ...index("- [Check C](steps/dig.md)\n- [Check C++](steps/sow.md)\n- [Check C#](steps/water.md)"),
      "GARDEN/steps/dig.md": stepText('Proceed to "Check C++".'),
      "GARDEN/steps/sow.md": stepText('Proceed to "Check C#", or back to "check_c".'),
    };
    const { diagnostics } = await read(texts);
    expect(diagnostics.map(formatDiagnostic)).toEqual([
      'steps/sow.md:2:35: warning: "Check C++" names "check_c", which fits more than one: a decider is asked again (Write the one that is meant: "Check C" or "Check C++" or "Check C#".)',
    ]);
  });

  it("no step as unnamed that a text names without quotes", async () => {
    const texts = {
      "GARDEN/steps/dig.md": stepText("If it rains, proceed to Water. Otherwise go to Sow."),
      "GARDEN/steps/sow.md": stepText("Proceed directly to the Water step."),
    };
    expect(await diagnosed(texts)).toEqual([]);
  });

  it("a step that no other step leads to", async () => {
    const found = await diagnosed({ "GARDEN/steps/dig.md": stepText('Proceed to "Water".') });
    expect(found).toEqual([["STEP_UNNAMED", "index.md", 8, "warning"]]);
  });

  it("a workflow without an end: a warning if guidance says so, an error if `next` does", async () => {
    const round = {
      "GARDEN/steps/sow.md": stepText('Proceed to "Water".'),
      "GARDEN/steps/water.md": stepText('Proceed to "Dig".'),
    };
    expect(await diagnosed(round)).toEqual([["WORKFLOW_ENDLESS", "index.md", 7, "warning"]]);
    const next = (step: string) => `---\nnext: [${step}]\n---\n${stepText("Go on.")}`;
    const fixed = {
      "GARDEN/steps/dig.md": next("Sow"),
      "GARDEN/steps/sow.md": next("Water"),
      "GARDEN/steps/water.md": next("Dig"),
    };
    expect(await diagnosed(fixed)).toEqual([["WORKFLOW_ENDLESS", "steps/dig.md", 2, "error"]]);
  });

  it("nothing if guidance names no steps", async () => {
    const silent = Object.fromEntries(
      ["dig", "sow", "water"].map((name) => [`GARDEN/steps/${name}.md`, stepText("Go on.")]),
    );
    expect(await diagnosed(silent)).toEqual([]);
  });
});

describe("the name of a step", () => {
  it("may be Finish: FINISH alone ends the work", async () => {
    const { definition, diagnostics, taken } = await read({
      ...index(`${STEPS}- [Finish](steps/finish.md)`),
      "GARDEN/steps/water.md": stepText('Proceed to "Finish".'),
      "GARDEN/steps/finish.md": stepText('Proceed to "FINISH".'),
    });
    expect(diagnostics).toEqual([]);
    expect(definition?.steps.map(({ name }) => name)).toEqual(["Dig", "Sow", "Water", "Finish"]);
    expect(taken).toEqual([{ file: "steps/water.md", line: 2, column: 12, name: "Finish", means: "Finish" }]);
  });

  it("means the end if a text says Finish and no step has this name", async () => {
    const { taken } = await read({ "GARDEN/steps/water.md": stepText('Go on.\nProceed to "finish".') });
    expect(taken).toEqual([{ file: "steps/water.md", line: 3, column: 12, name: "finish", means: "FINISH" }]);
  });

  it.each([
    ["Check C", "C++", "C#"],
    ["Step 1.1", "Step 11", "step 11"],
    ["Dig", "dig", "DIG"],
    ["✅", "→ Next", "Größe"],
  ])("may resemble others: %s, %s, %s", async (...names) => {
    const files = ["dig", "sow", "water"];
    const { definition, diagnostics } = await read(
      index(names.map((name, at) => `- [${name}](steps/${files[at]}.md)`).join("\n")),
    );
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(definition?.steps.map(({ name }) => name)).toEqual(names);
  });
});

describe("a step's front matter", () => {
  const dig = (front: string) => ({ "GARDEN/steps/dig.md": `---\n${front}\n---\n${stepText('Proceed to "Sow".')}` });

  it("contains next steps, a gate and a maximum of visits", async () => {
    const { definition, diagnostics } = await read(
      dig(
        "next: [Sow, FINISH]\nmax_visits: 3\ngate:\n  evidence_schema:\n    depth: {type: integer, validator: greater_than_0}\n  approval: {prompt: Deep enough?}",
      ),
    );
    expect(diagnostics).toEqual([]);
    const [step] = definition?.steps ?? [];
    expect(step).toMatchObject({
      next: ["Sow", "FINISH"],
      maxVisits: 3,
      gate: { kind: "fields", fields: [{ name: "depth", type: "integer" }], approval: { prompt: "Deep enough?" } },
    });
    expect(step?.content.startsWith("# Orchestrator Guidance")).toBe(true);
  });

  it("may be empty", async () => {
    expect((await read({ "GARDEN/steps/dig.md": `---\n---\n${stepText('Proceed to "Sow".')}` })).diagnostics).toEqual(
      [],
    );
  });

  it.each([
    ["next: []", "VALUE_WRONG", 2],
    ["next: Sow", "VALUE_WRONG", 2],
    ["next: [Sew]", "STEP_UNKNOWN", 2],
    ["next: [finish]", "STEP_UNKNOWN", 2],
    ["next: [Sow]\nmax_visits: 0", "VALUE_WRONG", 3],
    ["max_visits: often", "VALUE_WRONG", 2],
    ["gate:", "VALUE_WRONG", 2],
    ["gates: {}", "KEY_UNKNOWN", 2],
    ["gate: {}", "GATE_EMPTY", 2],
    ["gate:\n  evidence_schema:\n    depth: {type: integer, validator: deepish}", "VALIDATOR_UNKNOWN", 4],
    ["next: [Sow]]", "YAML_SYNTAX", 2],
    ["- Sow", "VALUE_WRONG", 1],
  ])("is refused: %j", async (front, code, line) => {
    expect(await diagnosed(dig(front))).toContainEqual([code, "steps/dig.md", line, "error"]);
  });

  it("may contain unknown keys, with a warning", async () => {
    for (const key of ["author", "описание_шага"])
      expect(await diagnosed(dig(`${key}: me`))).toEqual([["KEY_UNKNOWN", "steps/dig.md", 2, "warning"]]);
  });
});

describe("included files", () => {
  it("replace their includes, in the index and in steps, at any depth", async () => {
    const { definition, diagnostics } = await read({
      "GARDEN/index.md": "# GARDEN\n\n{{file:parts/goal.md}}\n\n{{file: parts/list.md }}\n",
      "GARDEN/parts/goal.md": "Peas.\n",
      "GARDEN/parts/list.md": "- [Dig](steps/dig.md)\n",
      "GARDEN/steps/dig.md": stepText("Then {{file:../parts/end.md}}."),
      "GARDEN/parts/end.md": "{{file:deeper/end.md}}\n",
      "GARDEN/parts/deeper/end.md": "finish\n",
      "GARDEN/steps/sow.md": stepText("Go on."),
    });
    expect(diagnostics.filter(({ code }) => code !== "STEP_UNLISTED")).toEqual([]);
    expect(definition).toMatchObject({ goal: "Peas.", steps: [{ name: "Dig", guidance: "Then finish." }] });
  });

  it("may be outside the workflow only if the host allows it", async () => {
    const changes = {
      "GARDEN/steps/dig.md": stepText("{{file:../../shared/end.md}}"),
      "shared/end.md": 'Proceed to "Sow".',
    };
    expect(await diagnosed(changes)).toContainEqual(["PATH_REFUSED", "steps/dig.md", 2, "error"]);
    for (const root of ["shared", "shared/", "./shared"]) expect(await diagnosed(changes, [root])).toEqual([]);
    expect(await diagnosed(changes, ["."])).toEqual([]);
  });

  it.each([
    ["{{file:/etc/passwd}}", "PATH_REFUSED"],
    ["{{file:../../../etc/passwd}}", "PATH_REFUSED"],
    ["{{file:../../GARDEN-2/x.md}}", "PATH_REFUSED"],
    ["{{file:..\\x.md}}", "PATH_REFUSED"],
    ["{{file:C:/x.md}}", "PATH_REFUSED"],
    ["{{file:file:///etc/passwd}}", "PATH_REFUSED"],
    ["{{file:~/x.md}}", "PATH_REFUSED"],
    ["{{file:../.env}}", "PATH_REFUSED"],
    ["{{file:.git/config}}", "PATH_REFUSED"],
    ["{{file:../server.key~}}", "PATH_REFUSED"],
    ["{{file:id_rsa.bak}}", "PATH_REFUSED"],
    ["{{file:x.pem.md}}", "PATH_REFUSED"],
    ["{{file:secrets}}", "PATH_REFUSED"],
    ["{{file:}}", "INCLUDE_MISSING"],
    ["{{file:none.md}}", "INCLUDE_MISSING"],
  ])("are refused: %s", async (include, code) => {
    const found = await diagnosed({ "GARDEN/steps/dig.md": stepText(`Go on.\n${include}`) });
    expect(found).toContainEqual([code, "steps/dig.md", 3, "error"]);
  });

  it("in a cycle are reported with the whole chain", async () => {
    const { diagnostics } = await read({
      "GARDEN/steps/dig.md": stepText("{{file:../a.md}}"),
      "GARDEN/a.md": "a\n{{file:b.md}}",
      "GARDEN/b.md": "{{file:a.md}}",
    });
    expect(diagnostics.map(formatDiagnostic)[0]).toBe(
      "b.md:1: error: files include one another in a circle: GARDEN/steps/dig.md → GARDEN/a.md → GARDEN/b.md → GARDEN/a.md (Take one of them out.)",
    );
  });

  it("may be nested ten levels deep", async () => {
    const chain = (depth: number) =>
      Object.fromEntries(
        Array.from({ length: depth }, (_, at) => [
          `GARDEN/${at + 1}.md`,
          at + 1 === depth ? 'Proceed to "Sow".' : `{{file:${at + 2}.md}}`,
        ]),
      );
    const dig = { "GARDEN/steps/dig.md": stepText("{{file:../1.md}}") };
    expect(await diagnosed({ ...dig, ...chain(10) })).toEqual([]);
    expect(await diagnosed({ ...dig, ...chain(11) })).toContainEqual(["INCLUDE_TOO_DEEP", "10.md", 1, "error"]);
  });

  it("are limited to a thousand in total, counted per inclusion", async () => {
    const next = (at: number) => (at === 9 ? "" : `{{file:${at + 1}.md}}`);
    const tiny = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`GARDEN/${at}.md`, next(at).repeat(4)]));
    const found = await diagnosed({ ...tiny, "GARDEN/steps/dig.md": stepText("Go on.\n{{file:../0.md}}") });
    expect(found.filter(([code]) => code === "FOLDER_TOO_LARGE")).toHaveLength(1);
    const flat = { "GARDEN/steps/dig.md": stepText("{{file:../a.md}}".repeat(900)), "GARDEN/a.md": "a" };
    expect(await diagnosed(flat)).toEqual([]);
  });

  it("that all include each other are reported once per place", async () => {
    const all = Array.from({ length: 10 }, (_, at) => `{{file:${at}.md}}\n`).join("");
    const tiny = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`GARDEN/${at}.md`, all]));
    const found = await diagnosed({ ...tiny, "GARDEN/steps/dig.md": stepText("{{file:../0.md}}") });
    const places = found.filter(([code]) => code === "INCLUDE_CIRCULAR").map((one) => one.join());
    expect(places).not.toEqual([]);
    expect(new Set(places).size).toBe(places.length);
  });

  it("are limited to 1 MiB in total, reported once", async () => {
    const many = (file: string) => `{{file:${file}}}`.repeat(20);
    const found = await diagnosed({
      "GARDEN/steps/dig.md": stepText(many("../a.md")),
      "GARDEN/a.md": many("b.md"),
      "GARDEN/b.md": "x".repeat(10_000),
    });
    expect(found.filter(([code]) => code === "FOLDER_TOO_LARGE")).toHaveLength(1);
  });

  it("keep the line numbers of their diagnostics", async () => {
    const found = await diagnosed({
      "GARDEN/index.md": "# GARDEN\n\n{{file:list.md}}\n- [Water](steps/water.md)\n- [Weed](steps/weed.md)\n",
      "GARDEN/list.md": "- [Dig](steps/dig.md)\n- [Sow](steps/sew.md)\n",
    });
    expect(found.slice(0, 2)).toEqual([
      ["STEP_FILE_MISSING", "index.md", 5, "error"],
      ["STEP_FILE_MISSING", "list.md", 2, "error"],
    ]);
  });
});

describe("a routed workflow with thousands of names", () => {
  // Far more than it takes; if each name were compared with all others, it would take several times as long.
  const GUARD = { timeout: 30_000 };
  const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, at) => make(at));

  it("reports links that lead nowhere", GUARD, async () => {
    const links = stepText("Proceed to FINISH.", many(4000, (at) => `[a](${at}/b.md)`).join(" "));
    const files = Object.fromEntries(many(10, (at) => [`GARDEN/steps/s${at}.md`, links]));
    const list = many(10, (at) => `- [Step ${at}](steps/s${at}.md)`).join("\n");
    const others = Object.fromEntries(many(300, (at) => [`GARDEN/docs/chapter-${at}.md`, "a"]));
    const found = await diagnosed({ ...others, ...files, ...index(list) });
    expect(found.filter(([code]) => code === "LINK_MISSING").length).toBeGreaterThan(900);
  });

  it("reports steps that there are not", GUARD, async () => {
    const steps = many(100, (at) => `Step number ${at}`);
    const list = steps.map((name, at) => `- [${name}](steps/s${at}.md)`).join("\n");
    const files = steps.map((_, at) => [`GARDEN/steps/s${at}.md`, stepText("Proceed to FINISH.")]);
    const next = `---\nnext: [${many(25_000, (at) => `Stop ${at}`).join(", ")}]\n---\n${stepText("Proceed to FINISH.")}`;
    const found = await diagnosed({ ...index(list), ...Object.fromEntries(files), "GARDEN/steps/s0.md": next });
    expect(found.filter(([code]) => code === "STEP_UNKNOWN")).toHaveLength(1000);
  });
});
