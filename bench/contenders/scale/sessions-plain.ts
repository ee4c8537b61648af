// Plain node http: readers of a session stay connected and get its appends.
import type { ServerResponse } from 'node:http'
import { type ServedSession, sessionsAt } from './open-sessions.ts'
import { listen } from './serve-plain.ts'

export async function sessionsPlain(sessions: number): Promise<ServedSession[]> {
  const responses = new Map<string, Set<ServerResponse>>()
  const port = await listen((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(': here\n\n')
    const path = String(request.url)
    const sessionResponses = responses.get(path) ?? new Set()
    responses.set(path, sessionResponses.add(response))
    response.once('close', () => sessionResponses.delete(response))
  })
  return sessionsAt(port, sessions, (path, id, data) => {
    const bytes = Buffer.from(`id: ${id}\ndata: ${data}\n\n`)
    for (const response of responses.get(path) ?? []) response.write(bytes)
  })
}
