import { PhasegateError } from "../errors.js";
/** Vectors of one length, kept at length 1, so that their product says how like their texts are. */
export class Vectors {
  private readonly byId = new Map<string, Float32Array>();

  add(id: string, vector: Float32Array): void {
    this.byId.set(id, vector);
  }

  remove(id: string): void {
    this.byId.delete(id);
  }

  get(id: string): Float32Array | undefined {
    return this.byId.get(id);
  }

  /** How like a vector is to that of an id, from 0 to 1; 0 for an id that has none. */
  likeness(id: string, vector: Float32Array): number {
    const own = this.byId.get(id);
    if (own === undefined) return 0;
    let sum = 0;
    for (let index = 0; index < vector.length; index += 1) sum += (own[index] ?? 0) * (vector[index] ?? 0);
    return Math.max(0, sum);
  }
}

/** A vector at length 1; one of zeros stays as it is. */
function normalized(vector: readonly number[]): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}

/** Vectors of one length, as base64 of their bytes. */
export function encodeVectors(vectors: readonly Float32Array[]): string {
  return Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  ).toString("base64");
}

/** So many vectors out of {@link encodeVectors}. */
export function decodeVectors(text: string, count: number): readonly Float32Array[] {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  const all = new Float32Array(bytes.buffer, 0, Math.floor(bytes.byteLength / Float32Array.BYTES_PER_ELEMENT));
  const size = count === 0 ? 0 : Math.floor(all.length / count);
  return Array.from({ length: count }, (_, index) => all.slice(index * size, (index + 1) * size));
}

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
