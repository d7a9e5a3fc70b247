import { contractOf } from "./contract-of.js";
import * as files from "./storages/files.js";

contractOf("files", files);
