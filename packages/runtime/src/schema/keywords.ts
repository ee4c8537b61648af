// The keywords of JSON Schema that contain subschemas.

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
