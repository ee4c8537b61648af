import { decodeCursor } from '@millrace/protocol'
import { Refusal } from '../errors/refusal.ts'

/** Where a client wants to go on, from its headers: `X-Resume-From-Sequence`, else `Last-Event-ID`, else the beginning; a cursor's token or a bare sequence, exclusive. */
export function extractResumePosition(headers: Headers): string {
  return positionOf('X-Resume-From-Sequence', headers) ?? positionOf('Last-Event-ID', headers) ?? '0'
}

function positionOf(name: string, headers: Headers): string | undefined {
  const token = headers.get(name)
  return token === null || token === '' ? undefined : checkPosition(name, token)
}

/** A place that a client names, if it can be one. */
export function checkPosition(name: string, token: string): string {
  try {
    decodeCursor(token)
    return token
  } catch {
    throw new Refusal('cursor_invalid', `${name}: expected a cursor or a sequence`)
  }
}
