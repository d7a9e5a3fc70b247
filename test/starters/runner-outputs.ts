/**
 * What test runners print, shortened: for a test that fails by itself, and for runs in which something else is to blame.
 * Written after their documentation and what they are known to print.
 */

/** The outputs of one runner. */
interface RunnerOutputs {
  /** The name of the test, as it is in the test file. */
  readonly name: string;
  /** A run in which this test fails, once for each form that the runner has. */
  readonly failed: readonly string[];
  /** Runs that end with an error for another reason, and what that is. */
  readonly other: Readonly<Record<string, string>>;
}

export const RUNNERS: Readonly<Record<string, RunnerOutputs>> = {
  pytest: {
    name: "test_adds_two_numbers",
    failed: [
      `collected 2 items

tests/test_add.py F.                                                     [100%]

=================================== FAILURES ===================================
____________________________ test_adds_two_numbers _____________________________

    def test_adds_two_numbers():
>       assert add(2, 3) == 5
E       assert -1 == 5

tests/test_add.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_add.py::test_adds_two_numbers - assert -1 == 5
========================= 1 failed, 1 passed in 0.03s ==========================
`,
      `tests/test_add.py::test_adds_two_numbers FAILED                          [ 50%]
tests/test_add.py::test_adds_nothing PASSED                              [100%]
`,
      `tests/test_add.py::TestAdd::test_adds_two_numbers[2-3] FAILED            [ 50%]
`,
      `[gw0] [ 50%] FAILED tests/test_add.py::test_adds_two_numbers
[gw1] [100%] PASSED tests/test_add.py::test_adds_nothing
`,
    ],
    other: {
      "a syntax error": `==================================== ERRORS ====================================
______________________ ERROR collecting tests/test_add.py ______________________
E     File "/app/tests/test_add.py", line 4
E       def test_adds_two_numbers(:
E                                 ^
E   SyntaxError: invalid syntax
=========================== short test summary info ============================
ERROR tests/test_add.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
`,
      "a missing module": `______________________ ERROR collecting tests/test_add.py ______________________
ImportError while importing test module '/app/tests/test_add.py'.
tests/test_add.py:1: in <module>
    from calc import add
E   ModuleNotFoundError: No module named 'calc'
ERROR tests/test_add.py
`,
      "no tests": `collected 0 items

============================ no tests ran in 0.01s =============================
`,
      "a wrong command": `ERROR: usage: python3 -m pytest [options] [file_or_dir] [file_or_dir] [...]
python3 -m pytest: error: unrecognized arguments: --test_adds_two_numbers
`,
      "pytest that is not installed": "/usr/bin/python3: No module named pytest\n",
      "a fixture that is not there": `==================================== ERRORS ====================================
___________________ ERROR at setup of test_adds_two_numbers ____________________
file /app/tests/test_add.py, line 4
E       fixture 'calculator' not found
=========================== short test summary info ============================
ERROR tests/test_add.py::test_adds_two_numbers
`,
      "a test that is not there": `ERROR: not found: /app/tests/test_add.py::test_adds_two_numbers
(no match in any of [<Module test_add.py>])
`,
    },
  },
  unittest: {
    name: "test_adds_two_numbers",
    failed: [
      `F.
======================================================================
FAIL: test_adds_two_numbers (tests.test_add.TestAdd.test_adds_two_numbers)
----------------------------------------------------------------------
AssertionError: -1 != 5

Ran 2 tests in 0.000s

FAILED (failures=1)
`,
      `======================================================================
ERROR: test_adds_two_numbers (tests.test_add.TestAdd.test_adds_two_numbers)
----------------------------------------------------------------------
TypeError: unsupported operand type(s) for -: 'int' and 'NoneType'
`,
    ],
    other: {
      "a missing module": `ERROR: tests.test_adds_two_numbers (unittest.loader._FailedTest.tests.test_adds_two_numbers)
ImportError: Failed to import test module: tests.test_adds_two_numbers
`,
      "no tests": "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n",
    },
  },
  go: {
    name: "TestAddsTwoNumbers",
    failed: [
      `--- FAIL: TestAddsTwoNumbers (0.00s)
    add_test.go:7: add(2, 3) = -1, want 5
FAIL
FAIL	example.com/calc	0.002s
FAIL
`,
      `=== RUN   TestAdd
    --- FAIL: TestAdd/TestAddsTwoNumbers (0.00s)
?   	example.com/calc/cmd	[no test files]
`,
    ],
    other: {
      "a syntax error": `# example.com/calc
add_test.go:5:27: syntax error: unexpected newline, expected TestAddsTwoNumbers
FAIL	example.com/calc [setup failed]
FAIL
`,
      "code that does not compile": `# example.com/calc [example.com/calc.test]
./add_test.go:6:5: undefined: TestAddsTwoNumbers
FAIL	example.com/calc [build failed]
FAIL
`,
      "a missing module": `add_test.go:5:2: no required module provides package example.com/TestAddsTwoNumbers; to add it:
	go get example.com/TestAddsTwoNumbers
FAIL	example.com/calc [setup failed]
`,
      "no packages": 'go: warning: "./TestAddsTwoNumbers/..." matched no packages\nno packages to test\n',
      "a wrong command": "go tst TestAddsTwoNumbers: unknown command\nRun 'go help' for usage.\n",
    },
  },
  cargo: {
    name: "adds_two_numbers",
    failed: [
      `running 2 tests
test adds_two_numbers ... FAILED
test adds_nothing ... ok

failures:

---- adds_two_numbers stdout ----
thread 'adds_two_numbers' panicked at tests/add.rs:5:5:
assertion \`left == right\` failed

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
error: test failed, to rerun pass \`--test add\`
`,
      "test tests::adds_two_numbers - should panic ... FAILED\n",
    ],
    other: {
      "a syntax error": `error: expected one of \`:\` or \`|\`, found \`adds_two_numbers\`
 --> tests/add.rs:4:21
error: could not compile \`calc\` (test "adds_two_numbers") due to 1 previous error
`,
      "a missing module": `error[E0432]: unresolved import \`calc::adds_two_numbers\`
error: could not compile \`calc\` (test "add") due to 1 previous error
`,
      "a wrong command": "error: no such command: `tst`\n\nadds_two_numbers\n",
      "no such test": "error: no test target named `adds_two_numbers` in default-run packages\n",
    },
  },
  jest: {
    name: "adds two numbers",
    failed: [
      ` FAIL  test/add.test.js
  ✕ adds two numbers (3 ms)
  ✓ adds nothing to zero

  ● adds two numbers

    expect(received).toBe(expected) // Object.is equality

Tests:       1 failed, 1 passed, 2 total
`,
      ` FAIL  test/add.test.js
  ● add › adds two numbers

    SyntaxError: Unexpected token 'x', "x" is not valid JSON
`,
    ],
    other: {
      "a syntax error": ` FAIL  test/adds two numbers.test.js
  ● Test suite failed to run

    Jest encountered an unexpected token

    SyntaxError: /app/test/adds two numbers.test.js: Unexpected token (4:1)
`,
      "a missing module": ` FAIL  test/adds two numbers.test.js
  ● Test suite failed to run

    Cannot find module '../sum' from 'test/adds two numbers.test.js'
`,
      "TypeScript that does not compile": ` FAIL  test/adds two numbers.test.ts
  ● Test suite failed to run

    test/adds two numbers.test.ts:4:3 - error TS2304: Cannot find name 'ad'.
`,
      "no tests": `No tests found, exiting with code 1
Run with \`--passWithNoTests\` to exit with code 0
Pattern: adds two numbers - 0 matches
`,
      "a wrong command": `● Unrecognized CLI Parameter:

  Unrecognized option "adds two numbers".
`,
      "another test in a file of that name": ` FAIL  test/adds two numbers.test.js
  ✓ adds two numbers
  ✕ adds nothing to zero (3 ms)
`,
    },
  },
  vitest: {
    name: "adds two numbers",
    failed: [
      ` ❯ test/add.test.ts (2 tests | 1 failed) 5ms
   ✓ adds nothing to zero 1ms
   × adds two numbers 3ms
     → expected -1 to be 5 // Object.is equality

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  test/add.test.ts > adds two numbers
AssertionError: expected -1 to be 5 // Object.is equality
 ❯ test/add.test.ts:5:21
`,
      " FAIL  |unit| test/add.test.ts > add > adds two numbers\n",
      "\u001b[31m   \u001b[31m×\u001b[31m adds two numbers\u001b[39m\u001b[32m 3\u001b[2mms\u001b[22m\u001b[39m\n",
    ],
    other: {
      "a syntax error": `⎯⎯⎯⎯⎯⎯ Failed Suites 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  test/adds two numbers.test.ts [ test/adds two numbers.test.ts ]
Error: Transform failed with 1 error:
/app/test/adds two numbers.test.ts:4:10: ERROR: Unexpected ")"
`,
      "a missing module": ` FAIL  test/adds two numbers.test.ts [ test/adds two numbers.test.ts ]
Error: Failed to resolve import "../sum" from "test/adds two numbers.test.ts". Does the file exist?
`,
      "no tests": "No test files found, exiting with code 1\n\nfilter: adds two numbers\n",
      "a file without tests": ` FAIL  test/adds two numbers.test.ts [ test/adds two numbers.test.ts ]
Error: No test suite found in file /app/test/adds two numbers.test.ts
`,
      "a wrong command": "sh: 1: vitst: not found\n",
      "another test in a file of that name": ` ❯ test/adds two numbers.test.ts (2 tests | 1 failed) 5ms
   × adds nothing to zero 3ms
 ❯ test/adds two numbers.test.ts:9:21
`,
    },
  },
  mocha: {
    name: "adds two numbers",
    failed: [
      `  add
    1) adds two numbers
    ✔ adds nothing to zero

  1 passing (3ms)
  1 failing

  1) add
       adds two numbers:

      AssertionError [ERR_ASSERTION]: -1 == 5
`,
    ],
    other: {
      "a syntax error": `
/app/test/add.test.js:4
it("adds two numbers", () => {{
                               ^
SyntaxError: Unexpected end of input
`,
      "a missing module": `
Error: Cannot find module '../adds two numbers'
Require stack:
- /app/test/add.test.js
`,
      "no tests": 'Error: No test files found: "adds two numbers"\n',
      "a wrong command": 'npm error Missing script: "adds two numbers"\n',
    },
  },
  node: {
    name: "adds two numbers",
    failed: [
      "✖ adds two numbers (0.9ms)\n✔ adds nothing to zero (0.1ms)\n",
      "TAP version 13\n# Subtest: adds two numbers\nnot ok 1 - adds two numbers\n",
    ],
    other: {
      "a syntax error": `/app/test/adds two numbers.test.js:4
SyntaxError: missing ) after argument list
✖ test/adds two numbers.test.js (30ms)
`,
      "a syntax error in a file whose name has a J": `SyntaxError: Unexpected token ')' in Jane.js
✖ adds two numbers (30ms)
`,
      "a missing module": `Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/app/sum.js'
✖ adds two numbers (30ms)
`,
      "no tests": "Could not find '/app/adds two numbers'\n",
    },
  },
  maven: {
    name: "addsTwoNumbers",
    failed: [
      `[INFO] Running com.example.AddTest
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in com.example.AddTest
[ERROR] com.example.AddTest.addsTwoNumbers -- Time elapsed: 0.003 s <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <5> but was: <-1>
[ERROR] Failures: 
[ERROR]   AddTest.addsTwoNumbers:12 expected: <5> but was: <-1>
[INFO] BUILD FAILURE
`,
      "[ERROR] addsTwoNumbers(com.example.AddTest)  Time elapsed: 0.01 s  <<< ERROR!\n",
    ],
    other: {
      "code that does not compile": `[ERROR] COMPILATION ERROR : 
[ERROR] /app/src/test/java/AddTest.java:[8,5] cannot find symbol
[ERROR]   symbol:   method addsTwoNumbers()
`,
      "a missing package": `[ERROR] COMPILATION ERROR : 
[ERROR] /app/src/test/java/AddTest.java:[3,24] package com.example.addsTwoNumbers does not exist
`,
      "no tests":
        '[ERROR] No tests matching pattern "addsTwoNumbers" were executed! (Set -Dsurefire.failIfNoSpecifiedTests=false to ignore this error.)\n',
      "a wrong command": `[ERROR] Unknown lifecycle phase "addsTwoNumbers". You must specify a valid lifecycle phase
`,
      "a class of that name": `[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in com.example.addsTwoNumbers
`,
    },
  },
  gradle: {
    name: "addsTwoNumbers",
    failed: ["AddTest > addsTwoNumbers() FAILED\n    org.opentest4j.AssertionFailedError at AddTest.java:12\n"],
    other: {
      "code that does not compile": `> Task :compileTestJava FAILED
/app/src/test/java/AddTest.java:8: error: cannot find symbol addsTwoNumbers > x FAILED
`,
      "no tests": "> No tests found for given includes: [addsTwoNumbers](--tests filter)\n",
      "a wrong command": "Task 'addsTwoNumbers' not found in root project 'calc'.\n> Task :addsTwoNumbers FAILED\n",
    },
  },
  rspec: {
    name: "adds two numbers",
    failed: ["Failures:\n\n  1) Calc adds two numbers\n     Failure/Error: expect(add(2, 3)).to eq 5\n"],
    other: {
      "a syntax error": `An error occurred while loading ./spec/adds two numbers_spec.rb.
SyntaxError:
  1) adds two numbers
0 examples, 0 failures, 1 error occurred outside of examples
`,
    },
  },
};
