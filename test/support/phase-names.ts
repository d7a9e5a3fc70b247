import { PhaseNames } from "../../src/workflow/phase-names.js";

/** Returns phases without names, by their numbers. */
export const unnamed = (...numbers: number[]) => new PhaseNames(numbers.map((number) => ({ number, name: "" })));
