import { expect, onTestFinished, test, vi } from 'vitest'
import { resumableResponse } from './resumable-response.ts'

const FRAMES = [
  'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n',
  'data: {"type":"TEXT_MESSAGE_CONTENT","delta":"é"}\n\n',
  'id: 1\n\n',
  ': keep-alive\n\n',
  'data: {"type":"TEXT_MESSAGE_CONTENT","delta":"😀"}\n\n',
  'data: {"type":"TEXT_MESSAGE_CONTENT","delta":"\\n\\nid: 9"}\n\n',
  'id: 2\n\n',
  'data: {"type":"TEXT_MESSAGE_CONTENT","delta":"c"}\n\n',
  'id: 3\n\n',
  'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\n',
]
const WHOLE = FRAMES.filter(frame => frame.startsWith('data:')).join('')

/** What lies after a place, cut off after so many bytes: by a break, or as if that were all. */
function reply(after: string | undefined, bytes = Number.POSITIVE_INFINITY, how: 'break' | 'end' = 'break'): Response {
  const from = after === undefined ? 0 : FRAMES.indexOf(`id: ${after}\n\n`) + 1
  const all = new TextEncoder().encode(FRAMES.slice(from).join(''))
  let isTold = false
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isTold) {
        if (bytes >= all.length || how === 'end') return controller.close()
        // What is told before an error has to be read before it.
        return controller.error(new TypeError('terminated'))
      }
      isTold = true
      controller.enqueue(all.subarray(0, Math.min(bytes, all.length)))
    },
  })
  return new Response(body, { headers: { 'x-run-id': 'ours%20', 'content-type': 'text/event-stream' } })
}

const dataIn = (text: string): string => text.replace(/^(?!data:).*\n\n/gm, '')

test.each(['break', 'end'] as const)(
  'wherever a connection is cut off (%s), all is told, and once (law 2)',
  async how => {
    const { length } = new TextEncoder().encode(FRAMES.join(''))
    const cut = async (bytes: number) => {
      const places: unknown[] = []
      const body = await resumableResponse({
        first: async () => reply(undefined, bytes, how),
        again: async place => {
          places.push(place)
          return reply(place.after)
        },
      })
      expect(dataIn(await body.text())).toBe(WHOLE)
      return places
    }
    const asked = await Promise.all(Array.from({ length: length + 1 }, (_, bytes) => cut(bytes)))
    expect(asked[0]).toEqual([{ run: 'ours ', after: undefined }])
    expect(asked.at(-2)).toEqual([{ run: 'ours ', after: '3' }])
    expect(asked.at(-1)).toEqual([])
  },
)

test('a refusal, or too many attempts that bring nothing, is a failure of the run (law 7)', async () => {
  const told = async (again: () => Promise<Response>) => {
    const body = await resumableResponse({ first: async () => reply(undefined, 200), again, retries: 1 })
    return (await body.text()).trim().split('\n\n').at(-1)
  }
  const gone = await told(async () => new Response('', { status: 404 }))
  expect(gone).toContain('"RUN_ERROR"')
  expect(gone).toContain('HTTP 404')
  expect(await told(() => Promise.reject(new TypeError('fetch failed')))).toContain('could not be taken up again')
})

test('a connection that goes silent is given up, and taken up again', async () => {
  const silent = new Response(new ReadableStream(), { headers: { 'x-run-id': 'r' } })
  const body = await resumableResponse({
    first: async () => silent,
    again: async ({ after }) => reply(after),
    silenceMs: 5,
  })
  expect(dataIn(await body.text())).toBe(WHOLE)
})

test('who leaves is not brought back', async () => {
  const leaving = new AbortController()
  const silent = new Response(new ReadableStream(), { headers: { 'x-run-id': 'r' } })
  const again = () => Promise.reject(new Error('asked again'))
  const body = await resumableResponse({ first: async () => silent, again, signal: leaving.signal })
  const read = body.text()
  leaving.abort()
  await expect(read).rejects.toMatchObject({ name: 'AbortError' })
})

test('what there is nothing of is an empty stream, and what is refused at once stays a refusal', async () => {
  const none = await resumableResponse({ again: async () => new Response(null, { status: 204 }) })
  expect([none.status, await none.text()]).toEqual([200, ''])
  const refused = await resumableResponse({ again: async () => new Response('no', { status: 403 }) })
  expect([refused.status, await refused.text()]).toEqual([403, 'no'])
})

test('a server that tells the same place again and again is given up, and what it told is told once', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let asked = 0
  const { length } = new TextEncoder().encode(FRAMES.slice(0, 3).join(''))
  const again = async () => {
    asked++
    return reply(undefined, length)
  }
  const body = await resumableResponse({ first: again, again })
  const read = body.text()
  await vi.advanceTimersByTimeAsync(600_000)
  const [told, end] = (await read).split(/(?=data: \{"type":"RUN_ERROR")/)
  expect(told).toBe(FRAMES.slice(0, 2).join(''))
  expect(end).toContain('connection_lost')
  expect(asked).toBeLessThan(12)
})
