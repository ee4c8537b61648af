// What a run is asked for with: bounded, and under one id always the same.

import { isDeepStrictEqual } from 'node:util'
import type { Chunk, JsonObject } from '@millrace/protocol'
import { type Run, RunError, type UserPart } from '@millrace/runtime'
import { Refusal } from '../errors/refusal.ts'
import type { Services } from '../routing/services.ts'
import { unlessTrimmed } from '../sessions/unless-trimmed.ts'
import { withoutVersion } from './program.ts'

/** What a person says. */
export type RunMessage = string | { readonly parts: readonly UserPart[]; readonly metadata?: JsonObject | undefined }

/** Throws where a message is larger than the server takes. */
export function assertInputSize({ limits }: Services, message: RunMessage | undefined): void {
  if (message === undefined || Buffer.byteLength(JSON.stringify(message)) <= limits.inputBytes) return
  throw new Refusal('input_too_large', `input: expected at most ${limits.inputBytes} bytes of JSON`)
}

type RequestChunk = Extract<Chunk, { type: 'run-requested' }>

/** What was asked for, as far as it was said. */
interface RepeatedRequest {
  readonly message?: RunMessage | undefined
  readonly messageId?: string | undefined
  /** Without its version: a request is the same also where it is repeated to newer code. */
  readonly program?: string
  readonly data?: RequestChunk['data'] | undefined
  readonly whenBusy?: RequestChunk['whenBusy'] | undefined
  /** Whether it is the same also with other data and another way to wait. */
  readonly isLoose?: true
}

/** Throws where the run was asked for with something else: who repeats a request means the same, and another needs another id. */
export async function assertSameRequest({ manager }: Services, run: Run, repeated: RepeatedRequest): Promise<void> {
  const { sessionId, runId, requestedAt = 0 } = run
  const request = await requestAt(manager, sessionId, requestedAt)
  if (request === undefined || isSame(request, repeated)) return
  throw new RunError('run_ended', `run ${runId}: it was asked for before, with something else: choose another id`)
}

/** The request at a place; undefined where it is trimmed, and so nobody can compare. */
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
  // What asks for a turn again has been compared by its turn.
  if (repeated.program === undefined) return true
  if (cut || resume || withoutVersion(program) !== repeated.program) return false
  if (repeated.messageId !== undefined && message?.messageId !== repeated.messageId) return false
  return repeated.isLoose || isDeepStrictEqual([data, whenBusy], [repeated.data, repeated.whenBusy])
}
