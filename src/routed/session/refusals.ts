import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import type { RoutedCommand } from "./commands.js";
import type { RoutedHead } from "./head.js";

/** What may be asked of a routed session, in the words of its engine. */
export type RoutedOperation = "advance" | "resume" | "suspend" | "cancel" | "retry" | "approve" | "deny" | "delete";

/** What a session's state allows, in the order in which it is usually wanted. */
export function allowedOperations(head: RoutedHead): RoutedOperation[] {
  switch (head.status) {
    case "RUNNING":
      return [
        "advance",
        ...(head.pending?.awaiting === undefined ? [] : (["approve", "deny"] as const)),
        "resume",
        "suspend",
        "cancel",
        "delete",
      ];
    case "SUSPENDED":
      return ["resume", "cancel", "delete"];
    case "FAILED":
      return [...(head.retryable ? (["retry"] as const) : []), "delete"];
    case "COMPLETED":
      return ["delete"];
    case "DELETED":
      return [];
  }
}

/** Why a session as it stands can't take a command; undefined if it can. */
export function commandRefusal(
  head: RoutedHead,
  command: Exclude<RoutedCommand, { type: "start" }>,
): AnyPhasegateError | undefined {
  switch (command.type) {
    case "report":
    case "refuse":
      if (command.operation === "advance" && head.status !== "RUNNING") return notNow(head, "advance");
      if (command.operation === "resume" && head.status !== "RUNNING" && head.status !== "SUSPENDED") {
        return notNow(head, "resume");
      }
      return undefined;
    case "decide":
    case "fail":
      // Somebody else has answered the question, or it was taken back.
      return head.status === "RUNNING" && head.pending?.version === command.pending ? undefined : overtaken(head);
    case "approve":
    case "deny":
      return head.status === "RUNNING" && head.pending?.awaiting !== undefined ? undefined : notNow(head, command.type);
    case "suspend":
      return head.status === "RUNNING" ? undefined : notNow(head, "suspend");
    case "cancel":
      return head.status === "RUNNING" || head.status === "SUSPENDED" ? undefined : notNow(head, "cancel");
    case "retry":
      return retryRefusal(head, command.maxAttemptsTotal);
    case "delete":
      return head.status === "DELETED" ? notNow(head, "delete") : undefined;
  }
}

function retryRefusal(head: RoutedHead, limit: number): AnyPhasegateError | undefined {
  // A question for the first step that was set aside is woken up in the same way.
  if (head.status === "SUSPENDED" && head.step === undefined) return undefined;
  if (head.status !== "FAILED" || !head.retryable) return notNow(head, "retry");
  if (head.spent < limit) return undefined;
  const message = `the gate of ${head.step} was not passed in ${head.spent} attempts: no more are given`;
  return new PhasegateError("INVALID_TRANSITION", message, {
    remedy: "Tell the person who runs this server; start a new instance once its cause is mended.",
    details: { command: "retry", status: head.status, allowed: ["delete"] },
  });
}

/** The session's state doesn't allow the operation. */
export function notNow(head: RoutedHead, operation: RoutedOperation): PhasegateError<"INVALID_TRANSITION"> {
  const allowed = allowedOperations(head);
  const why = "reason" in head && head.reason !== undefined ? ` (${head.reason})` : "";
  return new PhasegateError(
    "INVALID_TRANSITION",
    `${operation} is not possible: the workflow is ${head.status}${why}`,
    {
      remedy:
        allowed.length > 1 ? `Possible now: ${allowed.join(", ")}.` : "It is over: start a new instance for more.",
      details: { command: operation, status: head.status, allowed },
    },
  );
}

function overtaken(head: RoutedHead): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", "somebody else has decided this step meanwhile", {
    remedy: "Ask for the status and go on from there.",
    details: { command: "advance", status: head.status, allowed: allowedOperations(head) },
  });
}
