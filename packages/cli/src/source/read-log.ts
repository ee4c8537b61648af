// Reads the log of a session up to its head, and converts failed requests to errors of commands.

import { createConnection, RequestError } from '@millrace/client'
import { decodeNdjsonStream, type Entry } from '@millrace/protocol'
import { CommandError } from '../error/command-error.ts'
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
  await assertSessionExists(source, sessionId)
  yield* read(source, sessionId, options)
}

/** @throws CommandError if the session does not exist or the source is unreachable. */
export async function assertSessionExists(source: Source, sessionId: string): Promise<void> {
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
  for (let failures = 0; failures <= MAX_RECONNECTS; failures++) {
    try {
      const headers = { accept: 'application/x-ndjson' }
      const reply = await api.request('GET', path + encodeURIComponent(after), { headers })
      if (reply.body === null)
        throw new CommandError(
          'failed',
          `${source.name} sent an empty response: check that it is a Millrace server with millrace doctor`,
        )
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
        failures = 0
      }
    } catch (error) {
      // Interrupted reads are retried. Rejected requests are not.
      const isInterrupted = !(error instanceof CommandError) && (error as Partial<RequestError>).status === undefined
      if (!isInterrupted || failures === MAX_RECONNECTS) throw requestFailure(error, source)
    }
  }
  throw new CommandError('unreachable', `${source.name} closes the connection repeatedly: try again later`)
}

/** Converts a request error to the error of a command. */
export function requestFailure(error: unknown, source: Source): unknown {
  if (!(error instanceof RequestError)) return error
  const { code, message, status } = error
  if (code === 'session_unknown') {
    return new CommandError('not-found', `${message}. See millrace sessions`, code)
  }
  if (status === 401 || status === 403) {
    return new CommandError('failed', `${source.name}: ${message}. Set MILLRACE_TOKEN to a valid bearer token`, code)
  }
  if (code === 'store_unavailable') {
    return new CommandError('unreachable', `The store of ${source.name} is unavailable. See millrace doctor`, code)
  }
  if (status === undefined) {
    const next = 'start it with millrace dev, or choose another with --server or --store'
    return new CommandError('unreachable', `No server answers at ${source.name}: ${next}`, 'unreachable')
  }
  return new CommandError('failed', `${source.name}: ${message}`, code)
}
