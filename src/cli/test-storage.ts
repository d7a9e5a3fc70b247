/** `phasegate test-storage`: runs the storage contract over an adapter in a module of the user. */
import { ContractError, type ContractResult } from "../testing/contract.js";
import type { StorageContractModule } from "../testing/storage-contract/stage.js";
import { defined } from "../workflow/json.js";
import { argument, command, parsed, text, wholeNumber } from "./command.js";
import { EXIT, messageOf, usage } from "./exit-codes.js";
import { importModule } from "./module-file.js";
import { jsonOption } from "./options.js";
import { print, printable, printJson, styled, type Terminal } from "./terminal.js";

const HELP = `
The module exports open(), which returns an adapter over an empty storage. It may export reopen(adapter), which
returns another adapter over the same storage, spawn(adapter), which returns how other processes open it
({module, options}), and finish(), which is called at the end. docs/storage/own.md describes the cases. The exit code is
1 if the adapter breaks a promise.`;

export const testStorageCommand = command({
  name: "test-storage",
  description: "Runs the contract of storage adapters over yours, and prints which promises it keeps.",
  arguments: [argument("<module>", "a JavaScript or TypeScript file that opens the adapter")],
  options: {
    kills: parsed("--kills <n>", "number of processes to kill at random times; 100 if not given", wholeNumber(1)),
    only: text("--only <text>", "only cases whose names contain this"),
    json: jsonOption(),
  },
  help: HELP,
  async run({ kills, only, json }, terminal, file) {
    const module = Object.fromEntries(await importModule(file));
    if (!isContractModule(module)) {
      const hint =
        "Export the function open, and if needed the functions reopen, spawn and finish; see docs/storage/own.md.";
      throw usage(`${file} does not export what the contract needs`, hint);
    }
    const onResult = json ? undefined : (result: ContractResult) => printResult(result, terminal);
    const report = await reportOf({ ...module, ...defined({ kills }) }, defined({ only, onResult }));
    const { kept, broken, notTried } = report;
    if (json) printJson(terminal, report, (_, value) => (value instanceof Error ? value.message : value));
    else print(terminal, `${kept} kept, ${broken} broken, ${notTried} not tried`);
    return broken === 0 && kept > 0 ? EXIT.ok : EXIT.problems;
  },
});

/** The contract is loaded here: no other command needs it. */
async function reportOf(
  module: StorageContractModule,
  run: Parameters<typeof import("../testing/storage-contract/contract.js").runStorageContract>[1],
) {
  const { runStorageContract, storageContract } = await import("../testing/storage-contract/contract.js");
  try {
    requireCases(
      storageContract(module).map(({ name }) => name),
      run?.only,
    );
    return await runStorageContract(module, run);
  } catch (error) {
    if (error instanceof ContractError) return error.report;
    throw error;
  } finally {
    await module.finish?.();
  }
}

/** A misspelt name must not look like a success. */
function requireCases(names: readonly string[], only = ""): void {
  if (names.some((name) => name.includes(only))) return;
  const kinds = [...new Set(names.map((name) => name.slice(0, name.indexOf(":") + 1)))];
  const hint = `Their names begin with ${kinds.join(", ")}; docs/storage/own.md describes them.`;
  throw usage(`no case has "${only}" in its name`, hint);
}

function isContractModule(module: object): module is StorageContractModule {
  const exported = (name: string): unknown => Reflect.get(module, name);
  const others = ["reopen", "spawn", "finish"].map(exported);
  return (
    typeof exported("open") === "function" && others.every((one) => one === undefined || typeof one === "function")
  );
}

function printResult({ name, outcome, reason, error }: ContractResult, terminal: Terminal): void {
  const { stdout } = terminal;
  const colour = { kept: "green", broken: "red", "not tried": "yellow" } as const;
  const why = reason === undefined ? "" : ` (${printable(reason)})`;
  print(terminal, `${styled(stdout, colour[outcome], outcome.padEnd(9))} ${name}${why}`);
  if (outcome !== "broken") return;
  for (const line of printable(messageOf(error), { lines: true }).trim().split("\n"))
    print(terminal, `            ${line}`);
}
