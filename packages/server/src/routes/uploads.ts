import { uploadUsage } from '@millrace/runtime/internal'
import { HttpError } from '../errors/http-error.ts'
import { bytesOf } from '../http/body.ts'
import { json } from '../http/reply.ts'
import { route } from '../routing/route.ts'
import { Uploaded } from '../routing/schemas.ts'
import { isFilename, isMediaType, MAX_FILENAME_LENGTH, storeUpload } from '../runs/uploads.ts'
import { assertSameSession, requireSession, withSession } from '../sessions/session-access.ts'
import { IMMUTABLE } from './blobs.ts'

/** Media types that browsers may display because they cannot run scripts. All others are downloaded. */
const INLINE_TYPES = /^(image\/|audio\/|video\/|application\/pdf$|text\/plain$)/

const CHARSET = /^charset=[\w-]{1,32}$/
/** Routes that store and serve files. */
export const uploads = [
  route({
    method: 'POST',
    path: '/sessions/:sessionId/uploads',
    action: 'upload',
    summary: 'Stores a file in a session. A message attaches it with a part `{ type: "file", mediaType, url }`.',
    takesBytes: true,
    headers: { 'X-Filename': 'The filename, percent-encoded.' },
    replies: { 201: Uploaded },
    handle: async ({ services, caller, params, request, bodyBytes }) => {
      const sessionId = params['sessionId'] as string
      const { headers } = request
      const mediaType = mediaTypeOf(headers.get('content-type'))
      const filename = filenameOf(headers.get('x-filename'))
      // Checked before the body is read.
      await services.uploads.assertRoom(caller.owner)
      const data = await bytesOf(request, services.limits.uploadBytes, bodyBytes.add)
      if (data.byteLength === 0) throw new HttpError('body_invalid', 'body: expected a file, found an empty body')
      const upload = { data, mediaType, ...(filename !== undefined && { filename }) }
      const stored = await withSession(services, caller, sessionId, async identity => {
        const done = await storeUpload(services, caller.owner, identity, upload)
        await assertSameSession(services.manager, identity)
        return done
      })
      return json(201, stored)
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/:sessionId/uploads/:hash',
    action: 'download',
    summary: 'Downloads a file of a session.',
    otherReplies: { 200: '*/*' },
    handle: async ({ services, caller, params, replyBytes }) => {
      const { sessionId, hash } = params as { sessionId: string; hash: string }
      const identity = await requireSession(services, caller, sessionId)
      const { streamId } = identity
      // Before the file is read.
      replyBytes.add((await uploadUsage(services.manager, { streamId, hash }))?.bytes ?? 0)
      const upload = await services.runtime.uploaded(streamId, hash)
      await assertSameSession(services.manager, identity)
      if (upload === undefined)
        throw new HttpError('upload_unknown', 'hash: expected the hash of a file in this session')
      const { data, mediaType, filename } = upload
      return {
        status: 200,
        headers: {
          'content-type': mediaType,
          'content-disposition': dispositionOf(mediaType, filename),
          // Opened directly, the file cannot run scripts on this origin.
          'content-security-policy': "sandbox; default-src 'none'",
          'cache-control': IMMUTABLE,
        },
        body: data,
      }
    },
  }),
]

/** The media type of a file. @default 'application/octet-stream' */
function mediaTypeOf(header: string | null): string {
  const [type = '', ...parameters] = (header ?? 'application/octet-stream').toLowerCase().split(';')
  if (!isMediaType(type.trim())) {
    throw new HttpError('media_type_unknown', 'content-type: expected the media type of the file, such as image/png')
  }
  const charset = parameters.map(parameter => parameter.trim()).find(parameter => CHARSET.test(parameter))
  return charset === undefined ? type.trim() : `${type.trim()}; ${charset}`
}

/** The filename of an upload, if the client sent one. @throws `request_invalid` */
function filenameOf(header: string | null): string | undefined {
  if (header === null) return undefined
  const name = decode(header)
  if (name !== undefined && isFilename(name)) return name
  const expected = `a name of 1 to ${MAX_FILENAME_LENGTH} characters, percent-encoded`
  throw new HttpError('request_invalid', `X-Filename: expected ${expected}`)
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function dispositionOf(mediaType: string, filename: string | undefined): string {
  const [type = ''] = mediaType.split(';', 1)
  const kind = INLINE_TYPES.test(type) ? 'inline' : 'attachment'
  if (filename === undefined) return kind
  // RFC 8187 requires these characters encoded, unlike encodeURIComponent.
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, char => `%${char.charCodeAt(0).toString(16)}`)
  return `${kind}; filename*=UTF-8''${encoded}`
}
