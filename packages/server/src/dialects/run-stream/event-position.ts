// Positions from which clients resume: tokens of a log cursor, which proves the position, and the index of the last event that the client has.

import { type StreamManager, TruncatedError } from '@millrace/log'
import { decodeCursor } from '@millrace/protocol'
import { type Run, RunError } from '@millrace/runtime'
import { HttpError } from '../../errors/http-error.ts'
import type { SessionIdentity } from '../../sessions/session-access.ts'
import { assertIncarnation } from '../../stream/control-frames.ts'

/** A position in the events of a run: an entry, the index of an event, and the cursor if a client sent it. */
export interface EventPosition {
  readonly sequence: number
  /** Index of the last event. @default all events of the entry */
  readonly event?: number
  /** The first of several entries whose deltas were merged; `sequence` is the last one. @default `sequence` */
  readonly first?: number
  readonly cursor?: string
}

/** `sequence.incarnation.epoch`, then the index of the event, the first of merged entries, and the index of a repeated event. */
const TOKEN = /^((?:0|[1-9]\d{0,15})\.[\w-]+\.[\w-]+)(?:\.(\d{1,9})(?:-([1-9]\d{0,15}))?(?:\.\d{1,9})?)?$/

/** Parses a position that a client sent. @throws `cursor_invalid` */
export function eventPositionIn(name: string, token: string | null | undefined): EventPosition | undefined {
  if (token === null || token === undefined || token === '') return undefined
  const [, cursor, event, first] = (token.length <= MAX_TOKEN_LENGTH && TOKEN.exec(token)) || []
  if (cursor === undefined)
    throw new HttpError('cursor_invalid', `${name}: expected an event id of this stream, unchanged`)
  const { sequence } = decodeCursor(cursor)
  return {
    sequence,
    cursor,
    ...(event !== undefined && { event: Number(event) }),
    ...(first !== undefined && { first: Number(first) }),
  }
}

const MAX_TOKEN_LENGTH = 512

/** Checks that the log still contains a client's position (law 2). @throws `TruncatedError` */
export async function assertPositionInLog(
  manager: StreamManager,
  identity: SessionIdentity,
  { cursor }: EventPosition,
): Promise<void> {
  if (cursor === undefined) return
  assertIncarnation(identity, decodeCursor(cursor))
  const reader = manager.readBatches(identity.streamId, {
    after: cursor,
    includeDiscarded: true,
    follow: true,
    pageBytes: 1,
  })
  try {
    await reader.nextAvailable()
  } finally {
    reader.close()
  }
}

/** Checks that the start of a run is not trimmed. @throws `session_trimmed` */
export async function assertRunNotTrimmed(
  manager: StreamManager,
  { sessionId: streamId, runId, requestedAt = 0 }: Run,
): Promise<void> {
  const { floor = 0 } = (await manager.getInfo(streamId)) ?? {}
  if (requestedAt >= floor) return
  const { view } = await manager.view(streamId)
  const request = view.requests.find(request => request.runId === runId)
  const run = view.runs.find(run => run.runId === runId)
  const from = Math.max(request?.at ?? 0, (run?.at ?? 0) - 1)
  if (from >= floor) return
  const message = `run ${runId}: its start is trimmed: read the session instead`
  throw new RunError('session_trimmed', message, {
    cause: new TruncatedError('below-floor', message, view.head, floor),
  })
}
