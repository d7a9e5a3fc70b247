/** `phasegate migrate`: moves phased sessions to the newest definition of their workflow, or shows what that would do. */
import process from "node:process";
import { InvalidArgumentError } from "commander";
import type { MigrationView } from "../phased/commands.js";
import type { PhaseComparison } from "../phased/state/compare-phases.js";
import { differenceOf } from "../phased/state/migration.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { pagesOf, type SessionQuery, type StorageAdapter } from "../ports/storage-adapter.js";
import type { Verifier } from "../ports/verifier.js";
import { meantOr, shown } from "../workflow/names.js";
import { command, flag, parsed, required, text, type Values } from "./command.js";
import { CommandFailure, EXIT, type ExitCode, usage } from "./exit-codes.js";
import type { OpenedSession } from "./opened.js";
import { byOption, type Done, leftBehind, onEach, sourcesOf } from "./operate.js";
import { jsonOption, sessionsArgument, stateOption, workflowsOption } from "./options.js";
import { packOption, withPacks } from "./packs.js";
import { counted, print, printable, type Terminal } from "./terminal.js";
import { openVerifiers, projectOption, readTrust, trustOptions, verifierOptions } from "./trust.js";

const HELP = `
A session keeps the definition that it was started on. This moves it to the newest one: it goes on at the first phase
that it has not done. A phase is the same if its name, gate and tasks are, whatever its number; new phases before that
place are done first, and what comes after them again. A phase behind the session that has changed, or is gone, refuses
the move, unless --accept names it with a reason, which the log keeps; a new phase that is named is skipped.

If a session is refused, the others are still moved; an end of an id that several have, or none, refuses all. Give --project and the --allow options of the server if gates check.

Examples:
  phasegate migrate --state .phasegate --workflows workflows --workflow bug_fix --dry-run --by ann
  phasegate migrate SESSION --by ann --accept "Threat model=merged into Design"`;

type Accepted = Readonly<Record<string, string>>;

const migrateOptions = () => ({
  state: required(stateOption()),
  by: byOption(),
  workflow: text("--workflow <type>", "all open sessions on this workflow, in place of ids"),
  workflows: workflowsOption("the server's folders of phased workflows"),
  pack: packOption(),
  dryRun: flag("--dry-run", "only show what would be done"),
  accept: parsed(
    "--accept <name=reason>",
    "a difference that is accepted, by the phase's name; may be repeated",
    (value: string, before: Accepted = {}): Accepted => ({ ...before, ...acceptedIn(value) }),
  ),
  project: projectOption("the server's project folder, which gates check"),
  ...verifierOptions(),
  ...trustOptions(),
  json: jsonOption(),
});
type MigrateOptions = Values<ReturnType<typeof migrateOptions>>;

export const migrateCommand = command({
  name: "migrate",
  description: "Moves sessions to the newest definition of their workflow. For phased sessions.",
  arguments: [sessionsArgument("[session...]")],
  options: migrateOptions(),
  help: HELP,
  async run(options, terminal, ids) {
    if (options.workflows === undefined && options.pack === undefined) {
      throw usage("--workflows is missing", "Give the value that `phasegate serve` has, or --pack.");
    }
    if ((ids.length === 0) === (options.workflow === undefined)) {
      throw usage(
        "give ids of sessions, or --workflow",
        "Name the sessions, or the workflow whose open sessions are meant.",
      );
    }
    return withPacks(options, ({ workflows, verifiers }) =>
      migrateAll(ids, { ...options, workflows }, verifiers, terminal),
    );
  },
});

async function migrateAll(
  ids: readonly string[],
  options: MigrateOptions,
  ofPacks: Readonly<Record<string, Verifier>>,
  terminal: Terminal,
): Promise<ExitCode> {
  const { workflow } = options;
  const verifiers = { ...(await openVerifiers(options, process.env)), ...ofPacks };
  const sources = await sourcesOf(options);
  if (workflow !== undefined) await requireWorkflow(workflow, sources.content);
  const setup = { ...(await readTrust(options)), verifiers, ...sources };
  const openOn = async (storage: StorageAdapter, type: string) => {
    const open = await openSessions(storage, type);
    if (open.length === 0 && !options.json) print(terminal, `there is no open session on ${printable(type)}`);
    return open;
  };
  const chosen = workflow === undefined ? ids : (storage: StorageAdapter) => openOn(storage, workflow);
  const unused = new Set(Object.keys(options.accept ?? {}));
  const code = await onEach("migrate", chosen, { options, setup }, terminal, (opened, id) =>
    migrate(opened, id, options, unused),
  );
  for (const name of unused) terminal.stderr.write(`phasegate: --accept: no session has a difference ${shown(name)}\n`);
  return code === EXIT.ok && unused.size > 0 ? EXIT.usage : code;
}

async function requireWorkflow(wanted: string, content: ContentProvider | undefined): Promise<void> {
  const types = ((await content?.list()) ?? []).map(({ type }) => type);
  if (types.includes(wanted)) return;
  const list = types.length === 0 ? "There are none." : `There are ${types.map(shown).join(", ")}.`;
  throw usage(`there is no workflow ${shown(wanted)}`, meantOr(wanted, types, list, shown));
}

function acceptedIn(value: string): Accepted {
  const at = value.indexOf("=");
  if (at > 0) return { [value.slice(0, at)]: value.slice(at + 1) };
  throw new InvalidArgumentError('Write it as "NAME=reason".');
}

/** Returns the ids of the sessions on a workflow that are not over. */
async function openSessions(storage: StorageAdapter, workflowType: string): Promise<readonly string[]> {
  const ids: string[] = [];
  const query: SessionQuery = { kind: "phased", workflowType, status: ["active", "paused", "failed"], limit: 1000 };
  for await (const { items, damaged = [] } of pagesOf((one) => storage.list(one), query)) {
    ids.push(...items.map(({ sessionId }) => sessionId), ...damaged);
  }
  return ids;
}

/** Moves one session. Of what is accepted it takes what differs in it: the others may stand elsewhere. */
async function migrate(
  opened: OpenedSession,
  id: string,
  { by, accept: accepted = {}, dryRun }: MigrateOptions,
  unused: Set<string>,
): Promise<Done> {
  if (opened.kind !== "phased") {
    const what = opened.kind === "routed" ? "an instance of a routed workflow" : "a recorded session";
    throw new CommandFailure(`migrate is not possible: ${id} is ${what}`, EXIT.problems, "Leave it out.");
  }
  const session = opened.engine.session(id);
  const { phases, from, to } = await session.migration();
  if (from === to) return { json: { moved: false, from, to }, text: "nothing to do" };
  const names = new Set(phases.filter(({ is }) => is !== "same" && is !== "moved").map(({ name }) => name));
  const accept = Object.fromEntries(Object.entries(accepted).filter(([name]) => names.has(name)));
  for (const name of Object.keys(accept)) unused.delete(name);
  if (dryRun) {
    const view = await session.migration({ accept });
    const { json, warnings } = leftBehind(view.childrenLeft, "they would count for nothing any more");
    return { json: { moved: false, ...view, ...json }, text: dryText(view), warnings };
  }
  const { again } = await session.migration({ accept });
  const { head, childrenLeft } = await session.migrate({ by, accept });
  const left = leftBehind(childrenLeft);
  const text = `moved to revision ${printable(head.revision)}, ${head.status} in phase ${head.phase}${againText(again)}`;
  const json = { moved: true, from, to, status: head.status, phase: head.phase, again, ...left.json };
  return { json, text, warnings: left.warnings };
}

function againText(again: readonly string[] | undefined): string {
  return again === undefined ? "" : `; to do again: ${again.map((name) => printable(name)).join(", ")}`;
}

function dryText({ to, phases, returnsTo, needsAccept, again }: MigrationView): string {
  const where = returnsTo === undefined ? "would go on in its phase" : `would go on in phase ${returnsTo}`;
  const wanted =
    needsAccept.length === 0 ? "" : `; to accept: ${needsAccept.map((name) => printable(name)).join(", ")}`;
  const differing = phases.filter(({ is }) => is !== "same");
  const lines = differing.map((phase) => `\n  ${differenceLine(phase)}`);
  const found = differing.length === 0 ? "" : `; ${counted(differing.length, "difference")}:`;
  return `revision ${printable(to)}, ${where}${againText(again)}${wanted}${found}${lines.join("")}`;
}

function differenceLine(phase: PhaseComparison): string {
  return `${printable(phase.name)} ${differenceOf(phase)}`;
}
