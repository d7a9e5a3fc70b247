import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { Command } from "commander";
import { DCLinter } from "dclint";
import { type Copy, DockerfileParser, type From, type JSONInstruction } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { createHealth } from "phasegate/mcp-http";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { type ListenOptions, requireComplete, serveOptions } from "../../src/cli/serve-options.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

const text = readFileSync("deploy/Dockerfile", "utf8");
const dockerfile = DockerfileParser.parse(text);
const manifest: { version: string; devDependencies: Record<string, string>; files: string[] } = JSON.parse(
  readFileSync("package.json", "utf8"),
);

/** An instruction of the Dockerfile: its keyword, and what follows. */
interface Step {
  readonly keyword: string;
  readonly args: readonly string[];
  readonly from?: string;
  readonly raw: string;
}
/** A stage: its name, and its instructions. */
interface Stage {
  readonly name: string;
  readonly image: string;
  readonly steps: readonly Step[];
}

function stagesOf(): Stage[] {
  const stages: { name: string; image: string; steps: Step[] }[] = [];
  const froms = dockerfile.getFROMs();
  const copies = dockerfile.getCOPYs();
  for (const instruction of dockerfile.getInstructions()) {
    const keyword = instruction.getKeyword();
    const from = froms.find((one: From) => one.getRange().start.line === instruction.getRange().start.line);
    if (from !== undefined) {
      stages.push({ name: from.getBuildStage() ?? "", image: from.getImage() ?? "", steps: [] });
      continue;
    }
    const copy = copies.find((one: Copy) => one.getRange().start.line === instruction.getRange().start.line);
    const source = copy?.getFromFlag()?.getValue();
    const args = instruction.getArguments().map((argument) => argument.getValue());
    const raw = instruction.getRawArgumentsContent() ?? "";
    stages.at(-1)?.steps.push({ keyword, args, raw, ...(source == null ? {} : { from: source }) });
  }
  return stages;
}

const stages = stagesOf();
const last = stages.at(-1);
const stepOf = (keyword: string) => last?.steps.find((step) => step.keyword === keyword);

/** Returns the command in exec form of an instruction. */
function commandOf(instruction: JSONInstruction | undefined | null): string[] {
  return (instruction?.getJSONStrings() ?? []).map((one) => one.getJSONValue());
}

/** Returns the command of HEALTHCHECK, in exec form. */
function healthCheck(): string[] {
  const [, list = "[]"] = /CMD (\[.*\])$/s.exec(stepOf("HEALTHCHECK")?.raw ?? "") ?? [];
  return JSON.parse(list);
}

describe("the Dockerfile", () => {
  it("has no fault that a linter finds", () => {
    expect(validate(text).map(({ message, range }) => `${range.start.line + 1}: ${message}`)).toEqual([]);
  });

  it("builds in stages of their own, on pinned images of the Node that the project is built with", () => {
    expect(stages.length).toBeGreaterThan(1);
    const [major] = (manifest.devDependencies.node ?? "").split(".");
    for (const { image } of stages) expect(image).toMatch(new RegExp(`^node:${major}-\\w+-slim$`));
    expect(stages.slice(0, -1).map(({ name }) => name)).not.toContain("");
    // The last stage copies what is installed, and runs nothing as root.
    expect(last?.steps.map(({ keyword }) => keyword)).not.toContain("RUN");
  });

  it("runs as a numeric user that is not root, without a shell in between, and checks its health", () => {
    expect(stepOf("USER")?.args).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    const after = last?.steps.slice(last.steps.findIndex(({ keyword }) => keyword === "USER") + 1) ?? [];
    expect(after.map(({ keyword }) => keyword)).not.toContain("USER");
    expect(commandOf(dockerfile.getENTRYPOINTs().at(-1))[0]).toBe("node");
    expect(stepOf("HEALTHCHECK")?.raw).toContain("/healthz");
  });

  it("adds nothing from elsewhere, and has no secret in it", () => {
    expect(stages.flatMap(({ steps }) => steps).filter(({ keyword }) => keyword === "ADD")).toEqual([]);
    expect(text).not.toMatch(/(?:password|token|secret)\s*=/i);
  });

  it("installs the versions that the tests run with", () => {
    const wanted = [...text.matchAll(/(@?[\w/-]+)@(\d+\.\d+\.\d+)/g)].map(([, name = "", version]) => [name, version]);
    expect(wanted.length).toBeGreaterThan(3);
    const known = wanted.filter(([name = ""]) => name in manifest.devDependencies);
    for (const [name = "", version] of known) expect(version, name).toBe(manifest.devDependencies[name]);
  });

  it("gets from the context what the package is made of, and no more", () => {
    const ignored = readFileSync("deploy/Dockerfile.dockerignore", "utf8")
      .split("\n")
      .filter((line) => !/^(#|$)/.test(line));
    expect(ignored[0]).toBe("*");
    const kept = ignored.slice(1).map((line) => line.replace(/^!/, ""));
    for (const path of kept) expect(existsSync(path), path).toBe(true);
    // dist is built there.
    const published = manifest.files.filter((path) => !path.startsWith("!") && path !== "dist");
    for (const path of published) expect(kept).toContain(path);
  });

  it("has a check of health that succeeds while the server answers, and fails when it is gone", async () => {
    const [command = "", ...args] = healthCheck();
    expect(command).toBe("node");
    const health = createHealth();
    const server = createServer(async (request, response) => {
      const answer = await health.handle(new Request(`http://host.test${request.url}`));
      response.writeHead(answer?.status ?? 404).end(await answer?.text());
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const check = () =>
      new Promise<number | null>((ended) => {
        const env = { ...process.env, PHASEGATE_PORT: String(port) };
        spawn(process.execPath, args, { env, stdio: "ignore" }).once("close", ended);
      });
    expect(await check()).toBe(0);
    await new Promise((closed) => server.close(closed));
    expect(await check()).toBe(1);
  });

  it.runIf(process.env.PHASEGATE_LONG === "1")("builds a server that starts, without Docker", async () => {
    const root = await temporaryFolder();
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    for (const stage of stages) runStage(stage, root);
    const app = join(root, "", "app");
    const [, file = ""] = commandOf(dockerfile.getENTRYPOINTs().at(-1));
    const version = execFileSync(process.execPath, [join(app, file), "--version"], { encoding: "utf8" });
    expect(version.trim()).toBe(manifest.version);
    const help = execFileSync(process.execPath, [join(app, file), ...commandOf(dockerfile.getCMDs().at(-1))], {
      encoding: "utf8",
    });
    expect(help).toContain("--state");
    const installed = readdirSync(join(app, "node_modules"));
    expect(installed).toContain("pg");
    expect(installed).not.toContain("typescript");
    expect(readdirSync(app).sort()).toEqual(["node_modules", "package-lock.json", "package.json"]);
  });
});

/** Does what a stage does, with a folder in the place of its file system: `/app` is `ROOT/STAGE/app`. */
function runStage({ name, steps }: Stage, root: string): void {
  const base = join(root, name);
  let folder = base;
  for (const { keyword, args, from, raw } of steps) {
    if (keyword === "WORKDIR") folder = join(base, args[0] ?? "");
    mkdirSync(folder, { recursive: true });
    if (keyword === "RUN") {
      // What the test runner sets is not there in a build.
      const own = Object.entries(process.env).filter(
        ([key]) => !/^(?:NODE_OPTIONS|NODE_ENV|VITEST\w*|npm_package_\w+)$/.test(key),
      );
      const env = Object.fromEntries(own);
      execFileSync("/bin/sh", ["-c", raw.replaceAll(/\\\n/g, "")], {
        cwd: folder,
        env,
        stdio: ["ignore", "pipe", "inherit"],
      });
    }
    if (keyword !== "COPY") continue;
    const target = join(folder, args.at(-1) ?? "");
    const sources = args.slice(0, -1).filter((source) => !source.startsWith("--"));
    for (const source of sources) copyInto(source, from === undefined ? undefined : join(root, from), target);
  }
}

/** Copies from another stage, or from the context without what it ignores. */
function copyInto(source: string, stage: string | undefined, target: string): void {
  if (stage !== undefined) {
    const path = join(stage, source);
    cpSync(path, basename(path).includes(".") ? join(target, basename(path)) : target, { recursive: true });
    return;
  }
  const ignore = readFileSync("deploy/Dockerfile.dockerignore", "utf8");
  const kept = [...ignore.matchAll(/^!(.+)$/gm)].map(([, path = ""]) => path);
  for (const path of source === "." ? kept : [source]) cpSync(resolve(path), join(target, path), { recursive: true });
}

/** What the linter found in one file. */
interface Linted {
  readonly messages: readonly { readonly rule: string; readonly line: number; readonly message: string }[];
}

interface Compose {
  readonly services: Record<string, Record<string, unknown>>;
  readonly secrets: Record<string, { readonly file: string }>;
}

describe("the compose file", () => {
  const compose: Compose = parse(readFileSync("deploy/compose.yaml", "utf8"));
  const server = compose.services.server ?? {};

  it("has no fault that its schema and a linter find", () => {
    const linter = new DCLinter({
      rules: {
        // Keys are in the order of what a reader asks; names and ports are explained in comments.
        "service-keys-order": 0,
        "services-alphabetical-order": 0,
        "top-level-properties-order": 0,
        "no-build-and-image": 0,
        "require-quotes-in-ports": [2, { quoteType: "double" }],
      },
      quiet: false,
      debug: false,
      exclude: [],
      stats: false,
    } as never);
    const found: readonly Linted[] = linter.lintFiles(["deploy/compose.yaml"], false);
    expect(found).toHaveLength(1);
    const messages = found.flatMap(({ messages }) =>
      messages.map(({ rule, line, message }) => `${line} ${rule}: ${message}`),
    );
    expect(messages).toEqual([]);
  });

  it("gives the server no rights: a user of no name, a file system to read, no capabilities", () => {
    expect(server).toMatchObject({
      user: stepOf("USER")?.args[0],
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
      build: { context: "..", dockerfile: "deploy/Dockerfile" },
      image: `phasegate:${manifest.version}`,
      depends_on: { postgres: { condition: "service_healthy" } },
    });
    expect(existsSync(resolve("deploy", "..", dirname("deploy/Dockerfile")))).toBe(true);
    // From elsewhere the server can be reached through a proxy alone, and the database not at all.
    expect(server.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)]);
    expect(compose.services.postgres).not.toHaveProperty("ports");
  });

  it("starts the server with options that it has, which fit together", () => {
    const command = new Command("serve").exitOverride();
    for (const option of Object.values(serveOptions())) command.addOption(option);
    const [name, ...args] = server.command as string[];
    expect(name).toBe("serve");
    const given = command.parse(args, { from: "user" }).opts<ListenOptions>();
    // Whoever reaches the container must log in; the port is the one that is published and checked.
    expect(() => requireComplete(given, (option) => command.getOptionValueSource(option))).not.toThrow();
    expect(given).toMatchObject({ listen: { host: "0.0.0.0", port: 8080 }, tokens: "/run/secrets/tokens" });
    expect(server.ports).toEqual([expect.stringMatching(/:8080$/)]);
    const published = stepOf("EXPOSE")?.args;
    expect(published).toEqual(["8080"]);
    const variables = command.options.flatMap(({ envVar }) => envVar ?? []);
    for (const variable of Object.keys(Object(server.environment))) expect(variables).toContain(variable);
    // Calls under way get their time before they are killed.
    const { grace = 0 } = given;
    expect(Number.parseInt(String(server.stop_grace_period), 10) * 1000).toBeGreaterThan(grace);
  });

  it("has no password in it", () => {
    const raw = readFileSync("deploy/compose.yaml", "utf8");
    for (const [, value] of raw.matchAll(/PASSWORD: (.*)$/gm)) expect(value).toMatch(/^\$\{\w+:\?/);
    expect(Object.keys(compose.secrets)).toEqual(server.secrets);
  });
});
