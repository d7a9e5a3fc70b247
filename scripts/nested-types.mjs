/**
 * Finds the types of public signatures that no entry point exports, so that `typedoc` has a page with them. A program names them
 * through what has them, such as `AnswerOf<Session, "pause">`.
 */
import { writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import ts from "typescript";

const ABOUT =
  'The types that others have in them. No entry point exports them: name one through what has it, such as `AnswerOf<Session, "pause">`.';

/** @param {readonly string[]} entries the files of the entry points; @param {string} target the file to write */
export function writeNestedTypes(entries, target) {
  const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: entries }, ts.sys, ".");
  const program = ts.createProgram([...entries], options);
  const checker = program.getTypeChecker();
  const sources = resolve("src");
  const exported = new Set();
  for (const entry of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(entry));
    for (const symbol of checker.getExportsOfModule(module)) exported.add(aliased(symbol));
  }
  const nested = new Set();
  for (const symbol of exported) symbol.declarations?.forEach(visitSignature);

  function aliased(symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  }

  /** Visits the types that a reader of a declaration sees: no bodies, and nothing that is private. */
  function visitSignature(node) {
    if (ts.isBlock(node) || (ts.isVariableDeclaration(node) && node.type === undefined)) return;
    if (node.name !== undefined && ts.isPrivateIdentifier(node.name)) return;
    if (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) return;
    if (ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal")) return;
    const name = ts.isTypeReferenceNode(node) ? node.typeName : undefined;
    const found = checker.getSymbolAtLocation(
      name ?? (ts.isExpressionWithTypeArguments(node) ? node.expression : node),
    );
    if (found !== undefined) add(aliased(found));
    ts.forEachChild(node, visitSignature);
  }

  function add(symbol) {
    const [declaration] = symbol.declarations ?? [];
    if (declaration === undefined || exported.has(symbol) || nested.has(symbol)) return;
    if (!ts.isInterfaceDeclaration(declaration) && !ts.isTypeAliasDeclaration(declaration)) return;
    const file = declaration.getSourceFile();
    if (!resolve(file.fileName).startsWith(sources)) return;
    if (!(ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export)) return;
    nested.add(symbol);
    visitSignature(declaration);
  }

  const lines = [...nested].map((symbol) => {
    const file = symbol.declarations[0].getSourceFile().fileName;
    return `export type { ${symbol.name} } from "${relative(dirname(target), file)}";`;
  });
  writeFileSync(target, `/** ${ABOUT} @packageDocumentation */\n${lines.sort().join("\n")}\n`);
}
