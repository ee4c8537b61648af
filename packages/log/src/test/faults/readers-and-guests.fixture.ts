// Readers that report every batch, and guests that answer every question.

import type { Chunk } from '@millrace/protocol'
import type { StreamManager } from '../../manager/stream-manager.ts'
import { LogError, TruncatedError } from '../../store/log-error.ts'
import type { ReportMessage } from './store-process-messages.fixture.ts'
import { tokenOf } from './token.fixture.ts'

const ALL = { includeDiscarded: true, follow: true, internal: true }

/** Reads a log and reports each batch, until it is stopped or its cursor is truncated. */
export async function followLog(
  manager: StreamManager,
  reader: string,
  streamId: string,
  after: string | number,
  signal: AbortSignal,
  report: ReportMessage,
): Promise<void> {
  const batches = manager.readBatches(streamId, { ...ALL, after, signal })
  try {
    for (let batch = await batches.next(); batch; batch = await batches.next()) {
      const { isCaughtUp, replayEnd, ...rest } = batch
      await report({ kind: 'read', reader, ...rest })
    }
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof TruncatedError) await report({ kind: 'truncated', reader, reason: error.reason })
    else await report(failureMessage(`reader ${reader}`, error))
  }
}

/** Answers every question of a log twice, like a client that lost the first reply. */
export async function answerQuestions(
  manager: StreamManager,
  guest: string,
  streamId: string,
  signal: AbortSignal,
  report: ReportMessage,
): Promise<void> {
  try {
    for (let after: string | number = 0; ; ) {
      const batches = manager.readBatches(streamId, { ...ALL, after, signal })
      try {
        for (let batch = await batches.next(); batch; batch = await batches.next()) {
          after = batch.cursor
          for (const { chunk } of batch.entries) await reply(manager, guest, streamId, chunk, report)
        }
        return
      } catch (error) {
        // Its position is gone: reads the current log.
        if (!(error instanceof TruncatedError)) throw error
        after = 0
      }
    }
  } catch (error) {
    if (!signal.aborted) await report(failureMessage(`guest ${guest}`, error))
  }
}

async function reply(
  manager: StreamManager,
  guest: string,
  streamId: string,
  chunk: Chunk,
  report: ReportMessage,
): Promise<void> {
  const found = answerTo(chunk, guest)
  if (found === undefined) return
  for (let times = 0; times < 2; times++) {
    const { outcome, ...rest } = await manager.append(streamId, guest, found.chunk)
    await report({ kind: 'answered', streamId, token: found.token, outcome, ...rest })
    if (outcome === 'refused') return
  }
}

function answerTo(chunk: Chunk, guest: string): { chunk: Chunk; token: string } | undefined {
  switch (chunk.type) {
    case 'interrupt': {
      const token = tokenOf(guest, chunk.interruptId, 0)
      return { token, chunk: { type: 'interrupt-response', interruptId: chunk.interruptId, response: token } }
    }
    case 'tool-approval-request': {
      const { toolCallId, approvalId } = chunk
      const token = tokenOf(guest, approvalId, 0)
      return { token, chunk: { type: 'tool-approval-response', toolCallId, approvalId, approved: true, reason: token } }
    }
    case 'tool-input-available': {
      if (chunk.executor !== 'client') return undefined
      const token = tokenOf(guest, chunk.toolCallId, 0)
      return { token, chunk: { type: 'tool-output-available', toolCallId: chunk.toolCallId, output: token } }
    }
    default:
      return undefined
  }
}

/** The message of an error. */
export function failureMessage(operation: string, error: unknown) {
  const code = error instanceof LogError ? error.code : 'unknown'
  const message = error instanceof LogError ? error.message : error instanceof Error ? `${error.stack}` : String(error)
  return { kind: 'failed', operation, code, message } as const
}
