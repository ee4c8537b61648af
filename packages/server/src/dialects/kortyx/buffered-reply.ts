import type { Encoder } from '@millrace/dialects'
import { type BufferedStreamResult, type StreamChunk, summarizeStreamChunks } from '@millrace/dialects/kortyx'
import { StreamChunkSchema, StructuredDataChunkSchema } from '@millrace/dialects/kortyx/schemas'
import { sessionIdOf } from '@millrace/log'
import { decodeCursor } from '@millrace/protocol'
import * as z from 'zod'
import { draining, HttpError } from '../../errors/http-error.ts'
import { json, type Reply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import { reauthorizeSession } from '../../sessions/session-access.ts'
import { assertIncarnation } from '../../stream/control-frames.ts'
import { PAGE_BYTES } from '../../stream/stream-settings.ts'
import { type AcceptedTurn, handleClientRequest, type TurnRequest } from '../client-request/handle-client-request.ts'
import { type EntryWindow, EntryWindows } from '../run-stream/entry-windows.ts'
import { EventWriter } from '../run-stream/event-writer.ts'

/** Schema of a complete stream as one reply. */
export const BufferedStream = z.object({
  chunks: z.array(StreamChunkSchema),
  text: z.string(),
  structured: z.array(StructuredDataChunkSchema),
})

/** Maximum size of a reply, in characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024

/** Performs a client's request exactly once and replies when the run has ended or paused. */
export async function bufferedReply(
  call: RouteCall,
  turnRequest: TurnRequest,
  encoder: (turn: AcceptedTurn) => Encoder<StreamChunk>,
): Promise<Reply> {
  const { services, request } = call
  const release = services.limiter.acquireStream(call.caller.principal)
  const abortController = new AbortController()
  try {
    const turn = await handleClientRequest(call, turnRequest)
    void recheckUntilReplied(call, turn, abortController)
    const signal = AbortSignal.any([request.signal, services.connections.draining, abortController.signal])
    const chunks = await chunksOf(call, turn, encoder(turn), signal).catch(error => {
      if (abortController.signal.aborted) throw abortController.signal.reason
      throw services.connections.draining.aborted ? draining() : error
    })
    const result: BufferedStreamResult = { chunks, ...summarizeStreamChunks(chunks) }
    const { sessionId, runId } = turn.run
    return json(200, result, {
      'x-session-id': encodeURIComponent(sessionIdOf(sessionId)),
      'x-run-id': encodeURIComponent(runId),
    })
  } finally {
    abortController.abort()
    release()
  }
}

/** Authorizes the waiting request again at intervals, like a stream. Aborts if the caller lost access. */
async function recheckUntilReplied(
  { services, request }: RouteCall,
  turn: AcceptedTurn,
  abortController: AbortController,
): Promise<void> {
  const { timers, reauthorizeMs } = services.settings
  const { caller, action, program, run } = turn
  try {
    for (;;) {
      await new Promise<void>(resolve => {
        const stop = timers.after(reauthorizeMs, resolve, true)
        abortController.signal.addEventListener('abort', () => {
          stop()
          resolve()
        })
      })
      if (abortController.signal.aborted) return
      await reauthorizeSession(services, request, caller, action, sessionIdOf(run.sessionId), program)
    }
  } catch (error) {
    abortController.abort(error)
  }
}

async function chunksOf(
  { services, replyBytes }: RouteCall,
  { run, identity, after }: AcceptedTurn,
  encoder: Encoder<StreamChunk>,
  signal: AbortSignal,
): Promise<readonly StreamChunk[]> {
  const { status } = await run.result({ signal })
  const chunks: StreamChunk[] = []
  let length = 0
  const collect = (chunk: StreamChunk): string => {
    const { length: characters } = JSON.stringify(chunk)
    length += characters
    replyBytes.add(characters)
    if (length > MAX_CHARACTERS)
      throw new HttpError(
        'request_invalid',
        `stream: a reply without streaming has at most ${MAX_CHARACTERS} characters, found more: request it with stream: true`,
      )
    chunks.push(chunk)
    return ''
  }
  const writer = new EventWriter(encoder, collect, { after })
  // Excludes rewound entries.
  const windows = new EntryWindows({ resumed: after && { first: after.sequence, last: after.sequence } })
  const write = async ({ first, last, entries, position: id }: EntryWindow) => {
    for (const entry of entries) {
      const resolved = entry.blobs ? await services.manager.resolve(run.sessionId, entry) : entry
      writer.writeEntry(resolved, { first, last, id })
    }
  }
  for await (const { entries, cursor, sequence } of run.pieces({ rewound: true, pageBytes: PAGE_BYTES, signal })) {
    assertIncarnation(identity, decodeCursor(cursor))
    const page = { entries, reached: sequence, replayEnd: Number.POSITIVE_INFINITY, positionAt: String }
    for (const window of windows.add(page)) await write(window)
  }
  for (const window of windows.end()) await write(window)
  writer.end(status)
  return chunks
}
