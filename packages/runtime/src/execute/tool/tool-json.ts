import type { Json } from '@millrace/protocol'
import { ToolError } from '../../error/error.ts'
import { toJson } from '../../schema/json.ts'

/** Converts a value of a tool to JSON; undefined becomes null. @throws {ToolError} if it is not JSON. */
export function toolJson(value: unknown, label: string): Json {
  if (value === undefined) return null
  return toJson(value, cause => {
    const found = cause === undefined ? `, but a ${typeof value}` : ''
    return new ToolError(`${label} is not JSON${found}`, { code: 'tool_output_invalid', cause })
  })
}
