import type { Call } from './calls.ts'

/** Maximum depth, number of fields or items, and text length of a preview. */
const MAX_DEPTH = 6
const MAX_FIELDS = 30
const MAX_TEXT = 1000

/** A truncated copy of a value that says how much is missing. */
export function preview(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}… ${value.length - MAX_TEXT} more` : value
  }
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '[…]' : '{…}'
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (Array.isArray(value)) {
    const previews = value.slice(-MAX_FIELDS).map(item => preview(item, depth + 1))
    return value.length > MAX_FIELDS ? [`… ${value.length - MAX_FIELDS} before`, ...previews] : previews
  }
  const fields = Object.entries(value)
  const previews = fields.slice(0, MAX_FIELDS).map(([name, field]) => [name, preview(field, depth + 1)] as const)
  if (fields.length > MAX_FIELDS) previews.push(['…', `${fields.length - MAX_FIELDS} more`])
  return Object.fromEntries(previews)
}

/** A one-line summary of a call. */
export function excerptOf({ kind, name, value }: Call): string {
  const fields = Object(value) as { readonly [field: string]: unknown }
  switch (kind === 'callback' ? name : kind) {
    case 'onData':
      return `${fields['type']} ${short(fields['data'])}`
    case 'onToolCall': {
      const call = Object(fields['toolCall']) as { readonly [field: string]: unknown }
      return `${call['toolName']}: ${call['state']}`
    }
    case 'onFinish':
      if (fields['isDisconnect']) return 'disconnected'
      if (fields['isError']) return 'failed'
      return fields['isAbort'] ? 'stopped' : `${fields['finishReason'] ?? 'ended'}`
    case 'onError':
      return `${fields['code']}: ${fields['message']}`
    case 'chat': {
      const { message } = Object(fields['error']) as { readonly message?: unknown }
      return message === undefined ? (fields['runId'] === undefined ? '' : `run ${fields['runId']}`) : `${message}`
    }
    default:
      return String(value)
  }
}

const short = (value: unknown): string => {
  const text = JSON.stringify(preview(value)) ?? ''
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
