import { type MuiServer, sessionUrl } from './reply-stream.ts'
import type { ChatMessagePart } from './types.ts'

/** Gives a file to a session; the part by which a message names it. Throws where the server does not take it. */
export async function uploaded(server: MuiServer, sessionId: string, file: File): Promise<ChatMessagePart> {
  const { fetch = globalThis.fetch, headers = {}, credentials = 'same-origin' } = server
  const given = new Headers(typeof headers === 'function' ? await headers() : headers)
  given.set('content-type', file.type || 'application/octet-stream')
  if (file.name) given.set('x-filename', encodeURIComponent(file.name))
  const response = await fetch(sessionUrl(server, sessionId, '/uploads'), {
    method: 'POST',
    headers: given,
    body: file,
    credentials: typeof credentials === 'function' ? await credentials() : credentials,
  })
  if (!response.ok) throw new Error(`${file.name}: the server did not take the file (${response.status}).`)
  const { url, mediaType, filename } = (await response.json()) as { url: string; mediaType: string; filename?: string }
  return { type: 'file', url, mediaType, ...(filename !== undefined && { filename }) }
}
