import { headers } from '../app/connection.ts'

const LONGEST = 80

/** What a session is called that begins so. */
export function titleOf(program: string, said: string): string {
  const line = `${program}: ${said}`.replaceAll(/\p{Cc}+/gu, ' ')
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}

/** Gives a session a title; where that does not work it has none. */
export function name(sessionId: string, title: string): void {
  fetch(`/api/sessions/${encodeURIComponent(sessionId)}`, {
    method: 'PATCH',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ title }),
  }).catch(() => {})
}
