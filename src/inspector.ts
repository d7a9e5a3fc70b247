/** A page for people: sessions, workflows, what waits for a person; and its API. See docs/inspector.md. */

export type { InspectorAccess } from "./inspector/guard.js";
export { createInspector, type Inspector } from "./inspector/inspector.js";
export type { InspectorOptions } from "./inspector/options.js";
export type { HostAction } from "./inspector/wire.js";
