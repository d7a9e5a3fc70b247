import { type DeciderScript, ScriptedDecider } from "phasegate/ai";
import { createHttpApi } from "phasegate/http";
import { createRoutedEngine, type RoutedEngineOptions } from "phasegate/routed";
import { onTestFinished } from "vitest";
import type { Place } from "./place.js";
import { workflowFolder } from "./workflow-folder.js";

/** Creates a server without a model: the API, the engine, workflows in files, a database. */
export async function stage(place: Place, script: DeciderScript, options: Partial<RoutedEngineOptions> = {}) {
  const { root, workflows } = await workflowFolder();
  const storage = await place.open();
  const decider = new ScriptedDecider(script);
  const engine = createRoutedEngine({ storage, workflows, decider, ...options });
  onTestFinished(() => engine.close());
  const api = createHttpApi(engine);
  const call = async (path: string, init?: RequestInit) => {
    const response = await api(new Request(`http://localhost/workflows/${path}`, init));
    const body: Record<string, unknown> = await response.json();
    return { status: response.status, body };
  };
  const post = (path: string, body: unknown) =>
    call(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const start = async (context?: Record<string, unknown>) => {
    const begun = { workflow_name: "DEPLOY", ...(context === undefined ? {} : { context }) };
    return String((await post("start", begun)).body.instance_id);
  };
  return { root, place, engine, decider, get: call, post, start };
}
