// A run that a test writes, entry by entry, for the tests of replays.

import type { Lane, StreamManager, Writer } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'

export const SESSION = 's'
export const RUN = 'r'
export const OWNER = 'ann'

const KINDS = ['words', 'words', 'words', 'helper', 'helper', 'both', 'items', 'progress', 'secret', 'commit'] as const

/** The entries of a run: deltas of one or of two lanes, alone or mixed with other entries. */
export interface Act {
  readonly kind: (typeof KINDS)[number]
  readonly n: number
}

export const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), n: fc.integer({ min: 1, max: 6 }) }),
  { minLength: 1, maxLength: 12 },
)

export class WrittenRun {
  readonly #manager: StreamManager
  readonly #writer: Writer
  readonly #helper: Lane
  #words = 0

  private constructor(manager: StreamManager, writer: Writer) {
    this.#manager = manager
    this.#writer = writer
    this.#helper = writer.lane({ lane: 'helper', agentId: 'helper', agentType: 'helper' })
  }

  /** Begins the run. The manager must not coalesce. */
  static async begin(manager: StreamManager, agentType = 'echo'): Promise<WrittenRun> {
    const writer = await manager.createWriter(SESSION, { runId: RUN, agentType, principal: OWNER })
    await writer.commit([{ type: 'start' }])
    return new WrittenRun(manager, writer)
  }

  async write({ kind, n }: Act): Promise<void> {
    const { main } = this.#writer
    for (let i = 0; i < n; i++) {
      switch (kind) {
        case 'words':
          await this.#word(main, 'a')
          break
        case 'helper':
          await this.#word(this.#helper, 'b')
          break
        case 'both':
          await (i % 2 ? this.#word(main, 'c') : this.#word(this.#helper, 'd'))
          break
        case 'items': {
          const list = { streamId: 'list', dataType: 'list', kind: 'append', path: 'items' } as const
          await append(main, { type: 'structured-data', ...list, items: [this.#words++] })
          break
        }
        case 'progress':
          await append(main, { type: 'data-progress', data: this.#words++, transient: true })
          break
        case 'secret':
          await main.write({ type: 'data-secret', data: 1 }, { internal: true }).appended
          break
        case 'commit':
          await (i % 2 ? main : this.#helper).commit([])
          break
      }
    }
  }

  /** Writes tokens of one text, as many entries. */
  async tokens(count: number): Promise<void> {
    const { main } = this.#writer
    for (let i = 0; i < count; i++) {
      const { appended } = main.write({ type: 'text-delta', id: 'a', delta: 'ab ' })
      if (i % 100 === 0) await appended
    }
  }

  async end(): Promise<void> {
    await this.#manager.endStream(SESSION)
    await this.#writer.close()
  }

  #word(lane: Lane, id: string): Promise<unknown> {
    return append(lane, { type: 'text-delta', id, delta: `w${this.#words++}. ` })
  }
}

const append = (lane: Lane, chunk: Chunk): Promise<unknown> => lane.write(chunk).appended
