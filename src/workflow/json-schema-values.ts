/** Checks values by the JSON Schema keywords of certain meaning. A schema with any other accepts nothing here. */
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "./json.js";
import { DESCRIBING, schemasIn, sharedIn } from "./json-schema.js";

/** A text of each format. Those of zod are among them; a text also has to match the schema's pattern. */
export const FORMATS: Readonly<Record<string, string>> = {
  email: "ada@example.org",
  "idn-email": "ada@example.org",
  uri: "https://example.org/page",
  url: "https://example.org/page",
  iri: "https://example.org/page",
  "uri-reference": "https://example.org/page",
  uuid: "3f2b8c1e-9d4a-4f6b-8a7c-1d2e3f4a5b6c",
  guid: "3f2b8c1e-9d4a-4f6b-8a7c-1d2e3f4a5b6c",
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00",
  duration: "P1D",
  hostname: "example.org",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  cidrv4: "192.0.2.0/24",
  cidrv6: "2001:db8::/32",
  mac: "02:00:5e:10:00:00",
  base64: "aGVsbG8=",
  base64url: "aGVsbG8",
  e164: "+12025550123",
  emoji: "🌱",
  cuid: "cjld2cjxh0000qzrmn831i7rn",
  cuid2: "tz4a98xxat96iws9zmbrgj3a",
  ulid: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  nanoid: "V1StGXR8_Z5jdHi6B-myT",
  xid: "9m4e2mr0ui3e8a215n4g",
  ksuid: "0ujtsYcgvSTl8PAuAdqWYSMnLOv",
};

type Check = (value: JsonValue, wanted: JsonValue, schema: JsonObject, root: JsonObject) => boolean;

const asNumber = (value: JsonValue, check: (value: number) => boolean) => typeof value !== "number" || check(value);
const asText = (value: JsonValue, check: (value: string) => boolean) => typeof value !== "string" || check(value);
const asList = (value: JsonValue, check: (value: JsonValue[]) => boolean) => !Array.isArray(value) || check(value);
const asObject = (value: JsonValue, check: (value: JsonObject) => boolean) => !isJsonObject(value) || check(value);
const by = (value: JsonValue, schema: JsonValue | undefined, root: JsonObject) =>
  schema === undefined || schema === true || (isJsonObject(schema) && isAccepted(value, schema, root));

/** The keywords that are checked. A schema with any other keyword accepts nothing here, since nobody could tell. */
const CHECKS: Readonly<Record<string, Check>> = {
  type: (value, wanted) => (Array.isArray(wanted) ? wanted : [wanted]).some((type) => isOf(value, type)),
  const: (value, wanted) => isSame(value, wanted),
  enum: (value, wanted) => listOf(wanted).some((one) => isSame(value, one)),
  $ref: (value, wanted, _, root) => {
    const meant = resolved(String(wanted), root);
    return meant !== undefined && isAccepted(value, meant, root);
  },
  anyOf: (value, wanted, _, root) => listOf(wanted).some((part) => by(value, part, root)),
  oneOf: (value, wanted, _, root) =>
    isCertain(wanted, root) && listOf(wanted).filter((part) => by(value, part, root)).length === 1,
  allOf: (value, wanted, _, root) => listOf(wanted).every((part) => by(value, part, root)),
  not: (value, wanted, _, root) => isCertain(wanted, root) && !by(value, wanted, root),
  minimum: (value, wanted) => asNumber(value, (found) => found >= Number(wanted)),
  maximum: (value, wanted) => asNumber(value, (found) => found <= Number(wanted)),
  exclusiveMinimum: (value, wanted) => asNumber(value, (found) => found > Number(wanted)),
  exclusiveMaximum: (value, wanted) => asNumber(value, (found) => found < Number(wanted)),
  multipleOf: (value, wanted) => asNumber(value, (found) => Number.isInteger(found / Number(wanted))),
  minLength: (value, wanted) => asText(value, (found) => [...found].length >= Number(wanted)),
  maxLength: (value, wanted) => asText(value, (found) => found.length <= Number(wanted)),
  pattern: (value, wanted) => asText(value, (found) => matches(found, String(wanted))),
  format: (value, wanted) => asText(value, (found) => FORMATS[String(wanted)] === found),
  minItems: (value, wanted) => asList(value, (found) => found.length >= Number(wanted)),
  maxItems: (value, wanted) => asList(value, (found) => found.length <= Number(wanted)),
  uniqueItems: (value, wanted) =>
    asList(
      value,
      (found) => wanted !== true || new Set(found.map((item) => JSON.stringify(item))).size === found.length,
    ),
  prefixItems: (value, wanted, _, root) =>
    asList(value, (found) =>
      listOf(wanted).every((part, index) => index >= found.length || by(found[index] ?? null, part, root)),
    ),
  items: (value, wanted, { prefixItems }, root) =>
    asList(value, (found) => found.slice(listOf(prefixItems).length).every((item) => by(item, wanted, root))),
  required: (value, wanted) =>
    asObject(value, (found) => listOf(wanted).every((name) => Object.hasOwn(found, String(name)))),
  properties: (value, wanted, _, root) =>
    asObject(value, (found) => Object.entries(found).every(([name, item]) => by(item, ownValue(wanted, name), root))),
  additionalProperties: (value, wanted, { properties }, root) =>
    asObject(value, (found) =>
      Object.entries(found).every(([name, item]) => ownValue(properties, name) !== undefined || by(item, wanted, root)),
    ),
  propertyNames: (value, wanted, _, root) =>
    asObject(value, (found) => Object.keys(found).every((name) => by(name, wanted, root))),
  minProperties: (value, wanted) => asObject(value, (found) => Object.keys(found).length >= Number(wanted)),
  maxProperties: (value, wanted) => asObject(value, (found) => Object.keys(found).length <= Number(wanted)),
};

export function isAccepted(value: JsonValue, schema: JsonObject, root: JsonObject): boolean {
  return Object.entries(schema).every(([keyword, wanted]) => {
    if (DESCRIBING.has(keyword)) return true;
    return Object.hasOwn(CHECKS, keyword) && CHECKS[keyword]?.(value, wanted, schema, root) === true;
  });
}

/** Checks whether all keywords are known: only then is a schema known to refuse what it does not accept here. */
function isCertain(schema: JsonValue, root: JsonObject): boolean {
  const isKnown = (key: string) => Object.hasOwn(CHECKS, key) || DESCRIBING.has(key);
  const isShared = ({ $ref }: JsonObject) => $ref === undefined || /^#\/(?:\$defs|definitions)\//.test(String($ref));
  return [...schemasIn([schema, ...sharedIn(root)])].every(
    (part) => Object.keys(part).every(isKnown) && isShared(part),
  );
}

function isOf(value: JsonValue, type: JsonValue): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}

export function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The most characters of a text that is tried on an author's pattern, which may take exponential time. */
const TRIED_MAX = 32;

function matches(text: string, pattern: string): boolean {
  if (text.length > TRIED_MAX && !Object.values(FORMATS).includes(text)) return false;
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return false;
  }
}

/** Returns the elements of a list; none for another value. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

export function resolved(reference: string, root: JsonObject): JsonObject | undefined {
  const found = targetOf({ $ref: reference }, root);
  return found?.$ref === undefined ? found : undefined;
}

/** Returns the schema that a schema refers to, which may be a reference too; undefined if it refers to none. */
export function targetOf({ $ref: reference }: JsonObject, root: JsonObject): JsonObject | undefined {
  if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return undefined;
  let found: JsonValue | undefined = root;
  for (const key of reference.slice(1).split("/").slice(1))
    found = ownValue(found, key.replace(/~1/g, "/").replace(/~0/g, "~"));
  return isJsonObject(found) ? found : undefined;
}
