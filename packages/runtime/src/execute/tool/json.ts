import type { Json } from '@millrace/protocol'
import { ToolError } from '../../error/error.ts'
import { toJson } from '../../schema/json.ts'

/** A value as JSON has it; nothing is null. Throws where it is none. */
export function toolJson(value: unknown, what: string): Json {
  if (value === undefined) return null
  return toJson(value, cause => {
    const found = cause === undefined ? ` but a ${typeof value}` : ''
    return new ToolError(`${what} is no JSON${found}`, { code: 'tool_output_invalid', cause })
  })
}
