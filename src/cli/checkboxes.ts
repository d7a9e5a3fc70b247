/** A list with checkboxes, of which a person chooses some at a terminal. */
import type { Readable } from "node:stream";
import { columnsOf, cut } from "./layout.js";
import { print, printable, printLines, type Terminal } from "./terminal.js";

export interface Choice {
  readonly name: string;
  readonly about: string;
}

/** Returns the names that a person leaves checked, in their order; undefined if the person ends the input. */
export async function chooseSome(
  terminal: Terminal,
  question: string,
  choices: readonly Choice[],
  checked: readonly string[],
): Promise<readonly string[] | undefined> {
  // Loaded here, as in `ask`.
  const { clearScreenDown, emitKeypressEvents, moveCursor } = await import("node:readline");
  const { stdin, stdout } = terminal;
  const chosen = new Set(checked);
  let at = 0;
  const lines = () =>
    choices.map(({ name, about }, index) => {
      const line = `${index === at ? ">" : " "} [${chosen.has(name) ? "x" : " "}] ${name}  ${about}`;
      return cut(printable(line), columnsOf(stdout) ?? line.length);
    });
  const draw = () => {
    moveCursor(stdout, 0, -choices.length);
    clearScreenDown(stdout);
    printLines(terminal, lines());
  };
  print(terminal, `${question} (arrows move, space checks, enter goes on)`);
  printLines(terminal, lines());
  emitKeypressEvents(stdin);
  setRaw(stdin, true);
  stdin.resume();
  return new Promise((resolve) => {
    const end = (names: readonly string[] | undefined) => {
      stdin.off("keypress", onKey).off("end", onEnd);
      setRaw(stdin, false);
      stdin.pause();
      resolve(names);
    };
    const onEnd = () => end(undefined);
    const onKey = (_: unknown, { name, ctrl }: { readonly name?: string; readonly ctrl?: boolean }) => {
      if (ctrl && (name === "c" || name === "d")) return end(undefined);
      if (name === "return" || name === "enter")
        return end(choices.map((one) => one.name).filter((one) => chosen.has(one)));
      const { name: current = "" } = choices[at] ?? {};
      if (name === "space" && !chosen.delete(current)) chosen.add(current);
      if (name === "up") at = (at + choices.length - 1) % choices.length;
      if (name === "down") at = (at + 1) % choices.length;
      draw();
    };
    stdin.on("keypress", onKey).on("end", onEnd);
  });
}

/** In raw mode each key arrives at once. */
function setRaw(stdin: Readable, isRaw: boolean): void {
  if ("setRawMode" in stdin && typeof stdin.setRawMode === "function") stdin.setRawMode(isRaw);
}
