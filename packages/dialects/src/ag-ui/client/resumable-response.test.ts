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
const ALL_EVENTS = FRAMES.filter(frame => frame.startsWith('data:')).join('')

/** The frames after a mark, truncated after a number of bytes by an error or by a normal end. */
function reply(after: string | undefined, bytes = Number.POSITIVE_INFINITY, how: 'break' | 'end' = 'break'): Response {
  const from = after === undefined ? 0 : FRAMES.indexOf(`id: ${after}\n\n`) + 1
  const all = new TextEncoder().encode(FRAMES.slice(from).join(''))
  let isSent = false
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isSent) {
        if (bytes >= all.length || how === 'end') return controller.close()
        // The bytes before an error have to be read first.
        return controller.error(new TypeError('terminated'))
      }
      isSent = true
      controller.enqueue(all.subarray(0, Math.min(bytes, all.length)))
    },
  })
  return new Response(body, { headers: { 'x-run-id': 'ours%20', 'content-type': 'text/event-stream' } })
}

const dataIn = (text: string): string => text.replace(/^(?!data:).*\n\n/gm, '')

test.each(['break', 'end'] as const)(
  'delivers every event once, wherever the connection drops (%s) (law 2)',
  async how => {
    const { length } = new TextEncoder().encode(FRAMES.join(''))
    const dropAt = async (bytes: number) => {
      const positions: unknown[] = []
      const body = await resumableResponse({
        first: async () => reply(undefined, bytes, how),
        reconnect: async position => {
          positions.push(position)
          return reply(position.after)
        },
      })
      expect(dataIn(await body.text())).toBe(ALL_EVENTS)
      return positions
    }
    const requests = await Promise.all(Array.from({ length: length + 1 }, (_, bytes) => dropAt(bytes)))
    expect(requests[0]).toEqual([{ run: 'ours ', after: undefined }])
    expect(requests.at(-2)).toEqual([{ run: 'ours ', after: '3' }])
    expect(requests.at(-1)).toEqual([])
  },
)

test('fails the run after a refusal or too many attempts (law 7)', async () => {
  const lastFrame = async (reconnect: () => Promise<Response>) => {
    const body = await resumableResponse({ first: async () => reply(undefined, 200), reconnect, retries: 1 })
    return (await body.text()).trim().split('\n\n').at(-1)
  }
  const notFound = await lastFrame(async () => new Response('', { status: 404 }))
  expect(notFound).toContain('"RUN_ERROR"')
  expect(notFound).toContain('HTTP 404')
  expect(await lastFrame(() => Promise.reject(new TypeError('fetch failed')))).toContain('could not be resumed')
})

test('reconnects when a connection goes silent', async () => {
  const emptyResponse = new Response(new ReadableStream(), { headers: { 'x-run-id': 'r' } })
  const body = await resumableResponse({
    first: async () => emptyResponse,
    reconnect: async ({ after }) => reply(after),
    silenceMs: 5,
  })
  expect(dataIn(await body.text())).toBe(ALL_EVENTS)
})

test('does not reconnect after an abort', async () => {
  const aborter = new AbortController()
  const emptyResponse = new Response(new ReadableStream(), { headers: { 'x-run-id': 'r' } })
  const reconnect = () => Promise.reject(new Error('asked again'))
  const body = await resumableResponse({ first: async () => emptyResponse, reconnect, signal: aborter.signal })
  const read = body.text()
  aborter.abort()
  await expect(read).rejects.toMatchObject({ name: 'AbortError' })
})

test('returns an empty stream without an open run and passes a refusal through', async () => {
  const none = await resumableResponse({ reconnect: async () => new Response(null, { status: 204 }) })
  expect([none.status, await none.text()]).toEqual([200, ''])
  const refused = await resumableResponse({ reconnect: async () => new Response('no', { status: 403 }) })
  expect([refused.status, await refused.text()]).toEqual([403, 'no'])
})

test('gives up on a server that repeats the same mark, and emits its events once', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let requests = 0
  const { length } = new TextEncoder().encode(FRAMES.slice(0, 3).join(''))
  const reconnect = async () => {
    requests++
    return reply(undefined, length)
  }
  const body = await resumableResponse({ first: reconnect, reconnect })
  const read = body.text()
  await vi.advanceTimersByTimeAsync(600_000)
  const [lastFrame, end] = (await read).split(/(?=data: \{"type":"RUN_ERROR")/)
  expect(lastFrame).toBe(FRAMES.slice(0, 2).join(''))
  expect(end).toContain('connection_lost')
  expect(requests).toBeLessThan(12)
})
