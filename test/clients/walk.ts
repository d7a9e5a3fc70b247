/**
 * Walks one client through the workflow, in a network and among processes of its own: `node walk.ts NAME FOLDER BIN`. The folder
 * has the project. Prints what was seen as one line of JSON; the requests and what the client has printed are written to the folder.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CLIENTS, type Client, furnish } from "./clients.ts";
import { type Model, type ModelServer, serveModel } from "./model-server.ts";
import { firstTurn, isAgents, type Seen, secondTurn } from "./script.ts";

/** The longest time for a turn, and for processes to end after it, in milliseconds. */
const TURN_MS = 240_000;
const END_MS = 10_000;

/** What a walk has found: what was seen, and what is wrong. */
export interface Walked extends Seen {
  readonly version: string;
  readonly problems: readonly string[];
}

const [name, folder = "", program = ""] = process.argv.slice(2);
const client = CLIENTS.find(({ bin }) => bin === name);
if (client === undefined) throw new Error(`there is no client ${name}`);
console.log(JSON.stringify(await walk(client)));

async function walk(client: Client): Promise<Walked> {
  const { shell } = client;
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  const server = await serveModel((asked) => isAgents(shell, asked));
  const place = { home, project, url: server.url };
  mkdirSync(home, { recursive: true });
  furnish(client, place);
  const env = { ...process.env, ...client.env(place), HOME: home, PWD: project };
  const problems: string[] = [];
  const start = (args: readonly string[]) => run(args, { env, cwd: project });

  const { output: version } = await start(["--version"]);
  const turns: [string, (seen: Seen) => Model, Seen][] = [
    ["Fix the bug: add(1, 2) returns -1.", (seen) => firstTurn(shell, seen), { reminders: 0 }],
    ["Go on with the open session.", (seen) => secondTurn(shell, seen), { reminders: 0 }],
  ];
  for (const [prompt, model, seen] of turns) {
    server.begin(model(seen));
    const { output, ended } = await start(client.args(prompt));
    writeFileSync(join(folder, "output.txt"), `${prompt}\n${output}\n`, { flag: "a" });
    const problem = server.problem() ?? ended;
    if (problem !== undefined) {
      problems.push(problem);
      break;
    }
    const left = await leftOver();
    if (left.length > 0) problems.push(`processes are left: ${left.join("; ")}`);
  }
  const [[, , first], [, , second]] = turns as [(typeof turns)[0], (typeof turns)[0]];
  const reminders = first.reminders;
  if (problems.length === 0) problems.push(...missing(client, first, second));
  keep(server);
  await server.close();
  return { ...first, ...second, reminders, version: /\d+\.\d+\.\d+/.exec(version)?.[0] ?? version, problems };
}

/** Says what a walk that went to its end has not shown. */
function missing({ hooks, copies = 1 }: Client, first: Seen, second: Seen): string[] {
  const wanted = hooks ? 1 : 0;
  return [
    ...(first.instructions ? [] : ["the instructions were not sent"]),
    ...(first.copies === copies ? [] : [`a refusal stands ${first.copies} times in its result`]),
    ...(first.reminders === wanted
      ? []
      : [`after the first turn the model was asked ${first.reminders} times to go on`]),
    ...(second.completed ? [] : ["the session is not completed"]),
    ...(second.reminders === 0 ? [] : ["the model was asked to go on with a completed session"]),
  ];
}

interface Ran {
  readonly output: string;
  /** Why the client did not end well. */
  readonly ended?: string;
}

/** Runs the client to its end. */
function run(args: readonly string[], options: { env: NodeJS.ProcessEnv; cwd: string }): Promise<Ran> {
  return new Promise((done) => {
    const child = spawn(program, args, {
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TURN_MS,
      killSignal: "SIGKILL",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.on("error", ({ message }) => done({ output, ended: message }));
    child.on("exit", (code, signal) => {
      const ended =
        code === 0 ? {} : { ended: `it ended with ${signal ?? `exit code ${code}`}: ${output.slice(-500)}` };
      done({ output, ...ended });
    });
  });
}

/** Returns the processes that are left in this namespace, once they have had time to end. */
async function leftOver(): Promise<string[]> {
  const until = performance.now() + END_MS;
  for (;;) {
    const left = processes();
    if (left.length === 0 || performance.now() > until) return left;
    await pause(100);
  }
}

/** The command lines of all processes but this one and the namespace's first. */
function processes(): string[] {
  return readdirSync("/proc").flatMap((id) => {
    if (!/^\d+$/.test(id) || id === "1" || Number(id) === process.pid) return [];
    try {
      // Empty for one that has ended and was not waited for.
      return (
        readFileSync(join("/proc", id, "cmdline"), "utf8")
          .replaceAll("\0", " ")
          .trim() || []
      );
    } catch {
      // It has ended since.
      return [];
    }
  });
}

/** Writes down what the client has asked its model, for a person who looks for the cause of a problem. */
function keep({ log }: ModelServer): void {
  const requests = join(folder, "requests");
  mkdirSync(requests, { recursive: true });
  for (const [index, { path, request, answer }] of log.entries()) {
    writeFileSync(join(requests, `${String(index).padStart(3, "0")}.txt`), `${path}\n${request}\n\n${answer}\n`);
  }
}
