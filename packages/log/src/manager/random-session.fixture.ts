// Random sessions: any order of text, commits, discards, answers, ends and rewinds that a manager accepts.

import type { Chunk } from '@millrace/protocol'
import fc from 'fast-check'
import { LogError } from '../store/log-error.ts'
import type { Writer } from '../write/writer.ts'
import { approve, ask, delta, request } from './manager-world.fixture.ts'
import type { StreamManager } from './stream-manager.ts'

const KINDS = [
  'draft-chunk',
  'draft-chunk',
  'draft-chunk',
  'tool',
  'structured',
  'commit',
  'commit',
  'discard',
  'ask',
  'answer',
  'notify',
  'state',
  'pause',
  'stop',
  'end',
  'fail',
  'crash',
  'queue',
  'cut',
  'snapshot',
] as const

export interface SessionAction {
  readonly kind: (typeof KINDS)[number]
  readonly n: number
}

export const sessionActions: fc.Arbitrary<SessionAction[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), n: fc.nat(11) }),
  {
    minLength: 10,
    maxLength: 60,
    size: 'max',
  },
)

/** Applies the actions to a log and skips those that are not possible at their time. */
export class RandomSession {
  readonly #manager: StreamManager
  readonly #streamId: string
  #writer: Writer | undefined
  #runs = 0
  #asked = 0

  constructor(manager: StreamManager, streamId: string) {
    this.#manager = manager
    this.#streamId = streamId
  }

  async apply(actions: readonly SessionAction[]): Promise<void> {
    await this.#manager.createStream(this.#streamId)
    for (const action of actions) {
      await this.#act(action).catch(unlessRefused)
    }
    await this.#writer?.flush().catch(unlessRefused)
  }

  /** Releases the log. */
  async release(): Promise<void> {
    await this.#writer?.close()
    this.#writer = undefined
  }

  async #act({ kind, n }: SessionAction): Promise<void> {
    const manager = this.#manager
    const id = this.#streamId
    switch (kind) {
      case 'queue': {
        const resume = n % 4 === 0 ? { resume: { runId: 'r1', mode: 'continue' } } : {}
        const runRequest = request(`q${n}`, { whenBusy: n % 2 ? 'queue' : 'interrupt-previous', ...resume })
        await manager.append(id, 'ada', runRequest, n % 3 ? { context: { n } } : {})
        return
      }
      case 'answer':
        await manager.append(id, n % 2 ? 'ada' : 'bob', approve(`a${n % 4}`, n % 3 > 0))
        return
      case 'notify': {
        const info = await manager.getInfo(id)
        const notice = info?.ticket.notices?.[n % 2]
        if (info === null || notice === undefined) return
        const { runId, notifyBy } = notice
        const until = n % 3 ? {} : { until: info.clock + 1 + n }
        await manager.append(id, 'notifier', { type: 'run-notified', runId, notifyBy, ...until })
        return
      }
      case 'snapshot':
        await manager.snapshot(id)
        return
      case 'cut':
        return this.#cut(n)
      case 'stop': {
        const runId = (await manager.getInfo(id))?.ticket.run?.runId
        const mode = n % 2 ? 'abort' : 'interrupt'
        if (runId !== undefined && n % 3 === 0) {
          await manager.append(id, 'ada', { type: 'stop-requested', runId, mode })
        }
        return
      }
      default:
        return this.#work(await this.#currentWriter(), kind, n)
    }
  }

  async #work(writer: Writer, kind: SessionAction['kind'], n: number): Promise<void> {
    const lane = n % 3 === 0 ? writer.lane({ lane: 'tool' }) : writer.main
    const call: Chunk = {
      type: 'tool-input-available',
      toolCallId: `call-a${this.#asked % 4}`,
      toolName: 't',
      input: n,
    }
    switch (kind) {
      case 'draft-chunk':
        await lane.write(delta(`${n} `, `${lane.origin.lane}${n % 2}`), { step: n % 3 }).appended
        return
      case 'tool':
        await lane.write({ type: 'tool-input-delta', toolCallId: `c${n}`, delta: `${n}` }).appended
        return
      case 'structured':
        await lane.write({
          type: 'structured-data',
          streamId: `s${n % 2}`,
          dataType: 'd',
          kind: 'set',
          path: `p${n % 5}`,
          value: n,
        }).appended
        return
      case 'commit':
        await lane.commit([], { step: n % 3, closesStep: n % 2 === 0 })
        return
      case 'state':
        await lane.commit([
          { type: 'state-snapshot', state: { n } },
          { type: 'output', output: n },
        ])
        return
      case 'discard':
        await lane.discard({ reason: 'retry', usage: { inputTokens: n } })
        return
      case 'ask':
        await writer.commit([call, ask(`a${this.#asked++ % 4}`)])
        return
      case 'pause':
        await this.#manager.pauseStream(this.#streamId)
        if (n % 2) await this.#manager.resumeStream(this.#streamId)
        else await this.release()
        return
      case 'end':
        if (n % 2) await this.#manager.endStream(this.#streamId, n)
        else await writer.decide(() => [{ type: 'run-finished', status: 'completed', notifyBy: n }])
        await this.release()
        return
      case 'fail':
        await this.#manager.failStream(this.#streamId, 'boom')
        await this.release()
        return
      case 'crash':
        await this.release()
        return
      default:
    }
  }

  /** The writer of the open run, of the first request, or of a new run. */
  async #currentWriter(): Promise<Writer> {
    if (this.#writer && !this.#writer.signal.aborted && this.#writer.ticket.run) return this.#writer
    await this.release()
    const { run, requests } = (await this.#manager.getInfo(this.#streamId))?.ticket ?? { run: null, requests: [] }
    const runId = run?.runId ?? requests[0]?.runId ?? `r${++this.#runs}`
    this.#writer = await this.#manager.createWriter(this.#streamId, { runId, agentType: 'assistant' })
    await this.#writer.commit([])
    return this.#writer
  }

  /** Requests a rewind to a sequence where a run started or committed. */
  async #cut(n: number): Promise<void> {
    const sequences: number[] = []
    const info = await this.#manager.getInfo(this.#streamId)
    for (let at = info?.floor ?? 0; at < (info?.head ?? 0); at++) sequences.push(at)
    const toSequence = sequences[Math.floor((n / 12) * sequences.length)]
    if (toSequence === undefined) return
    const runId = `cut${++this.#runs}`
    for (let at = toSequence; at >= 0 && at > toSequence - 8; at--) {
      const outcome = await this.#manager.append(
        this.#streamId,
        'ada',
        request(runId, { cut: { toSequence: at, reason: 'edit' } }),
      )
      if (outcome.outcome !== 'refused' || outcome.reason !== 'gone') return
    }
  }
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof LogError) || (error.code !== 'refused' && error.code !== 'invalid')) throw error
}
