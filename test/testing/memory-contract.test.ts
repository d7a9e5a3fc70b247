import { contractOf } from "./contract-of.js";
import * as memory from "./storages/memory.js";

contractOf("memory", memory);
