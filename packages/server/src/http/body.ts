// What a client sent: bounded, decoded strictly, and no deeper than anything here looks.

import { Refusal } from '../errors/refusal.ts'

/** How deep the JSON of a body may go. */
export const DEEPEST_BODY = 64

/** Is told how many bytes came of a body; throws where there is no room for them. */
type Count = (bytes: number) => void

/** The bytes of a body, of which there are at most so many. */
export async function bytesOf(request: Request, limit: number, count: Count = () => {}): Promise<Uint8Array> {
  const told = Number(request.headers.get('content-length') ?? 0)
  if (told > limit) throw tooLarge(limit)
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (encoding !== 'identity') throw new Refusal('media_type_unknown', 'content-encoding: expected none')
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body?.getReader()
  for (let piece = await pieceOf(reader); piece; piece = await pieceOf(reader)) {
    length += piece.byteLength
    // What follows is left unread: whoever cancelled it would close the connection before the refusal is out.
    if (length > limit) throw tooLarge(limit)
    count(piece.byteLength)
    chunks.push(piece)
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, length)
}

async function pieceOf(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<Uint8Array | undefined> {
  try {
    return (await reader?.read())?.value
  } catch {
    // Whoever sent it went away, or what carries it is broken: nothing that this server did.
    throw new Refusal('body_invalid', 'body: it ended before it was whole')
  }
}

/** The JSON of a body; a body of nothing is an empty object. */
export async function jsonOf(request: Request, limit: number, count?: Count): Promise<unknown> {
  const bytes = await bytesOf(request, limit, count)
  if (bytes.byteLength === 0) return {}
  const [type = '', ...parameters] = (request.headers.get('content-type') ?? '').split(';').map(piece => piece.trim())
  const charset = parameters.find(parameter => /^charset=/i.test(parameter))
  // Also what keeps a form of another page out, which may send no other type unasked.
  if (type.toLowerCase() !== 'application/json' || (charset && !/^charset="?utf-?8"?$/i.test(charset))) {
    throw new Refusal('media_type_unknown', 'content-type: expected application/json, as UTF-8')
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

/** There is more of a body than there may be. */
export const tooLarge = (limit: number) =>
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

/** Requests whose body a framework parsed before this server saw it: the text says the same, but its bytes are not those that were sent. */
const parsed = new WeakSet<Request>()

export const markParsed = (request: Request): void => void parsed.add(request)

/** Whether a framework parsed the body before, so that the bytes as sent are lost. */
export const wasParsed = (request: Request): boolean => parsed.has(request)
