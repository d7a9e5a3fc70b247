/** The other side: an MCP client that starts the server as its child, as an agent's host does. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Answer, event, showAnswer, showCall } from "./screen.ts";

/** An agent with its server. */
export interface Agent {
  /** Calls the tool, and shows the call and its answer. */
  call(input: Answer): Promise<Answer>;
  /** Calls the tool and shows nothing. */
  ask(input: Answer): Promise<Answer>;
  /** Kills the server as a power cut would: it gets no chance to put anything in order. */
  kill(): void;
  /** Closes the connection, whereupon the server ends. */
  close(): Promise<void>;
}

/** Starts a server, a script of Node with its arguments, and connects to it. */
export async function connectAgent(args: string[]): Promise<Agent> {
  const transport = new StdioClientTransport({ command: process.execPath, args });
  const client = new Client({ name: "demo-agent", version: "1.0.0" });
  await client.connect(transport);
  const { pid } = transport;
  event(`server started as process ${pid}`);

  async function ask(input: Answer): Promise<Answer> {
    const { content } = await client.callTool({ name: "pos_workflow", arguments: input });
    const text = content[0]?.type === "text" ? content[0].text : "";
    // The text of an error begins with a word.
    const answer: unknown = JSON.parse(text.slice(text.indexOf("{")));
    if (!isAnswer(answer)) throw new Error("an answer that is no object");
    return answer;
  }

  async function call(input: Answer): Promise<Answer> {
    showCall(input);
    const answer = await ask(input);
    showAnswer(answer);
    return answer;
  }

  function kill(): void {
    if (pid !== null) process.kill(pid, "SIGKILL");
    event(`server ${pid} killed (SIGKILL)`);
  }

  return { call, ask, kill, close: () => client.close() };
}

function isAnswer(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
