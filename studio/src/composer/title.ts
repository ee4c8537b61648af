import { headers } from '../app/connection.ts'

const MAX_TITLE_LENGTH = 80

/** The title of a session that starts with this message. */
export function titleOf(message: string): string {
  const line = message.replaceAll(/\p{Cc}+/gu, ' ')
  return line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH)}…` : line
}

/** Sets the title of a session. A failure is ignored: the list then shows the last message. */
export function setTitle(sessionId: string, title: string): void {
  fetch(`/api/sessions/${encodeURIComponent(sessionId)}`, {
    method: 'PATCH',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ title }),
  }).catch(() => {})
}
