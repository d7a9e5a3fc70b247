/** Runs `fails_without` on a project until somebody kills this process. */
import { createVerifiers } from "../../src/verifiers/create-verifiers.js";

const projectRoot = process.argv[2] ?? "";
const { fails_without } = await createVerifiers({ projectRoot, commands: ["sh test.sh"] });
const request = {
  params: { line: "sh test.sh" },
  session: { id: "a", workflowType: "w", target: "t", phase: 1 },
};
await fails_without.verify(
  { ...request, evidence: {}, value: ["greet.sh"], snapshot: { head: process.argv[3] ?? "", files: {}, bytes: {} } },
  { signal: new AbortController().signal },
);
