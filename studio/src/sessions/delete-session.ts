import { headers } from '../app/connection.ts'

/** Deletes a session and its log. */
export async function deleteSession(sessionId: string): Promise<void> {
  const reply = await fetch(`/api/sessions/${encodeURIComponent(sessionId)}`, { method: 'DELETE', headers })
  // 404: another tab has deleted it already.
  if (!reply.ok && reply.status !== 404) throw new Error(`The server answered with status ${reply.status}.`)
}
