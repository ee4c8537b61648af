// What is kept outside of the log, of every call that was really made and of every append that its writer knows to be in the log: lines in one order, in this
// process or at the end of a file that others write to as well.

import type { LogStore } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'

/** A model call or the execution of a tool, at its start and at its end. */
export interface CallLine {
  readonly kind: 'model' | 'tool'
  readonly phase: 'start' | 'end'
  /** The key that the call carries. */
  readonly key: string
  /** Which try of a model call, counted by the process that makes it; 1 for a tool. */
  readonly attempt: number
  /** All that the call was given, as text. */
  readonly input: string
}

/** A process has taken the log, or knows that an append of its own is in it. */
type HoldLine =
  | { readonly kind: 'claimed'; readonly epoch: string }
  | { readonly kind: 'acked'; readonly first: number; readonly last: number }

/** Somebody has said whether a call may run. */
interface ConsentLine {
  readonly kind: 'consent'
  readonly toolCallId: string
  readonly approved: boolean
}

/** A line, by the process that wrote it. */
export type Line = (CallLine | HoldLine | ConsentLine) & { readonly process: string }

/** Writes a line, at once: what comes after it may be a death. */
export type Note = (line: CallLine | HoldLine | ConsentLine) => void

/** A ledger in the memory of this process; each simulated process notes under its own name. */
export class Ledger {
  readonly lines: Line[] = []

  of(process: string): Note {
    return line => void this.lines.push({ ...line, process })
  }
}

/** A store whose claims and acknowledged appends of a writer are noted, when the process is told of them. */
export function noted(store: LogStore, note: Note): LogStore {
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
    if (result.outcome === 'claimed') note({ kind: 'claimed', epoch: result.epoch })
    return result
  }

  async function append(...call: Parameters<LogStore['append']>): ReturnType<LogStore['append']> {
    const result = await store.append(...call)
    if ('epoch' in call[2] && 'first' in result) note({ kind: 'acked', first: result.first, last: result.last })
    return result
  }
}

/**
 * A store whose guests' consents are noted: when they are in the log, where all processes are in one and nothing comes between; or else before they can be, so that no
 * call runs on what is noted after it.
 */
export function witnessed(store: LogStore, note: Note, when: 'before' | 'after'): LogStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') return append
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

  async function append(...call: Parameters<LogStore['append']>): ReturnType<LogStore['append']> {
    const said = 'epoch' in call[2] ? [] : consentsOf(call[1].body)
    if (when === 'before') for (const line of said) note(line)
    const result = await store.append(...call)
    if (when === 'after' && result.outcome === 'appended') for (const line of said) note(line)
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
