import { headers } from '../app/connection.ts'

/** Removes a session, and all there is of it. */
export async function remove(sessionId: string): Promise<void> {
  const reply = await fetch(`/api/sessions/${encodeURIComponent(sessionId)}`, { method: 'DELETE', headers })
  // Who was second has what they wanted.
  if (!reply.ok && reply.status !== 404) throw new Error(`The server answered with status ${reply.status}.`)
}
