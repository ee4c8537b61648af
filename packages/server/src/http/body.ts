// Request bodies: limited in size, decoded strictly, limited in depth.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { HttpError } from '../errors/http-error.ts'

/** Maximum nesting depth of a JSON body. */
export const MAX_BODY_DEPTH = 64
/** Maximum number of values in a JSON body, with those in lists and objects. Parsing millions blocks for seconds. */
export const MAX_BODY_VALUES = 250_000

/** Bodies above this size, in bytes, are parsed one per turn of the event loop: each may take a tenth of a second. */
const LARGE_BYTES = 256 * 1024

let lastTurn = Promise.resolve()

/** Resolves in a turn of the event loop that no other large body is parsed in, so that other requests run in between. */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => nextTurn())
  return lastTurn
}

/** Called with the size of each received piece. @throws if a limit is exceeded */
type Count = (bytes: number) => void

/** Reads the bytes of a body. @throws `body_too_large`, `body_timeout`, `media_type_unknown` or `body_invalid` */
export async function bytesOf(request: Request, limit: number, count: Count = () => {}): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > limit) throw tooLarge(limit)
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (encoding !== 'identity')
    throw new HttpError('media_type_unknown', 'content-encoding: expected identity: send the body uncompressed')
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body?.getReader()
  for (let piece = await pieceOf(reader); piece; piece = await pieceOf(reader)) {
    length += piece.byteLength
    // Leaves the rest unread: cancelling would close the connection before the client gets the refusal.
    if (length > limit) throw tooLarge(limit)
    count(piece.byteLength)
    chunks.push(piece)
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, length)
}

async function pieceOf(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<Uint8Array | undefined> {
  try {
    return (await reader?.read())?.value
  } catch (error) {
    if (error instanceof HttpError) throw error
    // The client left or the connection broke: not the server's fault.
    throw new HttpError('body_invalid', 'body: expected more bytes, the connection ended early: send it again')
  }
}

/**
 * Checks that a body is declared as JSON, also an empty one: forms of other origins can send only other types without a
 * preflight. @throws `media_type_unknown`
 */
export function assertJsonType(request: Request): void {
  const [type = '', ...parameters] = (request.headers.get('content-type') ?? '').split(';').map(piece => piece.trim())
  const charset = parameters.find(parameter => /^charset=/i.test(parameter))
  if (type.toLowerCase() !== 'application/json' || (charset && !/^charset="?utf-?8"?$/i.test(charset))) {
    throw new HttpError('media_type_unknown', 'content-type: expected application/json in UTF-8, also without a body')
  }
}

/** Reads the JSON of a body; an empty body is an empty object. @throws `body_too_large`, `media_type_unknown` or `body_invalid` */
export async function jsonOf(request: Request, limit: number, count?: Count): Promise<unknown> {
  assertJsonType(request)
  const bytes = await bytesOf(request, limit, count)
  if (bytes.byteLength === 0) return {}
  if (bytes.byteLength > LARGE_BYTES) await ownTurn()
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new HttpError('body_invalid', 'body: expected UTF-8')
  }
  checkSize(text)
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpError('body_invalid', 'body: expected JSON')
  }
}

/** The error for a body above its size limit. */
export const tooLarge = (limit: number) =>
  new HttpError('body_too_large', `body: expected at most ${limit} bytes`, { headers: { connection: 'close' } })

/** Checks the depth of a JSON text, and its number of values, before it is parsed. @throws `body_invalid` */
function checkSize(text: string): void {
  let depth = 0
  // A list or an object has one value more than commas.
  let values = 0
  let isString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isString) {
      if (code === 0x5c) i++
      else if (code === 0x22) isString = false
    } else if (code === 0x22) isString = true
    else if (code === 0x2c) values++
    else if (code === 0x7b || code === 0x5b) {
      values++
      if (++depth > MAX_BODY_DEPTH)
        throw new HttpError('body_invalid', `body: expected at most ${MAX_BODY_DEPTH} levels`)
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  if (values > MAX_BODY_VALUES) throw new HttpError('body_invalid', `body: expected at most ${MAX_BODY_VALUES} values`)
}

/** Requests whose body a framework parsed before this server: the JSON is the same, but the original bytes are lost. */
const parsedRequests = new WeakSet<Request>()

export const markParsed = (request: Request): void => void parsedRequests.add(request)

/** Whether a framework parsed the body before, so that its original bytes are lost. */
export const wasParsed = (request: Request): boolean => parsedRequests.has(request)
