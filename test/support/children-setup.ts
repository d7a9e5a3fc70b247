import { tmpdir } from "node:os";
import { join } from "node:path";

// Child processes reuse Node's compile cache: a third of their start time. With coverage, Vitest turns the cache off
// for all processes, although it measures only its own.
delete process.env.NODE_DISABLE_COMPILE_CACHE;
process.env.NODE_COMPILE_CACHE = join(tmpdir(), "phasegate-compiled");
