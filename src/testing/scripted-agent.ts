import { PhasegateError } from "../errors.js";

/** What an agent calls: a workflow tool is one, and so is whatever stands before one. */
export interface AgentTool {
  /** Carries out a call, and answers whatever it was. */
  dispatch(input: unknown): Promise<AgentAnswer>;
}

/** An answer of the tool, as agents get it. */
export type AgentAnswer = { readonly status: "success" | "error"; readonly [key: string]: unknown };

/** What an agent sends. */
export type AgentCall = { readonly action: string; readonly [key: string]: unknown };

/** What the agent is to work on, and what it would hand in if it were honest. */
export interface ScriptedAgentOptions {
  readonly workflowType: string;
  readonly target: string;
  /** True evidence by the number of its phase; `{}` for a phase that is not here. */
  readonly evidence?: Readonly<Record<number, unknown>>;
}

/**
 * One thing that the agent does:
 *
 * - `start`: begins its session, or takes it up again under the same idempotency key;
 * - `look`: reads the phase that it is in;
 * - `honest`: hands in the true evidence of the current phase;
 * - `finish`: as `honest`, until the workflow is done or a gate refuses;
 * - `example`: hands in the example that the phase, or the last refusal, shows, as if it were evidence;
 * - `empty`: hands in nothing;
 * - `skip`: hands in the true evidence of the phase after the current one;
 * - `again`: hands in the true evidence of the phase before;
 * - `repeat`: makes its last call once more, to the letter;
 * - `{ lie }`: hands this in at the current phase;
 * - `{ call }`: makes this call; its `session_id` is filled in.
 */
export type AgentMove =
  | "start"
  | "look"
  | "honest"
  | "finish"
  | "example"
  | "empty"
  | "skip"
  | "again"
  | "repeat"
  | { readonly lie: unknown }
  | { readonly call: AgentCall };

/** One call of an agent's, and what came of it. */
export interface AgentTurn {
  /** The move's name: `lie` and `call` for those that are objects. */
  readonly move: string;
  readonly call: AgentCall;
  readonly answer: AgentAnswer;
  /** Whether a gate has let it through. */
  readonly passed: boolean;
  /** Why it was refused: the answer's code. */
  readonly refused?: string;
}

/** Goes through a workflow by a script, honestly or not, and keeps a transcript: for tests of gates and hosts. */
export class ScriptedAgent {
  readonly #tool: AgentTool;
  readonly #options: ScriptedAgentOptions;
  readonly #transcript: AgentTurn[] = [];
  #phase = 1;
  #isDone = false;
  #sessionId: string | undefined;
  #example: unknown = {};

  constructor(tool: AgentTool, options: ScriptedAgentOptions) {
    this.#tool = tool;
    this.#options = options;
  }

  /** All calls so far, with their answers. */
  get transcript(): readonly AgentTurn[] {
    return this.#transcript;
  }

  /** The session that it has begun. Throws `INVALID_INPUT` before `start`. */
  get sessionId(): string {
    if (this.#sessionId !== undefined) return this.#sessionId;
    throw invalid("The agent has no session yet", "Begin its script with `start`.");
  }

  /** The phase that it takes itself to be in, by what it was last told. */
  get phase(): number {
    return this.#phase;
  }

  /** Whether it was told that the workflow is complete. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Does one thing after the other; gives the turns that came of them. A refusal is a turn, not an error. */
  async play(...moves: readonly AgentMove[]): Promise<readonly AgentTurn[]> {
    const before = this.#transcript.length;
    for (const move of moves) await this.#move(move);
    return this.#transcript.slice(before);
  }

  async #move(move: AgentMove): Promise<void> {
    if (typeof move === "object") {
      const [name, call] = "lie" in move ? ["lie", this.#submission(move.lie)] : ["call", this.#own(move.call)];
      await this.#make(name, call);
      return;
    }
    if (move === "example") await this.#make("look", this.#own({ action: "get_phase" }));
    if (move !== "finish") await this.#make(move, this.#callOf(move));
    else while (!this.#isDone && (await this.#make(move, this.#callOf("honest"))).passed);
  }

  #callOf(move: Exclude<AgentMove, object | "finish">): AgentCall {
    const { workflowType, target } = this.#options;
    switch (move) {
      case "start": {
        const key = `scripted ${workflowType} ${target}`.slice(0, 200);
        return { action: "start", workflow_type: workflowType, target_file: target, idempotency_key: key };
      }
      case "look":
        return this.#own({ action: "get_phase" });
      case "honest":
        return this.#submission(this.#evidence(this.#phase));
      case "example":
        return this.#submission(this.#example);
      case "empty":
        return this.#submission({});
      case "skip":
        return this.#submission(this.#evidence(this.#phase + 1), this.#phase + 1);
      case "again":
        return this.#submission(this.#evidence(this.#phase - 1), this.#phase - 1);
      case "repeat":
        return this.#last();
    }
  }

  async #make(move: string, call: AgentCall): Promise<AgentTurn> {
    const answer = await this.#tool.dispatch(call);
    this.#heed(answer);
    const { code, checkpoint_passed: isPassed } = answer;
    const refused = answer.status === "error" ? { refused: typeof code === "string" ? code : "unknown" } : {};
    const turn: AgentTurn = { move, call, answer, passed: isPassed === true, ...refused };
    this.#transcript.push(turn);
    return turn;
  }

  /** What an answer tells the agent of where it stands. */
  #heed(answer: AgentAnswer): void {
    if (answer.status === "success" && typeof answer.session_id === "string") this.#sessionId ??= answer.session_id;
    const phase = answer.current_phase ?? fieldOf(answer.next_phase, "phase_number");
    if (typeof phase === "number") this.#phase = phase;
    this.#isDone ||= answer.workflow_complete === true;
    this.#example =
      fieldOf(fieldOf(answer.phase_content, "checkpoint"), "evidence_example") ?? answer.examples ?? this.#example;
  }

  #submission(evidence: unknown, phase = this.#phase): AgentCall {
    return this.#own({ action: "complete_phase", phase, evidence });
  }

  #own(call: AgentCall): AgentCall {
    return { session_id: this.sessionId, ...call };
  }

  #evidence(phase: number): unknown {
    return this.#options.evidence?.[phase] ?? {};
  }

  #last(): AgentCall {
    const last = this.#transcript.at(-1);
    if (last !== undefined) return last.call;
    throw invalid("The agent has made no call that it could repeat", "Begin its script with `start`.");
  }
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

function invalid(message: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", message, { remedy, details: { field: "script" } });
}
