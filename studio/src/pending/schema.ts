/** A form field, derived from a JSON Schema. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'json'
  readonly isRequired: boolean
  readonly options: readonly string[]
  readonly hint: string | undefined
  /** The `type` of its `<input>`. */
  readonly type: string
}

type Schema = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null

/** The fields of a flat object; undefined for a schema of anything else. */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  if (!isObject(schema) || !isObject(schema['properties'])) return undefined
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(schema['properties']).map(([name, property]) => {
    const about = isObject(property) ? property : {}
    const options = Array.isArray(about['enum']) ? about['enum'].map(String) : []
    const kind = options.length > 0 ? 'choice' : (KINDS[String(about['type'])] ?? 'json')
    return {
      name,
      label: String(about['title'] ?? name),
      kind,
      isRequired: required.includes(name),
      options,
      hint: typeof about['description'] === 'string' ? about['description'] : undefined,
      type: kind === 'number' ? 'number' : (TYPES[String(about['format'])] ?? 'text'),
    }
  })
}

const KINDS: { readonly [type: string]: Field['kind'] } = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
}
const TYPES: { readonly [format: string]: string } = { email: 'email', date: 'date', uri: 'url', time: 'time' }

/** Converts form data to the types of the schema. The server validates the result. */
export function valuesOf(fields: readonly Field[], form: FormData): { readonly [name: string]: unknown } {
  const entries = fields.flatMap(({ name, kind, isRequired }) => {
    const text = form.get(name)
    if (kind === 'boolean') return [[name, text !== null]]
    if (typeof text !== 'string' || (text === '' && !isRequired)) return []
    return [[name, kind === 'number' ? Number(text) : kind === 'json' ? parseJsonOrText(text) : text]]
  })
  return Object.fromEntries(entries)
}

/** Parses JSON. Returns the text itself if it is not JSON. */
export function parseJsonOrText(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
