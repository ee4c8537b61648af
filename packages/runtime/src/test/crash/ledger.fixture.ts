// Records outside of the log every executed call and every acknowledged append, in one order: in memory, or in a file
// that several processes append to.

import type { LogStore } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'

/** The start or the end of a model call or a tool execution. */
export interface CallLine {
  readonly kind: 'model' | 'tool'
  readonly phase: 'start' | 'end'
  /** The idempotency key of the call. */
  readonly key: string
  /** Number of the attempt of a model call in this process; 1 for a tool. */
  readonly attempt: number
  /** The arguments of the call as text. */
  readonly input: string
}

/** A process has claimed the log, or got the acknowledgement of an append. */
type ClaimLine =
  | { readonly kind: 'claimed'; readonly epoch: string }
  | { readonly kind: 'acked'; readonly first: number; readonly last: number }

/** A decision on an approval. */
interface ConsentLine {
  readonly kind: 'consent'
  readonly toolCallId: string
  readonly approved: boolean
}

/** A line with the process that wrote it. */
export type Line = (CallLine | ClaimLine | ConsentLine) & { readonly process: string }

/** Writes a line synchronously, because the process may die next. */
export type WriteLine = (line: CallLine | ClaimLine | ConsentLine) => void

/** A ledger in memory. Each simulated process writes under its own name. */
export class Ledger {
  readonly lines: Line[] = []

  of(process: string): WriteLine {
    return line => void this.lines.push({ ...line, process })
  }
}

/** A store that records the claims and acknowledged appends of a writer. */
export function recordAppends(store: LogStore, writeLine: WriteLine): LogStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'claim') return claim
      if (name === 'append') return append
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

  async function claim(...call: Parameters<LogStore['claim']>): ReturnType<LogStore['claim']> {
    const result = await store.claim(...call)
    if (result.outcome === 'claimed') writeLine({ kind: 'claimed', epoch: result.epoch })
    return result
  }

  async function append(...call: Parameters<LogStore['append']>): ReturnType<LogStore['append']> {
    const result = await store.append(...call)
    if ('epoch' in call[2] && 'first' in result) writeLine({ kind: 'acked', first: result.first, last: result.last })
    return result
  }
}

/**
 * A store that records guests' approvals: after the append if all processes are simulated in this one, or else before
 * it, so that no call runs before its approval is recorded.
 */
export function recordApprovals(store: LogStore, writeLine: WriteLine, when: 'before' | 'after'): LogStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') return append
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

  async function append(...call: Parameters<LogStore['append']>): ReturnType<LogStore['append']> {
    const consents = 'epoch' in call[2] ? [] : consentsOf(call[1].body)
    if (when === 'before') for (const line of consents) writeLine(line)
    const result = await store.append(...call)
    if (when === 'after' && result.outcome === 'appended') for (const line of consents) writeLine(line)
    return result
  }
}

function consentsOf(body: string): ConsentLine[] {
  const entries = JSON.parse(body) as { chunk: Chunk }[]
  return entries.flatMap(({ chunk }) => {
    if (chunk.type !== 'tool-approval-response') return []
    const { toolCallId, approved } = chunk
    return [{ kind: 'consent', toolCallId, approved } as const]
  })
}
