// Where a JSON Schema holds others.

export type Keywords = ReadonlySet<string>

/** Those that hold a schema. */
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
/** Those that hold a list of schemas. */
export const SUBSCHEMA_LIST_KEYWORDS: Keywords = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'])
/** Those that hold schemas by names of their own. */
export const SUBSCHEMA_MAP_KEYWORDS: Keywords = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'properties',
])
