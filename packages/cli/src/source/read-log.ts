// Reads the log of a session up to its head.

import { createConnection, type RequestError } from '@millrace/client'
import { decodeNdjsonStream, type Entry } from '@millrace/protocol'
import { CommandError } from '../error/command-error.ts'
import { requestFailure } from './request-failure.ts'
import type { Source } from './source.ts'

/** The maximum number of consecutive retries of an interrupted read. */
const MAX_RECONNECTS = 5

export interface LogOptions {
  /** Only entries after this sequence. */
  readonly after?: number
  /** Called if the log starts after the requested position. May return another cursor to continue from. */
  readonly onTrimmed?: (floor: number) => Promise<string | undefined> | undefined
}

/** All entries of a session after a position, up to the head, unmerged and including discarded ones. */
export async function* readLog(source: Source, sessionId: string, options: LogOptions = {}): AsyncGenerator<Entry> {
  await mustBeThere(source, sessionId)
  yield* read(source, sessionId, options)
}

/** @throws CommandError if the session does not exist or the source is unreachable. */
export async function mustBeThere(source: Source, sessionId: string): Promise<void> {
  try {
    const path = `/sessions/${encodeURIComponent(sessionId)}?messages=last:1`
    await createConnection(source.options).api.ask('GET', path)
  } catch (error) {
    throw requestFailure(error, source)
  }
}

async function* read(source: Source, sessionId: string, options: LogOptions): AsyncGenerator<Entry> {
  const { api } = createConnection(source.options)
  const path = `/sessions/${encodeURIComponent(sessionId)}/stream?live=false&whole=true&after=`
  let after = String(options.after ?? 0)
  for (let cuts = 0; cuts <= MAX_RECONNECTS; cuts++) {
    try {
      const headers = { accept: 'application/x-ndjson' }
      const reply = await api.request('GET', path + encodeURIComponent(after), { headers })
      if (reply.body === null) throw new CommandError('failed', `${source.name} sent an empty response`)
      for await (const frame of decodeNdjsonStream(reply.body)) {
        if (frame.type === 'caught-up') return
        if (frame.type === 'fail' && !frame.recoverable) {
          throw new CommandError('failed', `${source.name}: ${frame.error.message}`, frame.error.code)
        }
        if (frame.type === 'truncated') {
          if (Number(after) >= frame.floor)
            throw new CommandError('not-found', `${sessionId} has no entries after ${after}: choose a lower sequence`)
          after = (await options.onTrimmed?.(frame.floor)) ?? String(frame.floor)
        }
        if (frame.type !== 'entries') continue
        yield* frame.entries
        after = frame.cursor
        cuts = 0
      }
    } catch (error) {
      // Interrupted reads are retried. Rejected requests are not.
      const isCut = !(error instanceof CommandError) && (error as Partial<RequestError>).status === undefined
      if (!isCut || cuts === MAX_RECONNECTS) throw requestFailure(error, source)
    }
  }
  throw new CommandError('unreachable', `${source.name} closes the connection repeatedly: try again later`)
}
