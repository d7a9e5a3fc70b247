export default {
  mode: "production",
  target: "node",
  entry: "./main.ts",
  output: { path: new URL("out/webpack", import.meta.url).pathname, filename: "main.cjs" },
  resolve: { extensions: [".ts", ".js"] },
  module: { rules: [{ test: /\.ts$/, use: "./strip-types.cjs" }] },
};
