import { spawn } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { BIN } from "./bin.js";

/** Starts the bin, which is killed after the test, and waits until its log says where it listens. */
export async function startListening(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      const found = /"url":"([^"]+)"/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on("close", () => reject(new Error(said)));
  });
  return { child, url, closed, said: () => said };
}

/** Starts the bin over HTTP on a free port. */
export async function serveHttp(env: Record<string, string>, ...flags: string[]) {
  const state = join(await temporaryFolder(), "state");
  const { child, url, closed, said } = await startListening(["serve", "--http", "0", "--state", state, ...flags], env);
  const end = () => {
    child.kill("SIGTERM");
    return closed;
  };
  return { url, port: Number(new URL(url).port), end, said };
}
