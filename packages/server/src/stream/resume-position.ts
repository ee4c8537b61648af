import type { StreamManager } from '@millrace/log'
import { decodeCursor } from '@millrace/protocol'
import { HttpError } from '../errors/http-error.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'

/**
 * The position from which a client resumes: the header `X-Resume-From-Sequence`, else `Last-Event-ID`, else the beginning (`0`).
 * A cursor token or a bare sequence, exclusive. @throws `cursor_invalid`
 */
export function extractResumePosition(headers: Headers): string {
  return positionOf('X-Resume-From-Sequence', headers) ?? positionOf('Last-Event-ID', headers) ?? '0'
}

function positionOf(name: string, headers: Headers): string | undefined {
  const token = headers.get(name)
  return token === null || token === '' ? undefined : checkPosition(name, token)
}

/** Checks a position that a client sent. @throws `cursor_invalid` */
export function checkPosition(name: string, token: string): string {
  try {
    decodeCursor(token)
    return token
  } catch {
    throw new HttpError('cursor_invalid', `${name}: expected a cursor or a sequence as the server sent it`)
  }
}

/** Echoes `X-Existing-Message-Id`, which names a message that the client already has. @throws `message_unknown` if the session has no such message */
export async function existingMessageHeaders(
  manager: StreamManager,
  { streamId }: SessionIdentity,
  headers: Headers,
): Promise<Readonly<Record<string, string>>> {
  const messageId = headers.get('x-existing-message-id')
  if (messageId === null) return {}
  const { view } = await manager.view(streamId)
  // The client may have percent-encoded the id, since headers allow few characters.
  if (view.messages.some(({ id }) => id === messageId || encodeURIComponent(id) === messageId)) {
    return { 'x-existing-message-id': messageId }
  }
  throw new HttpError(
    'message_unknown',
    'X-Existing-Message-Id: expected a message of this session: read the session again',
  )
}
