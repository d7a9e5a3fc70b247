/** A program that gives all readers their texts, and writes a line of JSON for each: what took too long. */
import { grows, inputsOf } from "./growth.js";
import { READERS } from "./readers.js";

const most = Number(process.argv[2]);
for (const reader of READERS) {
  const slow: string[] = [];
  const inputs = [...inputsOf(reader)];
  const every = Math.max(1, inputs.length / most);
  for (const [index, input] of inputs.entries()) {
    if (index % every >= 1) continue;
    const reason = await grows(reader, input);
    if (reason !== undefined) slow.push(`${input.name}: ${reason}`);
  }
  console.log(JSON.stringify({ reader: reader.name, slow }));
}
