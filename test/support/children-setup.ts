import { tmpdir } from "node:os";
import { join } from "node:path";

// Processes that tests start keep what Node has compiled of them for the next ones: a third of their start. Where coverage is
// measured, Vitest turns that off for all processes, though it measures its own alone.
delete process.env.NODE_DISABLE_COMPILE_CACHE;
process.env.NODE_COMPILE_CACHE = join(tmpdir(), "phasegate-compiled");
