/** What tools write into a project by themselves: neither asked for, nor blamed, nor needed by another run. */

/** Names of files and folders, and ends of names, by the tool that writes them. */
const PRODUCTS: Readonly<Record<string, readonly string[]>> = {
  Python: [
    "__pycache__",
    "*.pyc",
    "*.pyo",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    "*.egg-info",
  ],
  "Python's coverage": [".coverage", "htmlcov"],
  JavaScript: [
    ".cache",
    ".vite",
    ".vite-temp",
    ".vitest",
    ".turbo",
    ".next",
    ".nuxt",
    ".parcel-cache",
    "*.tsbuildinfo",
  ],
  "JavaScript's coverage": ["coverage", ".nyc_output"],
  Rust: ["target"],
  JVM: [".gradle"],
  Ruby: [".rspec_status"],
  phasegate: [".phasegate"],
};

const NAMES = Object.values(PRODUCTS).flat();
const EXACT = new Set(NAMES.filter((name) => !name.startsWith("*")));
const ENDS = NAMES.filter((name) => name.startsWith("*")).map((name) => name.slice(1));

/** Checks whether a path has the name of a product. Something of this name that is committed is none. */
export function isProduct(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return EXACT.has(name) || ENDS.some((end) => name.endsWith(end));
}
