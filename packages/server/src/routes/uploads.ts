import { Refusal } from '../errors/refusal.ts'
import { bytesOf } from '../http/body.ts'
import { json } from '../http/reply.ts'
import { route } from '../routing/route.ts'
import { Uploaded } from '../routing/schemas.ts'
import { isFilename, isMediaType, LONGEST_FILENAME } from '../runs/uploads.ts'
import { assertOwnOrAbsent, assertSameSession, requireSession, withSession } from '../sessions/session-access.ts'
import { KEPT_FOR_GOOD } from './blobs.ts'

/** What nobody can make a browser take for a page: the rest is for saving. */
const SHOWN = /^(image\/|audio\/|video\/|application\/pdf$|text\/plain$)/

const CHARSET = /^charset=[\w-]{1,32}$/
/** The routes of files that people give. */
export const uploads = [
  route({
    method: 'POST',
    path: '/sessions/:sessionId/uploads',
    action: 'upload',
    summary: 'Keeps a file with a session: a message names it in a part `{ type: "file", mediaType, url }`.',
    takesBytes: true,
    headers: { 'X-Filename': 'What the file is called, as `encodeURIComponent` gives it.' },
    replies: { 201: Uploaded },
    handle: async ({ services, caller, params, request, held }) => {
      const sessionId = params['sessionId'] as string
      const { headers } = request
      const mediaType = mediaTypeOf(headers.get('content-type'))
      const filename = filenameOf(headers.get('x-filename'))
      // Before anything of it is read.
      await assertOwnOrAbsent(services, caller, sessionId)
      const data = await bytesOf(request, services.limits.uploadBytes, held.add)
      if (data.byteLength === 0) throw new Refusal('body_invalid', 'body: expected a file, found nothing')
      const upload = { data, mediaType, ...(filename !== undefined && { filename }) }
      const kept = await withSession(services, caller, sessionId, async identity => {
        const done = await services.runtime.upload(sessionId, upload)
        await assertSameSession(services.manager, sessionId, identity)
        return done
      })
      return json(201, kept)
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/:sessionId/uploads/:hash',
    action: 'download',
    summary: 'A file that the session keeps, as it was given.',
    others: { 200: '*/*' },
    handle: async ({ services, caller, params }) => {
      const { sessionId, hash } = params as { sessionId: string; hash: string }
      const identity = await requireSession(services, caller, sessionId)
      const upload = await services.runtime.uploaded(sessionId, hash)
      await assertSameSession(services.manager, sessionId, identity)
      if (upload === undefined) throw new Refusal('upload_unknown', 'hash: the session keeps no such file')
      const { data, mediaType, filename } = upload
      return {
        status: 200,
        headers: {
          'content-type': mediaType,
          'content-disposition': dispositionOf(mediaType, filename),
          // Whatever it is, opened by itself it can do nothing here.
          'content-security-policy': "sandbox; default-src 'none'",
          'cache-control': KEPT_FOR_GOOD,
        },
        body: data,
      }
    },
  }),
]

/** What a file is said to be; nothing in particular, if nothing is said. */
function mediaTypeOf(header: string | null): string {
  const [type = '', ...parameters] = (header ?? 'application/octet-stream').toLowerCase().split(';')
  if (!isMediaType(type.trim())) {
    throw new Refusal('media_type_unknown', 'content-type: expected the type of the file, such as image/png')
  }
  const charset = parameters.map(parameter => parameter.trim()).find(parameter => CHARSET.test(parameter))
  return charset === undefined ? type.trim() : `${type.trim()}; ${charset}`
}

/** What a file is called, if it is called anything. */
function filenameOf(header: string | null): string | undefined {
  if (header === null) return undefined
  const name = decoded(header)
  if (name !== undefined && isFilename(name)) return name
  const expected = `a name of 1 to ${LONGEST_FILENAME} characters, as encodeURIComponent gives it`
  throw new Refusal('request_invalid', `X-Filename: expected ${expected}`)
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function dispositionOf(mediaType: string, filename: string | undefined): string {
  const [type = ''] = mediaType.split(';', 1)
  const kind = SHOWN.test(type) ? 'inline' : 'attachment'
  if (filename === undefined) return kind
  // Of what encodeURIComponent leaves as it is, a header wants these otherwise.
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, char => `%${char.charCodeAt(0).toString(16)}`)
  return `${kind}; filename*=UTF-8''${encoded}`
}
