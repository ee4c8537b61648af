import type { StreamManager } from '@millrace/log'
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
  /** A cursor's token or a bare sequence; from the run's start, if nothing is said. */
  readonly after?: string
  readonly merge: boolean
  readonly heartbeatMs: number
}

type EndStatus = Extract<Frame, { type: 'end' }>['status']

interface RunEnd {
  readonly status: EndStatus
  readonly output: Json | undefined
}

/** One run on one connection: its frames to its end or pause, and how it ended. */
export async function writeRun(
  manager: StreamManager,
  run: Run,
  channel: StreamChannel,
  { identity, after, merge, heartbeatMs }: WriteRunOptions,
): Promise<void> {
  const { sessionId } = run
  const { format, signal } = channel
  const write = (frame: Exclude<Frame, { type: 'entries' }>) => channel.write(bytesOf(frame, format))
  const tracker = new RunEndTracker(run.runId)
  try {
    const open = await openFrame(manager, sessionId, identity, after ?? '0', heartbeatMs)
    write(open)
    const { sequence: start } = decodeCursor(open.cursor)
    let last: number | null = null
    let place = after
    for (let ended: RunEnd | undefined; ; ) {
      const from: number | null = last
      const options = {
        merge,
        rewound: true,
        pageBytes: PAGE_BYTES,
        signal,
        ...(place !== undefined && { after: place }),
      }
      for await (const piece of run.pieces(options)) {
        // From then on the place proves it. The cursor of a piece that ends at a pause does not: it was read apart from the entries.
        const [first] = piece.entries
        if (last === null && first) assertIncarnation(identity, decodeCursor(piece.cursorAt(first.sequence)))
        // Of what lies before the run this connection is to see nothing.
        const shown = { ...piece, after: last ?? start }
        channel.write(new EntriesFrame(sessionId, shown).bytes(format, false, last))
        last = piece.sequence
        place = piece.cursor
        tracker.add(piece)
        if (!(await channel.room())) return
      }
      const known: RunEnd | undefined = tracker.known ?? (last === from ? ended : undefined)
      // What was paused when it was read may have gone on, and ended, before it was asked for its result: then there is more to read.
      ended = known ?? ((await run.result({ signal })) as RunEnd)
      if (known === undefined && ended.status !== 'paused') continue
      const { status, output } = ended
      if (known === undefined) await assertSameSession(manager, sessionId, identity)
      // Who had read it all is where it ended.
      write({ type: 'end', status, ...(output !== undefined && { output }), sequence: last ?? start })
      return
    }
  } catch (error) {
    if (channel.isOpen) write(await truncatedFrame(manager, sessionId, identity, error))
  }
}

/** How a run ended or why its frames do, as far as what was read of it tells. */
class RunEndTracker {
  readonly #runId: string
  #status: EndStatus | undefined
  #output: Json | undefined
  #isWhole = false

  constructor(runId: string) {
    this.#runId = runId
  }

  add({ entries }: RunPiece): void {
    for (const { chunk, origin } of entries) {
      if (chunk.type === 'run-started') this.#isWhole = true
      else if (chunk.type === 'run-paused') this.#status = 'paused'
      else if (chunk.type === 'run-resumed') this.#status = undefined
      else if (chunk.type === 'run-finished') this.#status = chunk.status
      else if (chunk.type === 'output' && origin.guest === undefined && origin.agentId === this.#runId) {
        this.#output = chunk.output
      }
    }
  }

  /** Undefined where the run began before what was read: then its output may have, too. What pauses has none. */
  get known(): RunEnd | undefined {
    if (this.#status === undefined || !(this.#isWhole || this.#status === 'paused')) return undefined
    return { status: this.#status, output: this.#status === 'completed' ? this.#output : undefined }
  }
}
