/** The schema of bundle.yaml. */
import * as z from "zod";
import { filled, label, optional, required, schemaKey, texts, withKeywords } from "./parts.js";

const agentShape = {
  id: required(filled, "The agent's id, unique in the bundle."),
  name: optional(z.string(), "Its name. Default: its id."),
  title: optional(z.string(), "Its title, such as a job title. Default: none."),
  description: optional(z.string(), "What it does, in short. Default: none."),
  file: required(filled, "The file with its text, relative to this file."),
};

const ENTRY = "True if users start with this agent. Others are called by agents.";

const agents = withKeywords(
  z.array(
    z
      .strictObject({ ...agentShape, entry_point: required(z.boolean(), ENTRY) })
      .meta({ id: "agent", description: "An agent of the bundle." }),
  ),
  {
    anyOf: [{ maxItems: 0 }, { contains: { properties: { entry_point: { const: true } }, required: ["entry_point"] } }],
  },
);

const workflow = z.strictObject({
  path: required(filled, "Its folder or first file, relative to this file."),
  name: optional(z.string(), "Its name, unique in the bundle. Default: its id, or else the last name of its path."),
  id: optional(z.string(), "Its name, if `name` is not given."),
  description: optional(z.string(), "For people: what it is for."),
});

const people = (description: string) => z.unknown().optional().describe(description);

/** bundle.yaml. */
export const bundleSchema = withKeywords(
  z.strictObject({
    ...schemaKey,
    type: required(z.enum(["bundle", "standalone"]), "`bundle` has several agents, `standalone` has one."),
    name: required(filled, "The name of the bundle, such as `office`."),
    version: optional(label, "Its version, as it is written. Default: none."),
    description: optional(z.string(), "What it is for, in short. Default: none."),
    title: people("For people: its title."),
    author: people("For people: who wrote it."),
    created: people("For people: when it was written."),
    config: people("For people, and for other programs."),
    agents: optional(agents, "The agents of a `bundle`. At least one is an entry point."),
    agent: optional(
      z.strictObject({ ...agentShape, entry_point: optional(z.boolean(), `${ENTRY} Default: true.`, true) }),
      "The agent of a `standalone` bundle.",
    ),
    workflows: optional(
      z.union([texts, z.array(workflow)]),
      "Its workflows: paths relative to this file, or objects with a path. Default: none.",
    ),
    resources: optional(
      z.record(z.string(), z.string().nullable()),
      "Folders and files by purpose, such as `templates`, relative to this file. Default: none.",
    ),
    core_dependencies: optional(texts, "The paths that it needs, relative to the core root. Default: none."),
  }),
  {
    title: "phasegate: bundle.yaml",
    description: "Agents and their workflows, for a workspace.",
    if: { properties: { type: { const: "standalone" } }, required: ["type"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ["agent"], properties: { agent: { type: "object" } } },
    else: { required: ["agents"], properties: { agents: { type: "array" } } },
  },
);
