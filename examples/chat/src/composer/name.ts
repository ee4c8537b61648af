const LONGEST = 80

/** Gives a session a title; where that does not work it has none. */
export function name(sessionId: string, title: string): void {
  const line = title.replaceAll(/\p{Cc}+/gu, ' ')
  fetch(`/api/sessions/${encodeURIComponent(sessionId)}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line }),
  }).catch(() => {})
}
