import type { Chunk, Entry, Json } from '@millrace/protocol'

/** Maximum length of an excerpt, in characters. */
const MAX_LENGTH = 160

/** A one-line summary of an entry: the text of a delta, the name of a tool, the status of a run. */
export function excerptOf({ chunk }: Pick<Entry, 'chunk'>): string {
  return line(summaryOf(chunk))
}

/** The beginning of a text, in one line. */
function line(text: string): string {
  // Cut first, so that a long value costs no more than a short one.
  const start = text.slice(0, MAX_LENGTH + 1).replace(/\s+/g, ' ')
  return start.length > MAX_LENGTH ? `${start.slice(0, MAX_LENGTH)}…` : start
}

function summaryOf(chunk: Chunk): string {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return chunk.delta
    case 'message':
      return `${chunk.role}: ${chunk.parts.map(part => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ')}`
    case 'finish':
      return chunk.finishReason ?? ''
    case 'abort':
      return chunk.reason ?? ''
    case 'tool-input-start':
      return chunk.toolName
    case 'tool-input-available':
      return `${chunk.toolName} ${brief(chunk.input)}`
    case 'tool-input-error':
    case 'tool-output-error':
      return chunk.errorText
    case 'tool-approval-request':
      return `${chunk.toolName ?? chunk.toolCallId} ${brief(chunk.input)}`
    case 'tool-approval-response':
      return `${chunk.approved ? 'approved' : 'denied'}${chunk.reason ? `: ${chunk.reason}` : ''}`
    case 'tool-output-available':
      return `${chunk.preliminary ? 'partial ' : ''}${brief(chunk.output)}`
    case 'tool-output-denied':
      return chunk.reason ?? 'denied'
    case 'source-url':
      return chunk.title ?? chunk.url
    case 'source-document':
      return chunk.title ?? chunk.filename ?? chunk.sourceId
    case 'file':
      return `${chunk.filename ?? ''} ${chunk.mediaType}`.trim()
    case 'structured-data':
      return `${chunk.dataType} ${structured(chunk)}`
    case 'state-snapshot':
      return brief(chunk.state)
    case 'state-patch':
      return chunk.patches.map(({ op, path }) => `${op} ${path}`).join(', ')
    case 'output':
      return brief(chunk.output)
    case 'step-start':
      return chunk.attempt === undefined ? '' : `attempt ${chunk.attempt}`
    case 'step-finish':
      return [chunk.finishReason, chunk.usage && brief(chunk.usage as Json)].filter(Boolean).join(' ')
    case 'checkpoint-created':
      return chunk.closesStep ? 'closes the step' : ''
    case 'step-discarded':
      return chunk.reason
    case 'subagent-start':
      return chunk.agentType
    case 'subagent-end':
      return `${chunk.agentType} ${chunk.status}`
    case 'status':
      return chunk.message
    case 'session-info':
      return chunk.title ?? brief(chunk.metadata ?? null)
    case 'transition':
      return chunk.transitionTo
    case 'interrupt':
      return brief(chunk.input as Json)
    case 'interrupt-response':
      return brief(chunk.response)
    case 'hook-completed':
      return `${chunk.hook} ${chunk.hookId}`
    case 'run-requested':
    case 'run-started':
      return chunk.program
    case 'run-paused':
      return `waiting for ${chunk.awaits.map(({ kind }) => kind).join(', ') || (chunk.reason ?? 'an answer')}`
    case 'run-resumed':
      return chunk.mode
    case 'stop-requested':
      return chunk.reason ?? chunk.mode ?? ''
    case 'run-finished':
      return `${chunk.status}${chunk.reason ? `: ${chunk.reason}` : ''}`
    case 'executor-superseded':
      return chunk.reason ?? 'another worker took over the run'
    case 'rewind':
      return `to ${chunk.toSequence}: ${chunk.reason}`
    case 'error':
      return chunk.message
    default:
      return rest(chunk)
  }
}

function structured(chunk: Extract<Chunk, { type: 'structured-data' }>): string {
  if (chunk.kind === 'final') return 'final'
  const { path } = chunk
  if (chunk.kind === 'text-delta') return `${path} + ${chunk.delta}`
  return chunk.kind === 'append' ? `${path} append ${brief(chunk.items)}` : `${path} = ${brief(chunk.value)}`
}

/** The field values of any other chunk. */
function rest({ type, ...fields }: Chunk): string {
  const values = Object.values(fields as { readonly [name: string]: Json })
  return values.map(value => brief(value)).join(' ')
}

/** The beginning of a value as JSON. Reads only as much as is shown. */
function brief(value: Json): string {
  if (typeof value === 'string') return value.slice(0, MAX_LENGTH + 1)
  let room = MAX_LENGTH
  const text = JSON.stringify(value, (_, item: unknown) => {
    if (room-- < 0) return undefined
    return typeof item === 'string' || Array.isArray(item) ? item.slice(0, MAX_LENGTH) : item
  })
  return text ?? ''
}
