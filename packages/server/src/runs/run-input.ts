// What a run is asked for with: bounded, and under one id always the same.

import { isDeepStrictEqual } from 'node:util'
import type { Chunk, JsonObject } from '@millrace/protocol'
import { type Run, RunError, type SaidPart } from '@millrace/runtime'
import { Refusal } from '../errors/refusal.ts'
import type { Services } from '../routing/services.ts'
import { unlessTrimmed } from '../sessions/unless-trimmed.ts'
import { withoutVersion } from './program.ts'

/** What a person says. */
export type Message = string | { readonly parts: readonly SaidPart[]; readonly metadata?: JsonObject | undefined }

/** Throws where a message is larger than the server takes. */
export function mustFit({ limits }: Services, message: Message | undefined): void {
  if (message === undefined || Buffer.byteLength(JSON.stringify(message)) <= limits.inputBytes) return
  throw new Refusal('input_too_large', `input: expected at most ${limits.inputBytes} bytes of JSON`)
}

type Request = Extract<Chunk, { type: 'run-requested' }>

/** What was asked for, as far as it was said. */
interface Said {
  readonly message?: Message | undefined
  readonly messageId?: string | undefined
  /** Without its version: a request is the same also where it is repeated to newer code. */
  readonly program?: string
  readonly data?: Request['data'] | undefined
  readonly whenBusy?: Request['whenBusy'] | undefined
  /** Whether it is the same also with other data and another way to wait. */
  readonly isLoose?: true
}

/** Throws where the run was asked for with something else: who repeats a request means the same, and another needs another id. */
export async function mustBeTheSame({ manager }: Services, run: Run, said: Said): Promise<void> {
  const { sessionId, runId, requestedAt = 0 } = run
  const request = await requestAt(manager, sessionId, requestedAt)
  if (request === undefined || isSame(request, said)) return
  throw new RunError('run_ended', `run ${runId}: it was asked for before, with something else: choose another id`)
}

/** The request at a place; undefined where it is trimmed, and so nobody can compare. */
async function requestAt(
  manager: Services['manager'],
  sessionId: string,
  sequence: number,
): Promise<Request | undefined> {
  return unlessTrimmed(async () => {
    const [entry] = await manager.entries(sessionId, sequence - 1, sequence)
    return entry?.chunk.type === 'run-requested' ? entry.chunk : undefined
  })
}

function isSame({ program, message, cut, resume, data, whenBusy }: Request, said: Said): boolean {
  const parts = typeof said.message === 'string' ? [{ type: 'text', text: said.message }] : said.message?.parts
  const metadata = typeof said.message === 'string' ? undefined : said.message?.metadata
  if (!isDeepStrictEqual([message?.parts, message?.metadata], [parts, metadata])) return false
  // What asks for a turn again has been compared by its turn.
  if (said.program === undefined) return true
  if (cut || resume || withoutVersion(program) !== said.program) return false
  if (said.messageId !== undefined && message?.messageId !== said.messageId) return false
  return said.isLoose || isDeepStrictEqual([data, whenBusy], [said.data, said.whenBusy])
}
