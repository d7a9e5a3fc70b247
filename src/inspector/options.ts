/** The options of an inspector. */
import type { Approvers, Invitations } from "../approval/approvers.js";
import { type Clock, clockCheck } from "../ports/clock.js";
import type { InspectorSources } from "../read/sources.js";
import type { Diagnostic } from "../workflow/diagnostic.js";
import {
  callable,
  check,
  checkOptions,
  either,
  flag,
  group,
  having,
  isOpen,
  key,
  type OptionChecks,
  optionally,
  text,
  texts,
} from "../workflow/host-options.js";
import type { InspectorAccess } from "./guard.js";
import type { HostAction } from "./wire.js";

/** Options of an inspector. */
export interface InspectorOptions extends InspectorSources {
  /** Who may use it. */
  readonly access: InspectorAccess;
  /** The path that it is mounted at, such as `/inspector`. Default: `/`. */
  readonly basePath?: string;
  /** The names under which it is served, with or without a port. Default: 127.0.0.1, localhost and [::1], on any port. */
  readonly hosts?: readonly string[];
  /** What people may do besides looking and answering: retry, skip, override, pause, resume, delete. Default: nothing. */
  readonly actions?: readonly HostAction[];
  /** The engines' approvers, for the page's list, and for passkeys. Default: none, and the page asks for a name. */
  readonly approvers?: Approvers | (() => Approvers);
  /** Where invitations to register a passkey are kept. Default: nobody can register one. */
  readonly invitations?: Invitations;
  /** True if the engines accept answers without a signature. Default: false, and the page's answers must be signed. */
  readonly unsigned?: boolean;
  /** The title of the page. Default: `phasegate`. */
  readonly title?: string;
  /** Returns the lines of a workflow's file around a diagnostic. Default: none are shown. */
  readonly codeFrame?: (diagnostic: Diagnostic, workflow: string) => Promise<string | undefined>;
  /** Is told what went wrong with a request, without which its cause is lost. Default: nothing is told. */
  readonly onError?: (error: unknown) => void;
  /** Time and timers. Default: the runtime's. */
  readonly clock?: Clock;
}

const RECORDED: OptionChecks<NonNullable<InspectorSources["recorded"]>> = {
  storage: having("a storage", "read", "list"),
  hashKey: optionally(key),
};

/** An engine of phased sessions has `cleanup`. */
const isRouted = (value: unknown) => isOpen(value) && "session" in value && !("cleanup" in value);

/** Checks the options. Throws `INVALID_INPUT`. */
export function checkInspectorOptions(options: InspectorOptions): void {
  checkOptions("createInspector", options, {
    engine: optionally(having("an engine, as createEngine() returns it", "as", "cleanup")),
    routed: optionally(check("an engine, as createRoutedEngine() returns it", isRouted)),
    recorded: optionally(group("{ storage }", RECORDED)),
    access: having("{ token }, { authorize } or { login }"),
    basePath: optionally(text),
    hosts: optionally(texts),
    actions: optionally(texts),
    approvers: optionally(either("approvers by name, or a function", having(""), callable)),
    invitations: optionally(having("invitations")),
    unsigned: optionally(flag),
    title: optionally(text),
    codeFrame: optionally(callable),
    onError: optionally(callable),
    clock: optionally(clockCheck),
  });
}
