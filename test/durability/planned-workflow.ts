import { MemoryContent } from "../../src/content/memory.js";

/** A plan of three phases, each with two tasks. */
export const THREE_PHASES = [1, 2, 3]
  .map((phase) => {
    const tasks = [1, 2].map((task) => `- [ ] **Task ${phase}.${task}**: Do thing ${phase}.${task}\n`);
    return `### Phase ${phase}: Part ${phase}\n\n${tasks.join("")}`;
  })
  .join("\n");

/** A workflow whose phases all come from a plan. */
export const planned = new MemoryContent({
  sources: {
    planned: {
      "metadata.json": JSON.stringify({
        ...{ workflow_type: "planned", name: "Planned", description: "Carries out a plan", version: "1" },
        dynamic_phases: true,
        dynamic_config: { templates: { phase: "phase.md", task: "task.md" } },
      }),
      "phase.md": "# [PHASE_NAME]\n",
      "task.md": "# [TASK_NAME]\n",
    },
  },
});

/** Evidence that passes the gate of a phase. */
export function claimOf(phase: number) {
  return { tasks_completed: [`${phase}.1`, `${phase}.2`] };
}

/** The ids of the tasks that are ticked in a text. */
export function tickedIds(text: string): string[] {
  return [...text.matchAll(/^- \[x\] \*\*Task ([\d.]+)/gm)].map(([, id = ""]) => id);
}
