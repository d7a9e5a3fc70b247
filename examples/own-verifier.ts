/** A host's own verifier, added to the built-in ones. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
// #region own
import { createVerifiers, type Verifier } from "phasegate/verify";

const tickets = new Set(["OPS-7"]);

const ticketIsOpen: Verifier = {
  async verify({ value }) {
    const ok = typeof value === "string" && tickets.has(value);
    return { ok, message: ok ? `${value} is open` : "submit the number of an open ticket, such as OPS-7" };
  },
};

await mkdir("project", { recursive: true });
const verifiers = { ...(await createVerifiers({ projectRoot: "project" })), ticket_is_open: ticketIsOpen };
// #endregion own

const session = { id: "release_1", workflowType: "release", target: ".", phase: 1 };
const options = { signal: AbortSignal.timeout(10_000) };
const ask = (value: string) => verifiers.ticket_is_open.verify({ params: {}, value, evidence: {}, session }, options);
assert.equal((await ask("OPS-7")).ok, true);
assert.equal((await ask("OPS-8")).ok, false);
console.log("A ticket that isn't open shows nothing.");
