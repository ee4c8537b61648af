// What is kept outside of the log, of every call that was really made and of every append that its writer knows to be in the log: lines in one order, in this
// process or at the end of a file that others write to as well.

import type { LogStore } from '@millrace/log'

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

/** A line, by the process that wrote it. */
export type Line = (CallLine | HoldLine) & { readonly process: string }

/** Writes a line, at once: what comes after it may be a death. */
export type Note = (line: CallLine | HoldLine) => void

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
