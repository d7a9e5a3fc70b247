/** Runs one suite, by its name, and sends what it gives to the process that has started this one. */
const { run, section } = await import(`./${process.argv[2]}.mjs`);
process.send(await (run ?? section)(), () => process.disconnect());
