/**
 * A process that counts in its own line of a shared file: `replace-worker <root> <line> <times>`. It prints `lost` if
 * a number that was acknowledged is no longer in the file.
 */
import { writeSync } from "node:fs";
import { FilePlans } from "../../src/content/file-plans.js";

const [root = "", line = "", times = "1"] = process.argv.slice(2);
const plans = new FilePlans({ root });
const own = new RegExp(`^${line}:(\\d+)$`, "m");
for (let count = 0; count < Number(times); ) {
  const source = await plans.read("tasks.md");
  if (source === undefined) throw new Error("there is no plan");
  const found = Number(own.exec(source.text)?.[1]);
  if (found !== count) {
    writeSync(1, `lost ${count}: found ${found}\n`);
    break;
  }
  const next = source.text.replace(own, `${line}:${count + 1}`);
  if (await plans.replace("tasks.md", source.hash, next)) count += 1;
}
