import { PythonFault, type PythonToken, pythonTokens } from "./python-tokens.js";

/** Words of Python, which are no names. */
export const WORDS = new Set(
  "and or not in is if else for lambda await async yield from import def class return None True False".split(" "),
);

/** Goes through the tokens of a Python expression, from the first one on. */
export class PythonCursor {
  private readonly tokens: readonly PythonToken[];
  private position = 0;

  /** Throws `PythonFault` for a text that is not made of tokens. */
  constructor(text: string) {
    this.tokens = pythonTokens(text);
  }

  /** The token before the next one. */
  get last(): PythonToken | undefined {
    return this.tokens[this.position - 1];
  }

  /** Steps over the next token, whatever it is. */
  step(): void {
    this.position += 1;
  }

  /** Steps over the end. Throws `PythonFault` for anything else. */
  end(): void {
    if (this.token.kind !== "end") throw this.fault();
  }

  /** Steps over a name that is no word of the language. Throws `PythonFault`. */
  name(): string {
    const { kind, text } = this.token;
    if (kind !== "name" || WORDS.has(text)) throw this.fault();
    this.step();
    return text;
  }

  /** The token that comes next. */
  get token(): PythonToken {
    return this.tokens[this.position] ?? END;
  }

  /** Whether a word or sign comes next. */
  at(text: string): boolean {
    return this.token.text === text && (this.token.kind === "name" || this.token.kind === "sign");
  }

  /** Steps over a word or sign, where it comes next. */
  take(text: string): boolean {
    if (!this.at(text)) return false;
    this.step();
    return true;
  }

  takeAny(texts: readonly string[]): string | undefined {
    return texts.find((text) => this.take(text));
  }

  /** Steps over a word or sign that must come next. Throws `PythonFault`. */
  expect(text: string): void {
    if (!this.take(text)) throw this.fault();
  }

  /** That what comes next can't be read here. */
  fault(): PythonFault {
    const { kind, text, at } = this.token;
    return new PythonFault(at, kind === "end" ? "what is missing at its end" : text);
  }
}

const END: PythonToken = { kind: "end", text: "the end", at: 0 };
