interface Placed {
  /** Where it begins, in characters from the start of the text. */
  readonly at: number;
}

/** An expression of the part of Python that is read. */
export type PythonNode = Placed &
  (
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "constant"; readonly value: string | number | bigint | boolean | null }
    | { readonly kind: "list"; readonly items: readonly PythonNode[] }
    | { readonly kind: "dict"; readonly entries: readonly (readonly [PythonNode, PythonNode])[] }
    | { readonly kind: "attribute"; readonly of: PythonNode; readonly name: string }
    | { readonly kind: "subscript"; readonly of: PythonNode; readonly key: PythonNode }
    | { readonly kind: "call"; readonly callee: PythonNode; readonly args: readonly PythonNode[] }
    | { readonly kind: "not" | "minus"; readonly of: PythonNode }
    | { readonly kind: "arithmetic"; readonly sign: string; readonly left: PythonNode; readonly right: PythonNode }
    | { readonly kind: "compare"; readonly first: PythonNode; readonly rest: readonly Comparison[] }
    | { readonly kind: "and" | "or"; readonly items: readonly PythonNode[] }
    | { readonly kind: "choice"; readonly test: PythonNode; readonly yes: PythonNode; readonly no: PythonNode }
    | {
        /** `element for variable in range if condition`, inside of `all(…)` or `any(…)`. */
        readonly kind: "each";
        readonly element: PythonNode;
        readonly variable: string;
        readonly range: PythonNode;
        readonly conditions: readonly PythonNode[];
      }
  );

/** One step of a comparison, which may go on: `0 < x <= 10`. */
export interface Comparison {
  readonly sign: "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in" | "is" | "is not";
  readonly right: PythonNode;
}

/** `lambda x, p: …`. */
export interface PythonLambda {
  readonly parameters: readonly string[];
  readonly body: PythonNode;
}

/** What a part is called where it has no twin. */
export function nameOf(node: PythonNode): string {
  switch (node.kind) {
    case "name":
      return node.name;
    case "attribute":
      return `.${node.name}`;
    case "each":
      return "for … in";
    case "dict":
      return "a dict";
    default:
      return "this";
  }
}
