export default { ssr: { noExternal: true }, build: { ssr: "main.ts", outDir: "out/vite" } };
