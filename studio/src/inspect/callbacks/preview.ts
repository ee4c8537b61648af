import type { Call } from './calls.ts'

/** Maximum depth, number of fields and text length of a preview. */
const MAX_DEEP = 6
const MAX_WIDE = 30
const MAX_LONG = 1000

/** A truncated copy of a value that says how much is missing. */
export function preview(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length > MAX_LONG ? `${value.slice(0, MAX_LONG)}… ${value.length - MAX_LONG} more` : value
  }
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEEP) return Array.isArray(value) ? '[…]' : '{…}'
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (Array.isArray(value)) {
    const shown = value.slice(-MAX_WIDE).map(one => preview(one, depth + 1))
    return value.length > MAX_WIDE ? [`… ${value.length - MAX_WIDE} before`, ...shown] : shown
  }
  const fields = Object.entries(value)
  const shown = fields.slice(0, MAX_WIDE).map(([name, one]) => [name, preview(one, depth + 1)] as const)
  if (fields.length > MAX_WIDE) shown.push(['…', `${fields.length - MAX_WIDE} more`])
  return Object.fromEntries(shown)
}

/** A one-line summary of a call. */
export function excerptOf({ kind, name, value }: Call): string {
  const of = Object(value) as { readonly [field: string]: unknown }
  switch (kind === 'callback' ? name : kind) {
    case 'onData':
      return `${of['type']} ${short(of['data'])}`
    case 'onToolCall': {
      const call = Object(of['toolCall']) as { readonly [field: string]: unknown }
      return `${call['toolName']}: ${call['state']}`
    }
    case 'onFinish':
      if (of['isDisconnect']) return 'disconnected'
      if (of['isError']) return 'failed'
      return of['isAbort'] ? 'stopped' : `${of['finishReason'] ?? 'ended'}`
    case 'onError':
      return `${of['code']}: ${of['message']}`
    case 'chat': {
      const { message } = Object(of['error']) as { readonly message?: unknown }
      return message === undefined ? (of['runId'] === undefined ? '' : `run ${of['runId']}`) : `${message}`
    }
    default:
      return String(value)
  }
}

const short = (value: unknown): string => {
  const text = JSON.stringify(preview(value)) ?? ''
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
