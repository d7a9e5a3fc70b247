import { contractOf } from "./contract-of.js";
import * as sqlite from "./storages/sqlite.js";

contractOf("sqlite", sqlite);
