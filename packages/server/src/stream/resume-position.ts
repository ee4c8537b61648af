import type { StreamManager } from '@millrace/log'
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

/** What a client says to have of a message already: it must be one of the session. */
export async function existingMessageHeaders(
  manager: StreamManager,
  sessionId: string,
  headers: Headers,
): Promise<Readonly<Record<string, string>>> {
  const messageId = headers.get('x-existing-message-id')
  if (messageId === null) return {}
  const { view } = await manager.view(sessionId)
  // Headers carry few characters as they are: an id may come escaped.
  if (view.messages.some(({ id }) => id === messageId || encodeURIComponent(id) === messageId)) {
    return { 'x-existing-message-id': messageId }
  }
  throw new Refusal('message_unknown', 'X-Existing-Message-Id: the session has no message of that id: read it again')
}
