// The keywords of JSON Schema that contain subschemas or values to compare with.

export type Keywords = ReadonlySet<string>

/** Keywords whose value is a schema. */
export const SUBSCHEMA_KEYWORDS: Keywords = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])
/** Keywords whose value is an array of schemas. */
export const SUBSCHEMA_LIST_KEYWORDS: Keywords = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'])
/** Keywords whose value is an object of schemas by name. */
export const SUBSCHEMA_MAP_KEYWORDS: Keywords = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'properties',
])

/** Keywords whose value is any JSON, with which the checked value is compared. */
export const VALUE_KEYWORDS: Keywords = new Set(['const', 'enum'])
/** Keywords whose value is a number, a text or an array of texts, with which the checked value is compared. */
export const COMPARED_KEYWORDS: Keywords = new Set([
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxContains',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minContains',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'required',
  'type',
])
