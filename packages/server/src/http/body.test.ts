import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { HttpError } from '../errors/http-error.ts'
import { bytesOf, jsonOf, MAX_BODY_DEPTH, MAX_BODY_VALUES } from './body.ts'

const RUNS = multiplied(100)

const posted = (body: BodyInit, headers: Record<string, string> = {}) =>
  new Request('http://localhost/', {
    method: 'POST',
    body,
    duplex: 'half',
    headers: { 'content-type': 'application/json', ...headers },
  } as RequestInit)

/** A body that arrives in pieces. */
const inPieces = (pieces: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift()
      if (piece) controller.enqueue(piece)
      else controller.close()
    },
  })

const codeOf = async (request: Request, limit = 1000) => {
  try {
    await jsonOf(request, limit)
    return 'none'
  } catch (error) {
    return error instanceof HttpError ? error.code : `not typed: ${error}`
  }
}

describe('the JSON of a body', () => {
  it('is decoded correctly however it is split', async () => {
    const property = fc.asyncProperty(
      fc.jsonValue({ maxDepth: 10 }),
      fc.integer({ min: 1, max: 7 }),
      async (value, size) => {
        const bytes = new TextEncoder().encode(JSON.stringify(value))
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.slice(i * size, (i + 1) * size),
        )
        expect(await jsonOf(posted(inPieces(pieces)), 100_000)).toEqual(JSON.parse(JSON.stringify(value)))
      },
    )
    await fc.assert(property, { numRuns: RUNS })
  })

  it('has a limited number of values, and commas in texts do not count', async () => {
    const limit = 10 * MAX_BODY_VALUES
    const list = (count: number) => posted(`[${Array(count).fill('0').join()}]`)
    expect(await codeOf(list(MAX_BODY_VALUES), limit)).toBe('none')
    expect(await codeOf(list(MAX_BODY_VALUES + 1), limit)).toBe('body_invalid')
    expect(await codeOf(posted(`[${Array(MAX_BODY_VALUES).fill('{}').join()}]`), limit)).toBe('body_invalid')
    expect(await codeOf(posted(JSON.stringify({ text: ',[{'.repeat(MAX_BODY_VALUES) })), limit)).toBe('none')
  })

  it('is parsed one per turn of the event loop if it is large', async () => {
    let turns = 0
    let isDone = false
    const count = () => {
      turns++
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    const at: number[] = []
    const bodies = Array.from({ length: 5 }, async () => {
      await jsonOf(posted(JSON.stringify('x'.repeat(300_000))), 1_000_000)
      at.push(turns)
    })
    await Promise.all(bodies)
    isDone = true
    expect(new Set(at).size).toBe(5)
  })

  it('is an empty object if an empty body has a JSON type', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(await jsonOf(new Request('http://localhost/', { method: 'POST', headers }), 10)).toEqual({})
    expect(await jsonOf(posted('', headers), 10)).toEqual({})
  })

  it('must have a JSON type, also if it is empty: a form without fields has an empty body', async () => {
    const empty = new Request('http://localhost/', { method: 'POST' })
    await expect(jsonOf(empty, 10)).rejects.toMatchObject({ code: 'media_type_unknown' })
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
      expect([type, await codeOf(posted('', { 'content-type': type }))]).toEqual([type, 'media_type_unknown'])
    }
  })

  it.each([
    ['application/json', 'none'],
    ['Application/JSON; charset=UTF-8', 'none'],
    ['application/json;charset="utf-8"', 'none'],
    ['application/json; charset=latin1', 'media_type_unknown'],
    ['application/json-seq', 'media_type_unknown'],
    ['text/json', 'media_type_unknown'],
    ['application/json, text/plain', 'media_type_unknown'],
  ])('must have a JSON type: %s gives the error %s', async (type, code) => {
    expect(await codeOf(posted('{}', { 'content-type': type }))).toBe(code)
  })

  it('may nest up to the limit, and brackets in strings do not count', async () => {
    const nested = (levels: number) => `${'['.repeat(levels)}"[[[[\\"{{{"${']'.repeat(levels)}`
    expect(await codeOf(posted(nested(MAX_BODY_DEPTH)))).toBe('none')
    expect(await codeOf(posted(nested(MAX_BODY_DEPTH + 1)))).toBe('body_invalid')
    expect(await codeOf(posted(`"${'['.repeat(500)}"`))).toBe('none')
  })

  it('is the client’s fault if it breaks off', async () => {
    const broken = new ReadableStream({ pull: controller => controller.error(new Error('gone')) })
    expect(await codeOf(posted(broken))).toBe('body_invalid')
  })
})

it('accepts exactly the maximum number of bytes', async () => {
  const bytes = (length: number) => posted(new Uint8Array(length))
  expect((await bytesOf(bytes(1000), 1000)).byteLength).toBe(1000)
  await expect(bytesOf(bytes(1001), 1000)).rejects.toMatchObject({ code: 'body_too_large', status: 413 })
  // A declared length above the limit is refused unread.
  const unread = posted('{}', { 'content-length': '1001' })
  await expect(bytesOf(unread, 1000)).rejects.toMatchObject({ code: 'body_too_large' })
  expect(unread.bodyUsed).toBe(false)
})
