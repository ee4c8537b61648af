// Readers: `SessionReader` follows sessions from their positions, `RunReader` follows one run to its end.

import { continuityOf, type Entry, type Frame } from '@millrace/protocol'
import type { Random } from '../../../../../scripts/faults/random.ts'
import type { Format, Reader } from './faulty-connection.fixture.ts'
import type { Applied, SessionReplica, Snapshot } from './session-replica.fixture.ts'
import { ask, type SentRequest } from './single-request.fixture.ts'

/** Request options of a follower, drawn from the seed. */
export interface FollowerSettings {
  readonly format: Format
  /** Starts at the beginning of the log, or with a snapshot. */
  readonly startsFrom: 'start' | 'snapshot'
  /** The query parameter or header that it sends its position in. */
  readonly resume: 'after' | 'last-event-id' | 'x-resume-from-sequence'
  /** Whether its position is a cursor. Otherwise it is a bare sequence. */
  readonly isProven: boolean
  readonly merge: boolean
  readonly live: 'stream' | 'long-poll'
  readonly isMultiplexed: boolean
}

export function randomSettings(random: Random): FollowerSettings {
  return {
    format: random.pick(['sse', 'sse', 'ndjson']),
    startsFrom: random.pick(['start', 'start', 'snapshot']),
    resume: random.pick(['after', 'last-event-id', 'x-resume-from-sequence']),
    isProven: random.below(4) > 0,
    merge: random.below(4) > 0,
    live: random.below(6) > 0 ? 'stream' : 'long-poll',
    isMultiplexed: random.below(3) === 0,
  }
}

/** Follows sessions: all of them on one connection, or a single one. */
export class SessionReader implements Reader {
  readonly isOver = false
  readonly problems: string[] = []
  readonly #replicas: ReadonlyMap<string, SessionReplica>
  readonly #followerSettings: FollowerSettings

  constructor(replicas: readonly SessionReplica[], followerSettings: FollowerSettings) {
    this.#replicas = new Map(replicas.map(replica => [replica.sessionId, replica]))
    this.#followerSettings = followerSettings
    for (const replica of replicas) {
      replica.hasProvenCursor = followerSettings.isProven
      if (followerSettings.startsFrom === 'snapshot') replica.isLost = true
    }
  }

  get format(): Format {
    return this.#followerSettings.format
  }

  async prepare(port: number, signal: AbortSignal): Promise<void> {
    for (const replica of this.#replicas.values()) {
      if (!replica.isLost) continue
      const { status, body } = await ask(port, { method: 'GET', path: `/sessions/${replica.sessionId}` }, signal)
      if (status === 200) replica.adopt(body as unknown as Snapshot)
      else throw new Error(`expected a snapshot, found status ${status}`)
    }
  }

  request(): SentRequest {
    const { resume, isProven, merge, live, isMultiplexed } = this.#followerSettings
    const [first] = this.#replicas.values()
    const query = new URLSearchParams()
    const resumePositionOf = ({ cursor, position }: SessionReplica) => (isProven ? cursor : cursor && String(position))
    if (!merge) query.set('merge', 'false')
    if (isMultiplexed || this.#replicas.size > 1) {
      for (const replica of this.#replicas.values()) {
        query.append('session', replica.sessionId)
        const after = resumePositionOf(replica)
        if (after !== undefined) query.append('after', after)
      }
      return { method: 'GET', path: `/stream?${query}` }
    }
    const after = resumePositionOf(first as SessionReplica)
    if (live === 'long-poll') query.set('live', 'long-poll')
    if (after !== undefined && resume === 'after') query.set('after', after)
    const headers = after !== undefined && resume !== 'after' ? { [resume]: after } : {}
    return { method: 'GET', path: `/sessions/${(first as SessionReplica).sessionId}/stream?${query}`, headers }
  }

  onRefused(status: number, code: string): boolean {
    // 404: the session does not exist yet, or was deleted. 503: the server shuts down.
    if (status !== 404 && status !== 503) this.problems.push(`refused: ${status} ${code}`)
    return true
  }

  onAccepted(): void {}

  onFrame(frame: Frame): boolean {
    const { sessionId } = frame
    const isShared = this.#followerSettings.isMultiplexed || this.#replicas.size > 1
    if (isShared && sessionId === undefined && frame.type !== 'fail')
      this.problems.push(`${frame.type}: frame without a session id`)
    const replicas = sessionId === undefined ? [...this.#replicas.values()] : [this.#replicas.get(sessionId)]
    return replicas.every(replica => replica?.onFrame(frame))
  }
}

/** Codes of a run that can no longer be followed: its log is gone, or it was stopped before it started. */
const LOST_CODES = new Set(['run_unknown', 'session_unknown', 'session_trimmed', 'run_taken_back'])

/** Starts a run, and follows it to its end. */
export class RunReader implements Reader {
  readonly problems: string[] = []
  readonly format: Format
  readonly sessionId: string
  readonly runId: string
  readonly applied: Extract<Applied, { kind: 'frame' }>[] = []
  /** The last `end` frame. */
  end: Extract<Frame, { type: 'end' }> | undefined
  /** Whether the run can no longer be followed. */
  isLost = false
  /** The incarnation of the log that it follows. */
  incarnation: string | undefined
  /** Whether the server has accepted the request for the run. */
  isRequested = false
  readonly #body: Readonly<Record<string, unknown>>
  #cursor: string | undefined
  #position: number | undefined

  constructor(sessionId: string, runId: string, format: Format, body: Readonly<Record<string, unknown>>) {
    this.sessionId = sessionId
    this.runId = runId
    this.format = format
    this.#body = body
  }

  get isOver(): boolean {
    return this.isLost || (this.end !== undefined && this.end.status !== 'paused')
  }

  get entries(): readonly Entry[] {
    return this.applied.flatMap(({ entries }) => entries)
  }

  async prepare(): Promise<void> {}

  request(): SentRequest {
    const path = `/sessions/${this.sessionId}`
    // Repeated until it is accepted. The run id makes it idempotent.
    if (!this.isRequested) return { method: 'POST', path: `${path}/runs`, body: { ...this.#body, runId: this.runId } }
    const after = this.#cursor === undefined ? '' : `&after=${this.#cursor}`
    return { method: 'GET', path: `${path}/stream?run=${this.runId}${after}` }
  }

  onRefused(status: number, code: string): boolean {
    if (status === 503) return true
    if (!LOST_CODES.has(code)) this.problems.push(`${this.runId} refused: ${status} ${code}`)
    this.isLost = true
    return false
  }

  onAccepted(): void {
    this.isRequested = true
  }

  onFrame(frame: Frame): boolean {
    if (frame.type === 'entries') return this.#apply(frame)
    if (frame.type === 'open') this.incarnation ??= frame.incarnation
    if (frame.type === 'end') this.#onEnd(frame)
    if (frame.type === 'truncated') this.isLost = true
    if (frame.type === 'fail' && !frame.recoverable) {
      if (!LOST_CODES.has(frame.error.code))
        this.problems.push(`${this.runId} failed: ${frame.error.code}: ${frame.error.message}`)
      this.isLost = true
    }
    return frame.type === 'open' || frame.type === 'caught-up' || frame.type === 'status'
  }

  #apply(frame: Extract<Frame, { type: 'entries' }>): boolean {
    const { after, sequence, entries, cursor } = frame
    const continuity = continuityOf(frame, this.#position ?? after)
    if (continuity !== 'next') {
      this.problems.push(`${this.runId} at ${this.#position}: ${continuity}: (${after}, ${sequence}]`)
      return false
    }
    this.applied.push({ kind: 'frame', after, sequence, entries })
    this.#position = sequence
    this.#cursor = cursor
    return true
  }

  #onEnd(frame: Extract<Frame, { type: 'end' }>): void {
    this.end = frame
    const last = this.entries.at(-1)?.chunk.type
    if (frame.status !== 'paused' && last !== 'run-finished')
      this.problems.push(`${this.runId} ended after ${last}, not after its end`)
  }
}
