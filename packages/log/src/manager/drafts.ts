// Which lane has what open. While a draft is open, what it touched belongs to its lane (section 4.3 of the design), so the writer refuses
// another lane's write to it.

import { type Chunk, isWord, targetOf, type WriterOrigin } from '@millrace/protocol'
import { LogError } from '../error.ts'

interface Draft {
  readonly origin: WriterOrigin
  readonly targets: Set<string>
  /** Whether the log may hold some of it. */
  isSent: boolean
}

const nameOf = ({ runId, lane, agentId }: WriterOrigin): string => JSON.stringify([runId, lane, agentId])

export class Drafts {
  readonly #owners = new Map<string, Draft>()
  readonly #lanes = new Map<string, Draft>()
  // Most words go where the word before them went.
  #last: { origin: WriterOrigin; type: string; id: unknown } | undefined

  /** Takes a chunk down, or throws where another lane has a draft on what it writes to. */
  touch(origin: WriterOrigin, chunk: Chunk): void {
    const { type, id } = chunk as { type: string; id?: unknown }
    const last = this.#last
    if (last !== undefined && id !== undefined && last.id === id && last.type === type && last.origin === origin) return
    this.#last = undefined
    if (!isWord(chunk)) {
      this.#close(origin, chunk)
      return
    }
    const draft = this.#open(origin)
    const target = targetOf(chunk, origin)
    if (target === undefined) return
    const owner = this.#owners.get(target)
    if (owner !== undefined && owner !== draft) {
      const { lane } = owner.origin
      throw new LogError(
        'refused',
        `chunk ${type}: lane ${lane} has a draft on ${target}, commit or discard that first`,
      )
    }
    draft.targets.add(target)
    this.#owners.set(target, draft)
    this.#last = { origin, type, id }
  }

  #open(origin: WriterOrigin): Draft {
    const name = nameOf(origin)
    const open = this.#lanes.get(name) ?? { origin, targets: new Set(), isSent: false }
    this.#lanes.set(name, open)
    return open
  }

  /** Says that all words so far are on their way. */
  sent(): void {
    for (const draft of this.#lanes.values()) draft.isSent = true
  }

  /** Whether the log may hold words of a lane since its last commit. */
  isSent(origin: WriterOrigin): boolean {
    return this.#lanes.get(nameOf(origin))?.isSent ?? false
  }

  /** Forgets a lane's draft. */
  drop(origin: WriterOrigin): void {
    this.#drop(nameOf(origin))
  }

  #close(origin: WriterOrigin, chunk: Chunk): void {
    if (chunk.type === 'checkpoint-created' || chunk.type === 'step-discarded') this.drop(origin)
    else if (chunk.type === 'subagent-end') {
      for (const [name, draft] of this.#lanes) if (draft.origin.agentId === chunk.agentId) this.#drop(name)
    } else if (chunk.type === 'run-finished') for (const name of this.#lanes.keys()) this.#drop(name)
  }

  #drop(name: string): void {
    for (const target of this.#lanes.get(name)?.targets ?? []) this.#owners.delete(target)
    this.#lanes.delete(name)
    this.#last = undefined
  }
}
