import { existsSync, readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { aGate } from "./a-gate.js";

const NAMED = `
evidence_schema: {file: {type: string, description: a test file of yours}}
verify: {verifier: command, argv: [node, check.mjs, "{evidence.file}"]}
`;
const CHECK = `
  import { appendFileSync, existsSync } from "node:fs";
  appendFileSync("asked", JSON.stringify(process.argv.slice(2)) + "\\n");
  process.exitCode = existsSync(process.argv[2]) ? 0 : 1;
`;

describe("a gate that puts evidence into a command", () => {
  const named = () =>
    aGate({ gate: NAMED, files: { "check.mjs": CHECK }, verifiers: { commands: { node: process.execPath } } });
  const TRUE = { file: "check.mjs" };

  it("lets an honest agent through", async () => {
    await (await named()).accepts(TRUE);
  });

  it("refuses evidence that would be an option", async () => {
    const gate = await named();
    await gate.refuses({ file: "--upload-pack=touch pwned" }, /would be read as an option: it begins with '-'/);
    await gate.refuses({ file: "-e" }, /would be read as an option: it begins with '-'/);
    expect(existsSync(join(gate.project, "asked"))).toBe(false);
    await gate.accepts(TRUE);
  });

  it("passes evidence that contains a second command as a single argument", async () => {
    const gate = await named();
    const evil = "check.mjs; touch pwned #";
    await gate.refuses({ file: evil }, /exit code 1/);
    await gate.refuses({ file: "$(touch pwned)" }, /exit code 1/);
    expect(existsSync(join(gate.project, "pwned"))).toBe(false);
    expect(readFileSync(join(gate.project, "asked"), "utf8").split("\n")[0]).toBe(JSON.stringify([evil]));
    await gate.accepts(TRUE);
  });

  it("refuses evidence with a NUL", async () => {
    const gate = await named();
    await gate.refuses({ file: "check.mjs\0--evil" }, /NUL/);
    await gate.accepts(TRUE);
  });
});

describe("the host's list of commands", () => {
  const ALLOWED = `
evidence_schema: {there: {type: boolean}}
verify: {verifier: command, argv: [git, --version]}
`;
  const evil = "#!/bin/sh\ntouch pwned\nexit 0\n";

  it("runs no command of the same name in the project, even if it is first on the PATH", async () => {
    const path = process.env.PATH ?? "";
    onTestFinished(() => {
      process.env.PATH = path;
    });
    const gate = await aGate({ gate: ALLOWED, verifiers: { commands: ["git"] } });
    await writeFile(join(gate.project, "git"), evil);
    await chmod(join(gate.project, "git"), 0o755);
    process.env.PATH = `${gate.project}:.:${path}`;
    await gate.accepts({ there: true });
    expect(existsSync(join(gate.project, "pwned"))).toBe(false);
  });

  it.each(["./git", "sh", "/bin/sh", "../git", "{evidence.tool}"])(
    "starts no workflow with the command %s",
    async (name) => {
      const gate = ALLOWED.replace("[git", `["${name}"`);
      const started = aGate({ gate, files: { git: evil }, verifiers: { commands: ["git"] } });
      await expect(started).rejects.toThrow(/not on the host's list of commands \(git\)|can't be a placeholder/);
    },
  );
});
