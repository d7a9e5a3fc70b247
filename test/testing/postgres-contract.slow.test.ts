import { contractOf } from "./contract-of.js";
import * as postgres from "./storages/postgres.js";

contractOf("postgres", postgres);
