/** Finds the mistakes in a schema of options that its author has to correct before a session can be started with it. */
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import { checkBySchema, DATA, loadReader, optionMeant, patternsOf, schemaOf, TYPO_MAX, textsIn } from "./options.js";

/** A mistake in a schema of options: where it is, what it is, and what to write instead. */
export interface SchemaFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly hint: string;
}

/** The keywords of JSON Schema: one that is misspelt would drop a condition silently. */
const KEYWORDS =
  `type properties required additionalProperties items enum const default description title examples minimum maximum
  exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems uniqueItems prefixItems
  contains minContains maxContains minProperties maxProperties patternProperties propertyNames anyOf oneOf allOf not if then
  else nullable readOnly deprecated definitions $ref $defs $id $schema $comment`.split(/\s+/);

const SCHEMA_HINT = 'Write {"type": "object", "properties": {"depth": {"type": "integer", "default": 2}}}, say.';

/** Returns the mistakes in a schema of options. */
export async function schemaFaults(schema: JsonObject): Promise<readonly SchemaFault[]> {
  const fault = (path: SchemaFault["path"], message: string, hint: string): SchemaFault => ({ path, message, hint });
  if ((schema.type !== undefined && schema.type !== "object") || !isJsonObject(schema.properties)) {
    return [fault([], "the schema of the options must describe an object and its properties", SCHEMA_HINT)];
  }
  const found: SchemaFault[] = misspelt(schema, []);
  for (const [name, property] of Object.entries(schema.properties)) {
    const path = ["properties", name];
    if (!isJsonObject(property)) found.push(fault(path, `${shown(name)} must be a schema in braces`, SCHEMA_HINT));
    else found.push(...misspelt(property, path), ...(await propertyFaults(name, property, schema)));
  }
  const names = Object.keys(schema.properties);
  for (const name of textsIn(schema.required).filter((required) => !names.includes(required))) {
    const meant = optionMeant(name, names);
    const hint = meant === undefined ? `Describe it in "properties".` : `Did you mean ${shown(meant)}?`;
    found.push(fault(["required"], `the required option ${shown(name)} is not among the properties`, hint));
  }
  // Names that are required of all options have been looked at.
  found.push(...dropped({ type: "object", ...schema, required: [] }, []), ...(await patternFaults(schema)));
  if (found.length > 0) return found;
  const unread = await readFault(schema);
  return unread === undefined ? [] : [fault([], `the schema can't be used: ${unread}`, "Write it more simply.")];
}

function misspelt(schema: JsonObject, path: readonly string[]): SchemaFault[] {
  return Object.keys(schema).flatMap((key) => {
    const meant = KEYWORDS.includes(key) || key.startsWith("x-") ? undefined : nearest(key, KEYWORDS, TYPO_MAX);
    if (meant === undefined) return [];
    return [
      { path: [...path, key], message: `${shown(key)} has no meaning here`, hint: `Did you mean ${shown(meant)}?` },
    ];
  });
}

/** The type that each condition is for. zod's reader drops those of a schema without a type, and those beside `enum`. */
const TYPE_OF: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
    string: ["minLength", "maxLength", "format"],
    array: ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"],
    object: ["properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"],
  }).flatMap(([type, keys]) => keys.map((key) => [key, type])),
);

/** Keys whose members are schemas, by names of the author's. */
const NAMED = ["properties", "$defs", "definitions"];

/** Keys that take the place of all conditions beside them. */
const WHOLE = ["$ref", "enum", "const"];

/** Returns the conditions that zod's reader would drop silently. */
function dropped(schema: JsonValue, path: SchemaFault["path"]): SchemaFault[] {
  if (Array.isArray(schema)) return schema.flatMap((item, index) => dropped(item, [...path, index]));
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (DATA.has(key)) return [];
    const at = [...path, key];
    const isNamed = NAMED.includes(key) && isJsonObject(value);
    const below = isNamed
      ? Object.entries(value).flatMap(([name, part]) => dropped(part, [...at, name]))
      : dropped(value, at);
    const fault = dropFault(schema, key);
    return fault === undefined ? below : [{ path: at, ...fault }, ...below];
  });
}

function dropFault(schema: JsonObject, key: string): Omit<SchemaFault, "path"> | undefined {
  const type = Object.hasOwn(TYPE_OF, key) ? TYPE_OF[key] : undefined;
  if (type === undefined) return undefined;
  const whole = WHOLE.find((name) => Object.hasOwn(schema, name));
  if (whole !== undefined) {
    return { message: `${shown(key)} has no effect beside ${shown(whole)}`, hint: "Write both in an allOf." };
  }
  if (schema.type === undefined) {
    const hint = `Write "type": ${JSON.stringify(type)} beside it.`;
    return { message: `${shown(key)} has no effect in a schema without a type`, hint };
  }
  if (key !== "required") return undefined;
  const { properties, required } = schema;
  const unknown = textsIn(required).find((name) => !isJsonObject(properties) || !Object.hasOwn(properties, name));
  if (unknown === undefined) return undefined;
  const message = `"required" names ${shown(unknown)}, which this schema does not describe`;
  return { message, hint: 'Describe it in "properties" beside it: {} if any value will do.' };
}

async function readFault(schema: JsonObject): Promise<string | undefined> {
  const read = await loadReader();
  try {
    schemaOf(read, schema);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function propertyFaults(name: string, property: JsonObject, whole: JsonObject): Promise<SchemaFault[]> {
  const path = ["properties", name];
  // `$schema` says which of the two has the definitions.
  const entries = Object.entries(whole).filter(([key]) => ["$schema", "$defs", "definitions"].includes(key));
  const shared = Object.fromEntries(entries);
  const hint = "Write one of JSON Schema's types: string, number, integer, boolean, array, object or null.";
  const { type } = property;
  const types = [type ?? null].flat();
  if (type !== undefined && (types.length === 0 || textsIn(types).length < types.length)) {
    return [{ path: [...path, "type"], message: `the type of ${shown(name)} is not one`, hint }];
  }
  const wrong = await readFault({ ...shared, properties: { value: property } });
  if (wrong !== undefined) return [{ path, message: `${shown(name)}: ${wrong}`, hint }];
  const { default: standard, ...rest } = property;
  if (standard === undefined) return [];
  const checked = await checkBySchema({ ...shared, properties: { default: rest } }, { default: standard });
  if (checked.ok) return [];
  const message = `the default of ${shown(name)} does not fit its schema: ${checked.problems.join("; ")}`;
  return [{ path: [...path, "default"], message, hint: "Correct the default, or the type." }];
}

function countPatterns(schema: JsonValue): number {
  if (Array.isArray(schema)) return schema.reduce((sum: number, item) => sum + countPatterns(item), 0);
  if (!isJsonObject(schema)) return 0;
  const entries = Object.entries(schema).filter(([key]) => !DATA.has(key));
  const isPattern = (key: string, value: JsonValue) => key === "pattern" && typeof value === "string";
  const own = entries.filter(([key, value]) => key === "patternProperties" || isPattern(key, value));
  return entries.reduce((sum, [, value]) => sum + countPatterns(value), own.length);
}

async function patternFaults(schema: JsonObject): Promise<SchemaFault[]> {
  const found = await patternsOf(schema);
  const bad = found.flatMap(({ pattern, fault }) => {
    if (fault === undefined) return [];
    const message = `the pattern ${shown(pattern)} is invalid, or can't be matched in linear time: ${fault}`;
    return [{ path: ["properties"], message, hint: "Use RE2 syntax: it has no backreferences and no lookaround." }];
  });
  if (countPatterns(schema) === found.length) return bad;
  const message = "a pattern can only be used directly in a property or in the items of a list";
  return [...bad, { path: ["properties"], message, hint: "Move the pattern there, or leave it out." }];
}
