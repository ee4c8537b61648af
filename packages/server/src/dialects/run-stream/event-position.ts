// Places from which clients go on: tokens that hold a cursor of the log, which proves what lies there, and which of the events of the entry there was heard last.

import { type StreamManager, TruncatedError } from '@millrace/log'
import { decodeCursor } from '@millrace/protocol'
import { type Run, RunError } from '@millrace/runtime'
import { Refusal } from '../../errors/refusal.ts'
import type { SessionIdentity } from '../../sessions/session-access.ts'
import { assertIncarnation } from '../../stream/control-frames.ts'

/** A place in what is said of a run: an entry, one of its events, and the cursor there, where it is a client that names it. */
export interface EventPosition {
  readonly sequence: number
  /** All of them, if nothing is said. */
  readonly event?: number
  readonly cursor?: string
}

/** `sequence.incarnation.epoch`, and after it the event; what is said again on the way there is counted after that. */
const TOKEN = /^((?:0|[1-9]\d{0,15})\.[\w-]+\.[\w-]+)(?:\.(\d{1,9})(?:\.\d{1,9})?)?$/

/** The place that a client names, if it does; throws where it never was given one like that. */
export function eventPositionIn(name: string, token: string | null | undefined): EventPosition | undefined {
  if (token === null || token === undefined || token === '') return undefined
  const [, cursor, event] = (token.length <= LONGEST && TOKEN.exec(token)) || []
  if (cursor === undefined) throw new Refusal('cursor_invalid', `${name}: expected an id of this stream, as it came`)
  const { sequence } = decodeCursor(cursor)
  return { sequence, cursor, ...(event !== undefined && { event: Number(event) }) }
}

const LONGEST = 512

/** Throws where the log does not hold a place that a client names: it has read what never was here, or is not any more (law 2). */
export async function assertPositionInLog(
  manager: StreamManager,
  sessionId: string,
  identity: SessionIdentity,
  { cursor }: EventPosition,
): Promise<void> {
  if (cursor === undefined) return
  assertIncarnation(identity, decodeCursor(cursor))
  const reader = manager.readBatches(sessionId, { after: cursor, whole: true, follow: true, pageBytes: 1 })
  try {
    await reader.now()
  } finally {
    reader.close()
  }
}

/** Throws where the start of a run is not in the log any more: nothing can be said of it as it was. */
export async function assertRunNotTrimmed(
  manager: StreamManager,
  { sessionId, runId, requestedAt = 0 }: Run,
): Promise<void> {
  const { floor = 0 } = (await manager.getInfo(sessionId)) ?? {}
  if (requestedAt >= floor) return
  const { view } = await manager.view(sessionId)
  const request = view.requests.find(one => one.runId === runId)
  const run = view.runs.find(one => one.runId === runId)
  const from = Math.max(request?.at ?? 0, (run?.at ?? 0) - 1)
  if (from >= floor) return
  const why = `run ${runId}: its start was trimmed: read the session`
  throw new RunError('session_trimmed', why, { cause: new TruncatedError('below-floor', why, view.head, floor) })
}
