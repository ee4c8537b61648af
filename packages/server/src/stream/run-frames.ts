import type { StreamManager } from '@millrace/log'
import { decodeCursor, type Frame, type Json } from '@millrace/protocol'
import type { Run, RunPiece } from '@millrace/runtime'
import { bytesOf, EntriesFrame } from './format.ts'
import { openFrame } from './open.ts'
import type { Outlet } from './outlet.ts'
import { PAGE_BYTES } from './settings.ts'
import { truncatedFrame } from './truncated.ts'

export interface RunFramesOptions {
  /** A cursor's token or a bare sequence; from the run's start, if nothing is said. */
  readonly after?: string
  readonly merge: boolean
  readonly heartbeatMs: number
}

type EndStatus = Extract<Frame, { type: 'end' }>['status']

/** One run on one connection: its frames to its end or pause, and how it ended. */
export async function writeRun(
  manager: StreamManager,
  run: Run,
  outlet: Outlet,
  { after, merge, heartbeatMs }: RunFramesOptions,
): Promise<void> {
  const { sessionId } = run
  const { format, signal } = outlet
  const write = (frame: Exclude<Frame, { type: 'entries' }>) => outlet.write(bytesOf(frame, format))
  const options = { merge, pageBytes: PAGE_BYTES, signal, ...(after !== undefined && { after }) }
  const ending = new Ending(run.runId)
  try {
    const open = await openFrame(manager, sessionId, after ?? '0', heartbeatMs)
    write(open)
    const { sequence: start } = decodeCursor(open.cursor)
    let last: number | null = null
    for await (const piece of run.pieces(options)) {
      // Of what lies before the run this connection is to see nothing.
      const shown = { ...piece, after: last ?? start }
      outlet.write(new EntriesFrame(sessionId, shown).bytes(format, false, last))
      last = piece.sequence
      ending.add(piece)
      if (!(await outlet.room())) return
    }
    const { status, output } = ending.known ?? (await run.result({ signal }))
    // Who had read it all is where it ended.
    const sequence = last ?? start
    write({ type: 'end', status, ...(output !== undefined && { output: output as Json }), sequence })
  } catch (error) {
    if (outlet.isOpen) write(await truncatedFrame(manager, sessionId, error))
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

  /** Undefined where the run began before what was read: then its output may have, too. */
  get known(): { readonly status: EndStatus; readonly output: Json | undefined } | undefined {
    if (this.#status === undefined || !this.#isWhole) return undefined
    return { status: this.#status, output: this.#status === 'completed' ? this.#output : undefined }
  }
}
