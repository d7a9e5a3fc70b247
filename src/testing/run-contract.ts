import type { ContractCase } from "./contract-case.js";

/** What became of one case. */
export interface ContractResult {
  readonly name: string;
  /** `not tried`: the implementation, or the options, gave nothing to try it with. */
  readonly outcome: "kept" | "broken" | "not tried";
  /** Why it was not tried. */
  readonly reason?: string;
  /** What it failed with. */
  readonly error?: unknown;
}

/** What a run of a contract has found. */
export interface ContractReport {
  /** One for each case, in their order. */
  readonly results: readonly ContractResult[];
  readonly kept: number;
  readonly broken: number;
  readonly notTried: number;
}

/** How to run a contract as one call. */
export interface ContractRun {
  /** Only cases whose names contain this text. */
  readonly only?: string;
  /** Told of each result as it comes. */
  readonly onResult?: (result: ContractResult) => void;
}

/** A contract that is not kept; the message names each case and why. */
export class ContractError extends Error {
  readonly report: ContractReport;

  constructor(report: ContractReport) {
    const broken = report.results.filter(({ outcome }) => outcome === "broken");
    const lines = broken.map(
      ({ name, error }) => `- ${name}: ${error instanceof Error ? error.message : String(error)}`,
    );
    super(`${broken.length} of ${report.results.length} cases are not kept:\n${lines.join("\n")}`);
    this.name = "ContractError";
    this.report = report;
  }
}

/** Runs cases one after the other, and gives what became of them; throws a {@link ContractError} if one is broken. */
export async function runCases(cases: readonly ContractCase[], { only = "", onResult }: ContractRun) {
  const results: ContractResult[] = [];
  for (const one of cases.filter(({ name }) => name.includes(only))) {
    const result = await runCase(one);
    results.push(result);
    onResult?.(result);
  }
  const count = (outcome: ContractResult["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  const report: ContractReport = {
    results,
    kept: count("kept"),
    broken: count("broken"),
    notTried: count("not tried"),
  };
  if (report.broken > 0) throw new ContractError(report);
  return report;
}

async function runCase({ name, run }: ContractCase): Promise<ContractResult> {
  try {
    const reason = await run();
    return reason === undefined ? { name, outcome: "kept" } : { name, outcome: "not tried", reason };
  } catch (error) {
    return { name, outcome: "broken", error };
  }
}
