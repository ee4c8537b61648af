// Hono's `streamSSE`: readers of a session stay connected and get its appends.
import type { SSEStreamingApi } from 'hono/streaming'
import { streamSSE } from 'hono/streaming'
import { type ServedSession, sessionsAt } from './open-sessions.ts'
import { listenWithHono } from './serve-hono.ts'

export async function sessionsHono(sessions: number): Promise<ServedSession[]> {
  const streams = new Map<string, Set<SSEStreamingApi>>()
  const port = await listenWithHono(context =>
    streamSSE(context, async stream => {
      await stream.write(': here\n\n')
      const sessionStreams = streams.get(context.req.path) ?? new Set()
      streams.set(context.req.path, sessionStreams.add(stream))
      await new Promise<void>(resolve => stream.onAbort(resolve))
      sessionStreams.delete(stream)
    }),
  )
  return sessionsAt(port, sessions, async (path, id, data) => {
    await Promise.all([...(streams.get(path) ?? [])].map(stream => stream.writeSSE({ id: String(id), data })))
  })
}
