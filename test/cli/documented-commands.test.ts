/** The command lines in the documents: each names a command and options that it has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageFiles } from "../../site/pages.js";
import { run } from "./run-cli.js";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = pageFiles().filter((page) => !page.startsWith("docs/api/"));

/** How the texts begin that approvers sign: they are no commands. */
const SIGNED = /^phasegate (?:approval|waiver) v1$/;

/** Returns the commands of a page, in shell lines and in its text, without comments, each with the rest of its line. */
function commandsOf(page: string): { command: string; options: string[] }[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const fences = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
  const inText = text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/`((?:npx\s)?phasegate\s[^`]+)`/g);
  const spans = [...inText].map(([, span = ""]) => span.replace(/\s+/g, " ")).filter((span) => !SIGNED.test(span));
  const lines = [...fences.flatMap(([, fence = ""]) => fence.replace(/\\\n/g, " ").split("\n")), ...spans];
  const parts = lines.flatMap((line) => line.replace(/\s#.*/, "").split(/[|()]/));
  return parts.flatMap((part) => {
    const [, command, rest = ""] = /\bphasegate ((?:(?:gate|approvers|tokens) )?[a-z][a-z-]*)(.*)/.exec(part) ?? [];
    if (command === undefined || /\binstall\b/.test(part)) return [];
    return [{ command, options: rest.match(/(?<=\s)--[a-z][a-z-]*/g) ?? [] }];
  });
}

it("are of commands and options that exist", async () => {
  const unknown: string[] = [];
  const helps = new Map<string, string>();
  let checked = 0;
  for (const page of PAGES) {
    for (const { command, options } of commandsOf(page)) {
      checked += 1;
      const stdout = helps.get(command) ?? (await run(...command.split(" "), "--help")).stdout;
      helps.set(command, stdout);
      if (!stdout.startsWith(`Usage: phasegate ${command} `)) unknown.push(`${page}: ${command}`);
      for (const option of options) {
        if (!new RegExp(`${option}\\b`).test(stdout)) unknown.push(`${page}: ${command} ${option}`);
      }
    }
  }
  expect(checked).toBeGreaterThan(100);
  expect(unknown).toEqual([]);
});
