import { readList } from "./python-atoms.js";
import type { PythonCursor } from "./python-cursor.js";
import type { PythonNode } from "./python-tree.js";

/** Reads from where the cursor stands: any expression, or one in which a bare `if` is no part. */
interface Read {
  expression(): PythonNode;
  or(): PythonNode;
}

/** What a function is called with, up to the closing parenthesis. Throws `PythonFault`. */
export function readArguments(cursor: PythonCursor, read: Read): PythonNode[] {
  const args = readList(cursor, ")", () => read.expression());
  const [element] = args;
  if (element === undefined || args.length > 1 || !cursor.take("for")) {
    cursor.expect(")");
    return args;
  }
  const variable = cursor.name();
  cursor.expect("in");
  const range = read.or();
  const conditions: PythonNode[] = [];
  while (cursor.take("if")) conditions.push(read.or());
  cursor.expect(")");
  return [{ kind: "each", at: element.at, element, variable, range, conditions }];
}
