/** Runs one suite, by its name, or a part of it, and sends what it gives to the process that has started this one. */
const [name, part] = process.argv.slice(2);
const { run, section } = await import(`./${name}.mjs`);
process.send(await (run ?? section)(part), () => process.disconnect());
