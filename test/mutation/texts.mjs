/**
 * A plugin of Stryker: leaves texts for people and agents as they are. A literal is such a text if it has a space in it.
 * Emptying it changes no decision, and a test that compares each message word for word would only repeat the source.
 */
/** True for what a text is put together from: names, their properties and calls with them, but nothing that decides. */
function isPlain(node) {
  switch (node.type) {
    case "Identifier":
    case "NumericLiteral":
      return true;
    case "MemberExpression":
      return isPlain(node.object) && (!node.computed || isPlain(node.property));
    case "CallExpression":
      return isPlain(node.callee) && node.arguments.every(isPlain);
    default:
      return false;
  }
}

function isText(node) {
  if (node.type === "StringLiteral") return node.value.includes(" ");
  if (node.type !== "TemplateLiteral") return false;
  return node.quasis.some(({ value }) => value.raw.includes(" ")) && node.expressions.every(isPlain);
}

export const strykerPlugins = [
  { kind: "Ignore", name: "texts", value: { shouldIgnore: ({ node }) => (isText(node) ? "a text" : undefined) } },
];
