/** An agent that follows a script, honestly or not, for tests of gates and hosts. */
import { PhasegateError } from "../errors.js";

/** The tool that an agent calls: a workflow tool, or something in front of one. */
export interface AgentTool {
  /** Carries out a call. It answers every call and never rejects. */
  dispatch(input: unknown): Promise<AgentAnswer>;
}

export type AgentAnswer = { readonly status: "success" | "error" | "verifying"; readonly [key: string]: unknown };

export type AgentCall = { readonly action: string; readonly [key: string]: unknown };

/** The workflow and the target of the agent, and the evidence of honest work. */
export interface ScriptedAgentOptions {
  /** The workflow to start. */
  readonly workflowType: string;
  /** The target to start it on. */
  readonly target: string;
  /** True evidence by phase number. Default for each phase: `{}`. */
  readonly evidence?: Readonly<Record<number, unknown>>;
}

/**
 * One thing that the agent does:
 *
 * - `start`: starts its session, or continues it under the same idempotency key;
 * - `look`: reads the current phase;
 * - `honest`: submits the true evidence of the current phase;
 * - `finish`: like `honest`, until the workflow is done or a gate refuses;
 * - `example`: submits the evidence of the call that the last answer proposes, as it is;
 * - `empty`: submits `{}`;
 * - `skip`: submits the true evidence of the next phase;
 * - `again`: submits the true evidence of the previous phase;
 * - `repeat`: repeats its last call exactly;
 * - `{ lie }`: submits this at the current phase;
 * - `{ call }`: makes this call; `session_id` is filled in.
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

export interface AgentTurn {
  /** The name of the move: `lie` or `call` for objects. */
  readonly move: string;
  readonly call: AgentCall;
  readonly answer: AgentAnswer;
  /** True if the call passed a gate. */
  readonly passed: boolean;
  /** The error code of the answer, if the call was refused. */
  readonly refused?: string;
}

/** An agent that works on a workflow by a script, and keeps a transcript. */
export class ScriptedAgent {
  readonly #tool: AgentTool;
  readonly #options: ScriptedAgentOptions;
  readonly #transcript: AgentTurn[] = [];
  #phase = 1;
  #isDone = false;
  #sessionId: string | undefined;
  #example: unknown = {};

  /** Creates an agent that has not started its session. */
  constructor(tool: AgentTool, options: ScriptedAgentOptions) {
    this.#tool = tool;
    this.#options = options;
  }

  /** The calls so far, with their answers. */
  get transcript(): readonly AgentTurn[] {
    return this.#transcript;
  }

  /**
   * The id of its session.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when the session is not started.
   */
  get sessionId(): string {
    if (this.#sessionId !== undefined) return this.#sessionId;
    throw invalid("The agent has no session yet", "Start its script with `start`.");
  }

  /** The number of the current phase, by the last answer that has one. */
  get phase(): number {
    return this.#phase;
  }

  /** True if an answer said that the workflow is complete. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /**
   * Makes the moves in order, and returns their turns. A refusal is a turn, not an error.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when a move needs a session, or a last call, and there is none.
   */
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
    this.#update(answer);
    const { code, checkpoint_passed: isPassed } = answer;
    const refused = answer.status === "error" ? { refused: typeof code === "string" ? code : "unknown" } : {};
    const turn: AgentTurn = { move, call, answer, passed: isPassed === true, ...refused };
    this.#transcript.push(turn);
    return turn;
  }

  /** Updates session, phase and example from an answer. */
  #update(answer: AgentAnswer): void {
    if (answer.status === "success" && typeof answer.session_id === "string") this.#sessionId ??= answer.session_id;
    const phase = answer.current_phase ?? fieldOf(answer.next_phase, "phase_number");
    if (typeof phase === "number") this.#phase = phase;
    this.#isDone ||= answer.workflow_complete === true;
    this.#example = fieldOf(answer.next, "evidence") ?? this.#example;
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
    throw invalid("The agent has made no call that it could repeat", "Start its script with `start`.");
  }
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

function invalid(message: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", message, { remedy, details: { field: "script" } });
}
