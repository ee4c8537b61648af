// What a client sent: bounded, decoded strictly, and no deeper than anything here looks.

import { Refusal } from '../error.ts'

/** How deep the JSON of a body may go. */
export const DEEPEST_BODY = 64

/** The bytes of a body, of which there are at most so many. */
export async function bytesOf(request: Request, limit: number): Promise<Uint8Array> {
  const told = Number(request.headers.get('content-length') ?? 0)
  if (told > limit) throw tooLarge(limit)
  const chunks: Uint8Array[] = []
  let length = 0
  if (request.body) {
    const reader = request.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.byteLength
      if (length > limit) {
        await reader.cancel().catch(() => {})
        throw tooLarge(limit)
      }
      chunks.push(value)
    }
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, length)
}

/** The JSON of a body; a body of nothing is an empty object. */
export async function jsonOf(request: Request, limit: number): Promise<unknown> {
  const bytes = await bytesOf(request, limit)
  if (bytes.byteLength === 0) return {}
  const type = request.headers.get('content-type') ?? ''
  // Also what keeps a form of another page out, which may send no other type unasked.
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Refusal('media_type_unknown', 'content-type: expected application/json')
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal('body_invalid', 'body: expected UTF-8')
  }
  checkDepth(text)
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('body_invalid', 'body: expected JSON')
  }
}

const tooLarge = (limit: number) =>
  new Refusal('body_too_large', `body: expected at most ${limit} bytes`, { headers: { connection: 'close' } })

/** Throws where a text of JSON goes too deep, before anybody parses it. */
function checkDepth(text: string): void {
  let depth = 0
  let isString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isString) {
      if (code === 0x5c) i++
      else if (code === 0x22) isString = false
    } else if (code === 0x22) isString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > DEEPEST_BODY) throw new Refusal('body_invalid', `body: expected at most ${DEEPEST_BODY} levels`)
    } else if (code === 0x7d || code === 0x5d) depth--
  }
}
