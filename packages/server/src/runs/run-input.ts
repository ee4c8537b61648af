// Checks of run requests: the size of the input, and that a repeated run id means the same request.

import { isDeepStrictEqual } from 'node:util'
import type { Chunk, JsonObject } from '@millrace/protocol'
import { type Run, RunError, type UserPart } from '@millrace/runtime'
import { HttpError } from '../errors/http-error.ts'
import type { Services } from '../routing/services.ts'
import { unlessTrimmed } from '../sessions/unless-trimmed.ts'
import { withoutVersion } from './program.ts'

/** A user message. */
export type RunMessage = string | { readonly parts: readonly UserPart[]; readonly metadata?: JsonObject | undefined }

/** @throws `input_too_large` */
export function assertInputSize({ limits }: Services, message: RunMessage | undefined): void {
  if (message === undefined || Buffer.byteLength(JSON.stringify(message)) <= limits.inputBytes) return
  throw new HttpError('input_too_large', `input: expected at most ${limits.inputBytes} bytes of JSON`)
}

type RequestChunk = Extract<Chunk, { type: 'run-requested' }>

/** The fields of a repeated request that are compared. */
interface RepeatedRequest {
  readonly message?: RunMessage | undefined
  readonly messageId?: string | undefined
  /** Without the version: a request is the same if it is repeated after a deployment. */
  readonly program?: string
  readonly data?: RequestChunk['data'] | undefined
  readonly whenBusy?: RequestChunk['whenBusy'] | undefined
  /** Whether `data` and `whenBusy` may differ. */
  readonly isLoose?: true
}

/** Checks that a repeated run id comes with the same request. @throws `run_ended` */
export async function assertSameRequest({ manager }: Services, run: Run, repeated: RepeatedRequest): Promise<void> {
  const { sessionId, runId, requestedAt = 0 } = run
  const request = await requestAt(manager, sessionId, requestedAt)
  if (request === undefined || isSame(request, repeated)) return
  throw new RunError('run_ended', `run ${runId}: this id was used for another request: choose another id`)
}

/** The request at a sequence; undefined if it is trimmed, so that it cannot be compared. */
async function requestAt(
  manager: Services['manager'],
  sessionId: string,
  sequence: number,
): Promise<RequestChunk | undefined> {
  return unlessTrimmed(async () => {
    const [entry] = await manager.entries(sessionId, sequence - 1, sequence)
    return entry?.chunk.type === 'run-requested' ? entry.chunk : undefined
  })
}

function isSame({ program, message, cut, resume, data, whenBusy }: RequestChunk, repeated: RepeatedRequest): boolean {
  const parts =
    typeof repeated.message === 'string' ? [{ type: 'text', text: repeated.message }] : repeated.message?.parts
  const metadata = typeof repeated.message === 'string' ? undefined : repeated.message?.metadata
  if (!isDeepStrictEqual([message?.parts, message?.metadata], [parts, metadata])) return false
  // Retries and edits have no program to compare: the runtime has checked their turn.
  if (repeated.program === undefined) return true
  if (cut || resume || withoutVersion(program) !== repeated.program) return false
  if (repeated.messageId !== undefined && message?.messageId !== repeated.messageId) return false
  return repeated.isLoose || isDeepStrictEqual([data, whenBusy], [repeated.data, repeated.whenBusy])
}
