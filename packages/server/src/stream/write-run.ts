import { type StreamManager, sessionIdOf } from '@millrace/log'
import { decodeCursor, type Frame, type Json } from '@millrace/protocol'
import type { Run } from '@millrace/runtime'
import type { RunPiece } from '@millrace/runtime/internal'
import { assertSameSession, type SessionIdentity } from '../sessions/session-access.ts'
import { assertIncarnation, openFrame, truncatedFrame } from './control-frames.ts'
import { bytesOf, EntriesFrame } from './format.ts'
import type { StreamChannel } from './stream-channel.ts'
import { PAGE_BYTES } from './stream-settings.ts'

export interface WriteRunOptions {
  readonly identity: SessionIdentity
  /** A cursor token or a bare sequence. @default the start of the run */
  readonly after?: string
  readonly merge: boolean
  readonly heartbeatMs: number
}

type EndStatus = Extract<Frame, { type: 'end' }>['status']

interface RunEnd {
  readonly status: EndStatus
  readonly output: Json | undefined
}

/** Sends one run on one connection: its frames up to its end or pause, then an `end` frame. */
export async function writeRun(
  manager: StreamManager,
  run: Run,
  channel: StreamChannel,
  { identity, after, merge, heartbeatMs }: WriteRunOptions,
): Promise<void> {
  const sessionId = sessionIdOf(identity.streamId)
  const { format, signal } = channel
  const write = (frame: Exclude<Frame, { type: 'entries' }>) => channel.write(bytesOf(frame, format))
  const tracker = new RunEndTracker(run.runId)
  try {
    const open = await openFrame(manager, identity, after ?? '0', heartbeatMs)
    write(open)
    const { sequence: start } = decodeCursor(open.cursor)
    let last: number | null = null
    let cursor = after
    for (let ended: RunEnd | undefined; ; ) {
      const from: number | null = last
      const options = {
        merge,
        rewound: true,
        pageBytes: PAGE_BYTES,
        signal,
        ...(cursor !== undefined && { after: cursor }),
      }
      for await (const piece of run.pieces(options)) {
        // Proves the incarnation once; later cursors build on it. The cursor of a piece that ends at a pause proves nothing: it is read separately.
        const [first] = piece.entries
        if (first === undefined) continue
        if (last === null) assertIncarnation(identity, decodeCursor(piece.cursorAt(first.sequence)))
        // This connection must not see entries before the run.
        const batch = { ...piece, after: last ?? start }
        channel.write(new EntriesFrame(sessionId, batch).bytes(format, false, last))
        last = piece.sequence
        cursor = piece.cursor
        tracker.add(piece)
        if (!(await channel.room())) return
      }
      const trackedEnd: RunEnd | undefined = tracker.end ?? (last === from ? ended : undefined)
      // A paused run may have continued and ended before `result` was called: then there is more to read.
      ended = trackedEnd ?? ((await run.result({ signal })) as RunEnd)
      if (trackedEnd === undefined && ended.status !== 'paused') continue
      const { status, output } = ended
      if (trackedEnd === undefined) await assertSameSession(manager, identity)
      // A client that already had all entries gets the start position.
      write({ type: 'end', status, ...(output !== undefined && { output }), sequence: last ?? start })
      return
    }
  } catch (error) {
    if (channel.isOpen) write(await truncatedFrame(manager, identity, error))
  }
}

/** Derives the end status and output of a run from its entries. */
class RunEndTracker {
  readonly #runId: string
  #status: EndStatus | undefined
  #output: Json | undefined
  #hasStart = false

  constructor(runId: string) {
    this.#runId = runId
  }

  add({ entries }: RunPiece): void {
    for (const { chunk, origin } of entries) {
      if (chunk.type === 'run-started') this.#hasStart = true
      else if (chunk.type === 'run-paused') this.#status = 'paused'
      else if (chunk.type === 'run-resumed') this.#status = undefined
      else if (chunk.type === 'run-finished') this.#status = chunk.status
      else if (chunk.type === 'output' && origin.guest === undefined && origin.agentId === this.#runId) {
        this.#output = chunk.output
      }
    }
  }

  /** Undefined if the run started before the first entry read: its output may lie there too. A paused run has no output. */
  get end(): RunEnd | undefined {
    if (this.#status === undefined || !(this.#hasStart || this.#status === 'paused')) return undefined
    return { status: this.#status, output: this.#status === 'completed' ? this.#output : undefined }
  }
}
