/** Prints `N passed, N failed` as the test runner itself counted them, from the JSON files of its last runs. */
import { existsSync, readFileSync } from "node:fs";

// The browser's tests run last, and not after a failure.
const runs = ["test", "full", "browser"]
  .map((name) => `coverage/${name}-results.json`)
  .filter((file) => existsSync(file));
let passed = 0;
let failed = 0;
for (const file of runs) {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, "utf8"));
  // A test file that could not even be loaded has no tests that could fail: it counts as one failure itself.
  const notLoaded = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  passed += numPassedTests;
  failed += numFailedTests + notLoaded.length;
}
if (runs.length === 0) console.error("The tests did not run.");
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
