/** Prints `N passed, N failed` as the test runner itself counted them, from the JSON file of its last run. */
import { existsSync, readFileSync } from "node:fs";

const file = "coverage/test-results.json";
if (existsSync(file)) {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, "utf8"));
  // A test file that could not even be loaded has no tests that could fail: it counts as one failure itself.
  const notLoaded = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  const failed = numFailedTests + notLoaded.length;
  console.log(`${numPassedTests} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
} else {
  console.error("The tests did not run.");
  console.log("0 passed, 0 failed");
}
