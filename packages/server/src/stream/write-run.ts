import type { StreamManager } from '@millrace/log'
import { decodeCursor, type Frame, type Json } from '@millrace/protocol'
import type { Run, RunPiece } from '@millrace/runtime'
import { type Entered, mustStillBe } from '../sessions/session-access.ts'
import { mustBeIn, openFrame, truncatedFrame } from './control-frames.ts'
import { bytesOf, EntriesFrame } from './format.ts'
import type { Outlet } from './stream-channel.ts'
import { PAGE_BYTES } from './stream-settings.ts'

export interface RunFramesOptions {
  readonly entered: Entered
  /** A cursor's token or a bare sequence; from the run's start, if nothing is said. */
  readonly after?: string
  readonly merge: boolean
  readonly heartbeatMs: number
}

type EndStatus = Extract<Frame, { type: 'end' }>['status']

interface Ended {
  readonly status: EndStatus
  readonly output: Json | undefined
}

/** One run on one connection: its frames to its end or pause, and how it ended. */
export async function writeRun(
  manager: StreamManager,
  run: Run,
  outlet: Outlet,
  { entered, after, merge, heartbeatMs }: RunFramesOptions,
): Promise<void> {
  const { sessionId } = run
  const { format, signal } = outlet
  const write = (frame: Exclude<Frame, { type: 'entries' }>) => outlet.write(bytesOf(frame, format))
  const ending = new Ending(run.runId)
  try {
    const open = await openFrame(manager, sessionId, entered, after ?? '0', heartbeatMs)
    write(open)
    const { sequence: start } = decodeCursor(open.cursor)
    let last: number | null = null
    let place = after
    for (let ended: Ended | undefined; ; ) {
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
        if (last === null && first) mustBeIn(entered, decodeCursor(piece.cursorAt(first.sequence)))
        // Of what lies before the run this connection is to see nothing.
        const shown = { ...piece, after: last ?? start }
        outlet.write(new EntriesFrame(sessionId, shown).bytes(format, false, last))
        last = piece.sequence
        place = piece.cursor
        ending.add(piece)
        if (!(await outlet.room())) return
      }
      const known: Ended | undefined = ending.known ?? (last === from ? ended : undefined)
      // What was paused when it was read may have gone on, and ended, before it was asked for its result: then there is more to read.
      ended = known ?? ((await run.result({ signal })) as Ended)
      if (known === undefined && ended.status !== 'paused') continue
      const { status, output } = ended
      if (known === undefined) await mustStillBe(manager, sessionId, entered)
      // Who had read it all is where it ended.
      write({ type: 'end', status, ...(output !== undefined && { output }), sequence: last ?? start })
      return
    }
  } catch (error) {
    if (outlet.isOpen) write(await truncatedFrame(manager, sessionId, entered, error))
  }
}

/** How a run ended or why its frames do, as far as what was read of it tells. */
class Ending {
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
  get known(): Ended | undefined {
    if (this.#status === undefined || !(this.#isWhole || this.#status === 'paused')) return undefined
    return { status: this.#status, output: this.#status === 'completed' ? this.#output : undefined }
  }
}
