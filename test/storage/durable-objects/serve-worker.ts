/** `serve-worker BUNDLE FOLDER`: runs the Worker of storage-object.ts until it is killed, and prints its address. */
import { readFileSync } from "node:fs";
import { startWorker } from "./workerd.ts";

const [bundle = "", folder = ""] = process.argv.slice(2);
const { url } = await startWorker(readFileSync(bundle, "utf8"), { className: "Sessions", folder, isNode: true });
console.log(url.href);
