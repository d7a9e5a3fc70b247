import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openReceivers } from "../../../src/cli/notify/receivers.js";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { run } from "../run-cli.js";
import { aMessage, receiverServer, SECRET } from "./receiving.js";

const signal = AbortSignal.timeout(60_000);
const SIGNED = { PHASEGATE_NOTIFY_SECRET: SECRET };

describe("what can't be used ends the server at its start", () => {
  const serve = async (...flags: string[]) => {
    const state = join(await temporaryFolder(), "state");
    const ended = await run("serve", "--starters", "--state", state, ...flags);
    return { ...ended, state };
  };

  it.each([
    [["--notify", "nonsense"], /address 1 of --notify is not a URL/],
    [["--notify", "ftp://example.com/x"], /address 1 of --notify is not a URL/],
    [
      ["--notify", "https://a.example#slack https://u:p@b.example/x"],
      /address 2 of --notify, at b.example, has a user name/,
    ],
    [["--notify", "http://a.example/secret"], /address 1 of --notify would be sent to a.example without TLS/],
    [["--notify", "https://a.example/secret#irc"], /at a.example, ends with # and no format[\s\S]*#teams/],
    [["--notify", "https://a.example/x#key=/secret"], /at a.example, ends with # and no format/],
    [
      ["--notify", "https://a.example/secret"],
      /PHASEGATE_NOTIFY_SECRET is not set, with which requests to a.example are/,
    ],
    [["--notify-command", "no-such-program --now"], /there is no executable command 'no-such-program'/],
    [["--notify-command", "no-such-program --token /secret"], /there is no executable command 'no-such-program'/],
    [["--notify-command", "sh -c '/secret"], /"sh" has a quotation mark without its partner/],
    [["--notify-command", "TOKEN=/secret sh"], /there is no executable command 'TOKEN'/],
    [["--notify-command", "sh /secret | b"], /"sh" needs a shell, and there is none/],
    [["--notify-command", "./here.sh"], /there is no executable command '.\/here.sh'/],
    [["--notify-command", "sh -c 'a' | b"], /needs a shell, and there is none/],
    [["--notify", " "], /It must not be empty/],
  ])("%s", async (flags, message) => {
    const { code, stderr } = await serve(...flags);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("/secret");
    expect(code).toBe(2);
  });

  it.each([
    "hunter2hunter2hunter2hunter2",
    "whsec_?",
    `whsec_${"a".repeat(30)}`,
    `whsec_${"a".repeat(90)}`,
    `${SECRET} whsec_?`,
  ])("the secret %s", async (secret) => {
    vi.stubEnv("PHASEGATE_NOTIFY_SECRET", secret);
    const { code, stderr } = await serve("--notify", "https://a.example");
    expect(stderr).toMatch(/PHASEGATE_NOTIFY_SECRET is not a secret of Standard Webhooks[\s\S]*openssl rand/);
    expect([code, stderr.includes(secret)]).toEqual([2, false]);
  });

  it("tells of sessions, so that there must be some", async () => {
    const folder = await temporaryFolder();
    const { code, stderr } = await run(
      "serve",
      "--bundle",
      folder,
      "--output",
      folder,
      "--notify",
      "https://a.example",
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining("--notify and --notify-command tell of sessions")]);
  });
});

describe("an address", () => {
  it.each([
    ["https://hooks.slack.com/services/T/B/x", ["hooks.slack.com"]],
    [
      "https://discord.com/api/webhooks/1/x https://ptb.discord.com/api/webhooks/1/x",
      ["discord.com", "ptb.discord.com"],
    ],
    ["https://mattermost.example:8065/hooks/x#mattermost", ["mattermost.example:8065"]],
    ["https://prod-1.westus.logic.azure.com/workflows/x", ["prod-1.westus.logic.azure.com"]],
    ["https://x.environment.api.powerplatform.com/x", ["x.environment.api.powerplatform.com"]],
  ])("of a chat needs no secret: %s", async (given, names) => {
    const receivers = await openReceivers({ notify: given.split(" ") }, {});
    expect(receivers.map(({ name }) => name)).toEqual(names);
  });

  it.each(["https://slack.com.example/x", "https://example.com/hooks.slack.com", "https://hooks.slack.com/x#json"])(
    "of no chat needs one: %s",
    async (given) => {
      await expect(openReceivers({ notify: [given] }, {})).rejects.toThrow("PHASEGATE_NOTIFY_SECRET is not set");
      expect(await openReceivers({ notify: [given] }, SIGNED)).toHaveLength(1);
    },
  );

  it("gets the form that its end names", async () => {
    const { url, bodies } = await receiverServer();
    const receivers = await openReceivers({ notify: [`${url}#discord`, `${url}#json`] }, SIGNED);
    for (const { send } of receivers) expect(await send(aMessage(), signal)).toBeUndefined();
    expect(bodies()).toMatchObject([{ content: "Session failed" }, { type: "session.failed", id: "msg_1" }]);
  });
});

describe("a command", () => {
  const script = async (text: string) => {
    const file = join(await temporaryFolder(), "tell.sh");
    await writeFile(file, `#!/bin/sh\n${text}\n`);
    await chmod(file, 0o700);
    return file;
  };
  const told = async (line: string) => {
    const [receiver] = await openReceivers({ notifyCommand: line }, {});
    return receiver?.send(aMessage(), signal);
  };

  it("gets the message on its standard input, and the server's environment without what is phasegate's", async () => {
    vi.stubEnv("PHASEGATE_NOTIFY_SECRET", SECRET);
    vi.stubEnv("CHAT_TOKEN", "abc");
    const out = join(await temporaryFolder(), "out file");
    const file = await script(`{ cat; echo "$CHAT_TOKEN [$PHASEGATE_NOTIFY_SECRET]"; } > "$1"`);
    expect(await told(`${file} "${out}"`)).toBeUndefined();
    const [message = "", environment] = (await readFile(out, "utf8")).split("\n");
    expect(JSON.parse(message)).toMatchObject({ type: "session.failed", id: "msg_1", text: "Session failed" });
    expect(environment).toBe("abc []");
  });

  it("that fails is not run again", async () => {
    expect(await told(await script("exit 3"))).toEqual({ why: "exit code 3" });
    expect(await told(await script("kill -9 $$"))).toEqual({ why: "ended by SIGKILL" });
    expect(await told(await script("yes"))).toEqual({ why: "it wrote more than 65536 bytes" });
  });

  it("that does not read its input has been told, too", async () => {
    expect(await told(await script("exit 0"))).toBeUndefined();
  });
});
