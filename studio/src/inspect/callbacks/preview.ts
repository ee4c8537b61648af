import type { Call } from './calls.ts'

/** How deep, how wide and how long a value may be that is shown whole. */
const MOST_DEEP = 6
const MOST_WIDE = 30
const MOST_LONG = 1000

/** As much of a value as is worth to look at, with what was left out named. */
export function preview(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length > MOST_LONG ? `${value.slice(0, MOST_LONG)}… ${value.length - MOST_LONG} more` : value
  }
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MOST_DEEP) return Array.isArray(value) ? '[…]' : '{…}'
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (Array.isArray(value)) {
    const shown = value.slice(-MOST_WIDE).map(one => preview(one, depth + 1))
    return value.length > MOST_WIDE ? [`… ${value.length - MOST_WIDE} before`, ...shown] : shown
  }
  const fields = Object.entries(value)
  const shown = fields.slice(0, MOST_WIDE).map(([name, one]) => [name, preview(one, depth + 1)] as const)
  if (fields.length > MOST_WIDE) shown.push(['…', `${fields.length - MOST_WIDE} more`])
  return Object.fromEntries(shown)
}

/** What a call is about, in a few words. */
export function gistOf({ kind, name, value }: Call): string {
  const of = Object(value) as { readonly [field: string]: unknown }
  switch (kind === 'callback' ? name : kind) {
    case 'onData':
      return `${of['type']} ${short(of['data'])}`
    case 'onToolCall': {
      const call = Object(of['toolCall']) as { readonly [field: string]: unknown }
      return `${call['toolName']}: ${call['state']}`
    }
    case 'onFinish':
      if (of['isDisconnect']) return 'the stream broke off for good'
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
