export default {
  typescript: { ignoreBuildErrors: true },
  turbopack: { root: new URL("..", import.meta.url).pathname },
};
