// A random session: actions in any order that the manager accepts, and clients that follow it meanwhile.

import { LogError, type StreamManager, type Writer } from '@millrace/log'
import fc from 'fast-check'
import { delta, ID } from './stream-server.fixture.ts'

const KINDS = [
  'word',
  'word',
  'word',
  'helper',
  'transient',
  'secret',
  'context',
  'commit',
  'commit',
  'discard',
  'state',
  'pause',
  'end',
  'cut',
] as const

export interface RandomAction {
  readonly kind: (typeof KINDS)[number]
  readonly n: number
}

export const randomActions: fc.Arbitrary<RandomAction> = fc.record({ kind: fc.constantFrom(...KINDS), n: fc.nat(11) })

/** Performs random actions on a log. Actions that do not fit the current state are skipped. */
export class RandomSession {
  readonly #manager: StreamManager
  #writer: Writer | undefined
  #runs = 0
  #words = 0

  constructor(manager: StreamManager) {
    this.#manager = manager
  }

  async perform(action: RandomAction): Promise<void> {
    try {
      await this.#perform(action)
    } catch (error) {
      if (!(error instanceof LogError) || (error.code !== 'refused' && error.code !== 'invalid')) throw error
    }
  }

  /** Releases the log. */
  async releaseLog(): Promise<void> {
    await this.#writer?.close()
    this.#writer = undefined
  }

  async #perform({ kind, n }: RandomAction): Promise<void> {
    const manager = this.#manager
    if (kind === 'cut') return this.#cut(n)
    if (kind === 'context') {
      const runRequest = {
        type: 'run-requested',
        runId: `q${n}`,
        program: 'agent:assistant@1',
        whenBusy: 'queue',
      } as const
      await manager.append(ID, 'ada', runRequest, { context: { secret: n } })
      return
    }
    const writer = await this.#currentWriter()
    const lane = n % 3 === 0 ? writer.lane({ lane: 'tool' }) : writer.main
    switch (kind) {
      case 'word':
        // Long enough that a few of them fill a connection.
        await lane.write(delta(`${this.#words++} ${'x'.repeat(n * 40)}`, `${lane.origin.lane}${n % 2}`)).appended
        return
      case 'helper': {
        const helper = writer.lane({ lane: `helper${n}`, agentId: `helper${n}`, agentType: 'helper' })
        if (n % 2) await helper.write(delta(`${this.#words++}`, 'h')).appended
        else await helper.commit([{ type: 'subagent-start', agentId: `helper${n}`, agentType: 'helper' } as never])
        return
      }
      case 'transient':
        await lane.write({ type: 'data-progress', data: this.#words++, transient: true }).appended
        return
      case 'secret':
        await lane.write({ type: 'data-secret', data: 'secret' }, { internal: true }).appended
        return
      case 'commit':
        await lane.commit([], { step: n % 3, closesStep: n % 2 === 0 })
        return
      case 'discard':
        await lane.discard({ reason: 'retry' })
        return
      case 'state':
        await lane.commit([
          { type: 'state-snapshot', state: { n } },
          { type: 'output', output: n },
        ])
        return
      case 'pause':
        await manager.pauseStream(ID)
        if (n % 2) await manager.resumeStream(ID)
        else await this.releaseLog()
        return
      case 'end':
        await manager.endStream(ID, n)
        await this.releaseLog()
        return
      default:
    }
  }

  /** The writer of the open run, of the first queued request, or of a new run. */
  async #currentWriter(): Promise<Writer> {
    if (this.#writer && !this.#writer.signal.aborted && this.#writer.ticket.run) return this.#writer
    await this.releaseLog()
    const { run, requests } = (await this.#manager.getInfo(ID))?.ticket ?? { run: null, requests: [] }
    const runId = run?.runId ?? requests[0]?.runId ?? `r${++this.#runs}`
    this.#writer = await this.#manager.createWriter(ID, { runId, agentType: 'assistant' })
    await this.#writer.commit([])
    return this.#writer
  }

  /** Requests a rewind to a position where a run started or committed. */
  async #cut(n: number): Promise<void> {
    const { head = 0 } = (await this.#manager.getInfo(ID)) ?? {}
    const from = Math.floor((n / 12) * head)
    const runId = `cut${++this.#runs}`
    for (let toSequence = from; toSequence >= 0 && toSequence > from - 8; toSequence--) {
      const cut = { toSequence, reason: 'edit' }
      const runRequest = { type: 'run-requested', runId, program: 'agent:assistant@1', cut } as const
      const done = await this.#manager.append(ID, 'ada', runRequest)
      if (done.outcome !== 'refused' || done.reason !== 'gone') return
    }
  }
}
