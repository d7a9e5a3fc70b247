/** The storage of an object in workerd, as the tests call it from outside. */
import type { Answer, Call, Calls } from "./storage-object.js";

type Args<Name extends keyof Calls> = Parameters<Calls[Name]> extends [unknown, ...infer Rest] ? Rest : never;
type Value<Name extends keyof Calls> = Awaited<ReturnType<Calls[Name]>>;

/** A refusal of an object. */
class Refused extends Error {
  readonly code: string;
  readonly remedy: string | undefined;

  constructor({ code, message, remedy }: NonNullable<Answer["error"]>) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

export class RemoteStorage {
  readonly #url: URL;
  readonly #tablePrefix: string | undefined;

  constructor(url: URL, object: string, tablePrefix?: string) {
    this.#url = new URL(`/${object}`, url);
    this.#tablePrefix = tablePrefix;
  }

  /** Calls a method of the object's storage. Rejects with {@link Refused}. */
  async call<Name extends keyof Calls>(name: Name, ...args: Args<Name>): Promise<Value<Name>> {
    return (await this.#ask(name, args)) as Value<Name>;
  }

  sql(text: string): Promise<unknown> {
    return this.#ask("sql", [text]);
  }

  /** Ends the object: the next call starts it anew. */
  async evict(): Promise<void> {
    const answer = await this.#post("abort", []);
    await answer.body?.cancel();
    if (answer.ok) throw new Error("the object has not ended");
  }

  async #ask(name: Call["name"], args: readonly unknown[]): Promise<unknown> {
    const answer = (await (await this.#post(name, args)).json()) as Answer;
    if (answer.error !== undefined) throw new Refused(answer.error);
    return answer.value;
  }

  #post(name: Call["name"], args: readonly unknown[]): Promise<Response> {
    const body = { name, args, ...(this.#tablePrefix === undefined ? {} : { tablePrefix: this.#tablePrefix }) };
    return fetch(this.#url, { method: "POST", body: JSON.stringify(body satisfies Call) });
  }
}
