import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { run } from "./run-cli.js";

const hasBash = spawnSync("bash", ["--version"]).status === 0;

const scriptFor = async (shell: string) => (await run("completion", shell)).stdout;

describe("phasegate completion", () => {
  it.skipIf(!hasBash)("completes commands, their options and the words of these in bash", async () => {
    const script = await scriptFor("bash");
    const complete = (...words: string[]) => {
      const typed = words.map((word) => `'${word}'`).join(" ");
      const asking = `${script}\nCOMP_WORDS=(${typed}) COMP_CWORD=${words.length - 1}; _phasegate; echo "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync("bash", ["-c", asking], { encoding: "utf8" });
      expect(stderr).toBe("");
      return stdout.trim().split(" ");
    };
    expect(complete("phasegate", "in")).toEqual(["init", "inbox", "inspect"]);
    expect(complete("phasegate", "sessions", "--st")).toEqual(["--state", "--status", "--stuck"]);
    expect(complete("phasegate", "sessions", "--status", "")).toEqual([
      ...["active", "paused", "completed", "failed", "working", "refused", "needs_you", "done", "waived"],
    ]);
    expect(complete("phasegate", "sessions", "--state", "")).toEqual([""]);
    expect(complete("phasegate", "gate", "fr")).toEqual(["freeze"]);
    expect(complete("phasegate", "completion", "")).toEqual(["bash", "zsh", "fish", "--help"]);
  });

  it("names each command and the values of options in zsh and fish, with what they are", async () => {
    const [zsh, fish] = [await scriptFor("zsh"), await scriptFor("fish")];
    const names = [...(await run("--help")).stdout.matchAll(/^ {2}([a-z-]+) {2,}[a-z]/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(30);
    for (const name of names.filter((one) => one !== "help")) {
      expect(zsh).toMatch(new RegExp(`'${name}:[^']+'`));
      expect(fish).toContain(`-f -a ${name} -d '`);
    }
    expect(zsh).toContain(
      "'*--status[only sessions of this status]:value:(active paused completed failed working refused needs_you done waived)'",
    );
    expect(fish).toContain(
      "from sessions' -l status -x -a 'active paused completed failed working refused needs_you done waived' -d 'only sessions of",
    );
    // No quote is open at the end of a line.
    for (const line of `${zsh}${fish}`.split("\n")) expect(line.split("'").length % 2).toBe(1);
  });

  it("refuses another shell", async () => {
    const { code, stderr } = await run("completion", "powershell");
    expect(code).toBe(2);
    expect(stderr).toContain("Allowed choices are bash, zsh, fish");
  });
});
