import { PhasegateError } from "../../errors.js";
import { normalized } from "./vectors.js";

/** Makes vectors of texts, one for each in their order, all of one length: a model of the host's. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** How many texts are given at once. */
const BATCH = 64;

/**
 * The vectors of texts, at length 1. `size` is the length that they must have, where there are others
 * already. Throws `INTERNAL` for a function that fails or gives anything else.
 */
export async function embedTexts(
  embed: Embed,
  texts: readonly string[],
  size?: number,
): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += BATCH) {
    const batch = texts.slice(from, from + BATCH);
    const given = await called(embed, batch);
    if (given.length !== batch.length) throw failed(`it gave ${given.length} vectors for ${batch.length} texts`);
    vectors.push(...given.map(normalized));
  }
  const wanted = size ?? vectors[0]?.length;
  const other = vectors.find((vector) => vector.length !== wanted || vector.length === 0);
  if (other !== undefined) throw failed(`it gave a vector of ${other.length} numbers beside ones of ${wanted}`);
  if (vectors.some((vector) => !vector.every(Number.isFinite))) throw failed("it gave a number that isn't finite");
  return vectors;
}

async function called(embed: Embed, texts: readonly string[]) {
  try {
    return await embed(texts);
  } catch (error) {
    throw failed("it has thrown", error);
  }
}

function failed(reason: string, cause?: unknown) {
  return new PhasegateError("INTERNAL", `the host's function embed has failed: ${reason}`, {
    remedy: "Mend it: one vector for each text, all of one length. Give another model another name in `model`.",
    details: { cause: "embed" },
    cause,
  });
}
