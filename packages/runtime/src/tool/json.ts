import type { Json } from '@millrace/protocol'
import { ToolError } from '../error/error.ts'

/** A value as JSON has it; nothing is null. Throws where it is none. */
export function jsonOf(value: unknown, what: string): Json {
  if (value === undefined) return null
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new ToolError(`${what} is no JSON`, { code: 'tool_output_invalid', cause })
  }
  if (text === undefined)
    throw new ToolError(`${what} is no JSON but a ${typeof value}`, { code: 'tool_output_invalid' })
  return JSON.parse(text) as Json
}
