// Schedules of changed requests: every route, method, content type and dialect, drawn from a seed. `npm run chaos` plays
// some ten thousand, and measures what they cost other users.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryStore } from '@millrace/log'
import { sqliteStore } from '@millrace/log/sqlite'
import { useInterrupt, workflow } from '@millrace/runtime'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  firstSeed,
  multiplied,
  reportFailed,
  reportPlayed,
  scheduleCount,
} from '../../../../../scripts/faults/campaign.ts'
import type { MillraceOptions } from '../../app/options.ts'
import type { Limits } from '../../auth/limits.ts'
import { MAX_BODY_VALUES } from '../../http/body.ts'
import { changedRequests } from '../../routing/fuzz.fixture.ts'
import {
  AnyErrorSchema,
  question,
  SECRETS,
  type TestRequest,
  TwoUserServer,
} from '../../routing/two-user-server.fixture.ts'
import { prepareSessions, type ValidRequest, validRequests } from '../../routing/valid-requests.fixture.ts'

const FILE = 'packages/server/src/test/requests/changed-requests'
/** Requests of a schedule, one at a time, to a server that starts no run: each must change nothing if it is refused. */
const REQUESTS_ONE_BY_ONE = 200
/** Requests of a schedule that arrive ten at a time, while another user sends requests too. */
const REQUESTS_AT_ONCE = 300
const AT_ONCE = 10
/** Time after which a client leaves a server that starts no run, in ms. */
const LEAVE_MS = 1_000

const SCHEDULES = scheduleCount(1)
/** Times and memory are measured only by `npm run chaos`. */
const isMeasured = SCHEDULES > 1 || multiplied(1) > 1
/**
 * How long the event loop may work while a request of another user waits, in ms of CPU time, which other processes on the
 * machine do not change. This includes the work of the test itself.
 */
const MAX_LATENCY_MS = 500
const MAX_MEDIAN_LATENCY_MS = 10
/** How much the heap may grow after the first schedule, in bytes. */
const MAX_GROWTH_BYTES = 128 * 1024 * 1024

const limits: Partial<Limits> = { requestsPerMinute: 10_000_000, sessions: 100_000, streams: 64 }

/** A form whose pattern takes exponential time. */
const EVIL = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } }
const form = workflow({
  id: 'form',
  nodes: { ask: async () => ({ data: await useInterrupt({ request: { kind: 'form', schema: EVIL } }) }) },
  edges: [
    ['start', 'ask'],
    ['ask', 'end'],
  ],
})

const serverWith = (options: MillraceOptions): TwoUserServer =>
  new TwoUserServer({ limits, stream: { pollMs: 10 }, ...options, workflows: [question, form] })

/** The requests that a schedule changes: a valid one for every route, and some that are expensive. */
async function preparedRequests(testServer: TwoUserServer): Promise<readonly Omit<ValidRequest, 'status'>[]> {
  const valid = Object.values(validRequests(await prepareSessions(testServer)))
  await testServer.run('form', { workflow: 'form', input: 'go' })
  const runtime = await testServer.app.runtime()
  const id = (await runtime.view('form')).view.pendings[0]?.id
  const response = { name: `${'a'.repeat(60)}!` }
  const messages = Array.from({ length: 2_000 }, (_, n) => ({
    id: `m${n}`,
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: 'x'.repeat(500),
    parts: [{ type: 'text', text: 'x'.repeat(500) }],
  }))
  // Eight mebibytes of values that are wrong, and as many as may be parsed.
  const wrong = (one: string, count = MAX_BODY_VALUES - 100) => Array(count).fill(one).join()
  const json = { 'content-type': 'application/json' }
  return [
    ...valid,
    { path: '/api/ai-sdk/echo', raw: `{"id":"x","messages":[${wrong('{}', 2_700_000)}]}`, headers: json },
    { path: '/api/ai-sdk/echo', raw: `{"id":"x","messages":[${wrong('0')}]}`, headers: json },
    { path: '/api/ag-ui/echo', raw: `{"threadId":"x","runId":"r","messages":[${wrong('{}')}]}`, headers: json },
    { path: '/api/tanstack/echo', raw: `{"threadId":"x","runId":"r","messages":[${wrong('{}')}]}`, headers: json },
    { path: '/api/sessions/mine/runs', raw: `{"agent":"echo","input":{"parts":[${wrong('0')}]}}`, headers: json },
    { path: '/api/sessions/form/answers', body: { kind: 'interrupt', id, response } },
    { path: '/api/sessions/large' },
    { path: '/api/ai-sdk/echo', body: { id: 'long', messages } },
    { path: '/api/ag-ui/echo', body: { threadId: 'long', runId: 'r-long', messages } },
    { path: '/api/tanstack/echo', body: { threadId: 'long', runId: 'r-long', messages } },
    { path: '/api/sessions/mine/uploads', raw: Buffer.alloc(1024 * 1024), headers: { 'content-type': 'image/png' } },
  ]
}

/**
 * Sends a request, and reads the reply, or the beginning of a stream. Undefined if it cannot be constructed, or if the
 * client leaves before there is a reply.
 */
async function outcomeOf(testServer: TwoUserServer, sent: TestRequest, leaving?: AbortSignal) {
  let request: Request
  try {
    request = testServer.request(sent)
    if (leaving) request = new Request(request, { signal: leaving })
  } catch {
    return undefined
  }
  // Also after the client has left: what the request does must not be mistaken for an effect of the next one.
  const response = await testServer.app.fetch(request)
  if (leaving?.aborted) return undefined
  const { status, headers } = response
  const type = headers.get('content-type') ?? ''
  if (!/event-stream|ndjson/.test(type)) return { status, type, text: await response.text() }
  const reader = response.body?.getReader()
  // A format without a frame for errors drops the connection, for example when another request deletes the session.
  await reader?.read().catch(() => {})
  await reader?.cancel().catch(() => {})
  return { status, type, text: '' }
}

/** @throws with the beginning of the request and of its reply, unless the condition holds */
function check(holds: boolean, what: string, sent: TestRequest, { status, text }: Outcome): void {
  if (holds) return
  throw new Error(`expected ${what}, found ${status} ${text.slice(0, 500)}, for ${JSON.stringify(sent).slice(0, 1000)}`)
}

type Outcome = NonNullable<Awaited<ReturnType<typeof outcomeOf>>>

/** Whether a request was refused, with an error of the documented shape. */
function isRefused(sent: TestRequest, outcome: Outcome): boolean {
  const { status, type, text } = outcome
  check(status < 500, 'no error of the server', sent, outcome)
  for (const secret of Object.values(SECRETS)) check(!text.includes(secret), 'no secret', sent, outcome)
  if (status < 400) return false
  if (text === '') return true
  check(type === 'application/json; charset=utf-8', 'an error as JSON', sent, outcome)
  check(AnyErrorSchema.safeParse(JSON.parse(text)).success, 'the shape of an error', sent, outcome)
  return true
}

/** Waits until what an accepted request has started, such as a stop after its client left, is written. */
async function settled(testServer: TwoUserServer): Promise<void> {
  for (let content = ''; ; ) {
    for (let n = 0; n < 20; n++) await turn()
    const next = await testServer.storeContent()
    if (next === content) return
    content = next
  }
}

const drawn = (requests: readonly Omit<ValidRequest, 'status'>[], seed: number, count: number) =>
  fc.sample(changedRequests(requests), { seed, numRuns: count })

function collectGarbage(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

/** CPU time of this thread, or of the process in a Node that cannot tell, in ms. */
function cpuMs(): number {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)()
  return (user + system) / 1000
}

const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

describe('schedules of changed requests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-requests-'))
  const latencies: number[] = []
  let heapBytes: number | undefined
  let growthBytes = 0

  afterAll(() => rmSync(folder, { recursive: true }))

  it.each(Array.from({ length: SCHEDULES }, (_, i) => firstSeed() + i))(
    'seed %i: replies are typed, refused requests change nothing, and others are served',
    async seed => {
      try {
        await oneByOne(seed)
        await atOnce(seed)
      } catch (error) {
        const again = `npm run chaos -- --runs 1 --seed ${seed} ${FILE}`
        reportFailed({ seed, again, output: String(error) })
        throw new Error(`seed ${seed} failed. To repeat: ${again}`, { cause: error })
      }
      reportPlayed({ faults: REQUESTS_ONE_BY_ONE + REQUESTS_AT_ONCE })
    },
  )

  async function oneByOne(seed: number): Promise<void> {
    const memory = memoryStore()
    const preparing = serverWith({ store: memory })
    const prepared = await preparedRequests(preparing)
    await preparing.app.close()
    // Without an engine, nothing changes by itself.
    const quiet = serverWith({ store: memory, engine: false })
    try {
      let refused = 0
      for (const sent of drawn(prepared, seed, REQUESTS_ONE_BY_ONE)) {
        const before = await quiet.storeContent()
        // Nothing runs, so a reply that waits for a run never comes.
        const outcome = await outcomeOf(quiet, sent, AbortSignal.timeout(LEAVE_MS))
        if (outcome !== undefined && isRefused(sent, outcome)) {
          refused++
          check((await quiet.storeContent()) === before, 'an unchanged log', sent, outcome)
        } else await settled(quiet)
      }
      expect(refused).toBeGreaterThan(REQUESTS_ONE_BY_ONE / 4)
      expect(unhandled).toEqual([])
    } finally {
      await quiet.app.close()
    }
  }

  async function atOnce(seed: number): Promise<void> {
    const store = sqliteStore({ path: join(folder, `${seed}.db`) })
    const busy = serverWith({ store })
    try {
      await attack(busy, seed)
    } finally {
      await busy.app.close()
      await store.close()
    }
    if (!isMeasured) return
    const bytes = collectGarbage()
    heapBytes ??= bytes
    growthBytes = bytes - heapBytes
  }

  async function attack(busy: TwoUserServer, seed: number): Promise<void> {
    const all = drawn(await preparedRequests(busy), seed, REQUESTS_AT_ONCE)
    let isDone = false
    const bystander = async () => {
      while (!isDone) {
        const from = cpuMs()
        const { status } = await busy.send({ path: '/api/sessions', user: 'zoe' })
        latencies.push(cpuMs() - from)
        expect(status).toBe(200)
        await turn()
      }
    }
    const attacker = async () => {
      for (let sent = all.pop(); sent; sent = all.pop()) {
        const outcome = await outcomeOf(busy, sent)
        if (outcome !== undefined) isRefused(sent, outcome)
      }
    }
    const served = bystander()
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, attacker))
    } finally {
      isDone = true
    }
    await served
    expect(unhandled).toEqual([])
    // The driver of a deleted session logs that it lost the lease.
    expect(busy.logged.filter(({ message }) => message !== 'lost the lease of a session')).toEqual([])
  }

  if (!isMeasured) return
  it('others wait at most a bounded time, and the memory is bounded', () => {
    const sorted = latencies.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
    const figures = {
      requests: sorted.length,
      median: at(0.5),
      p99: at(0.99),
      max: at(1),
      growth: growthBytes / 2 ** 20,
    }
    console.log(`other users, in ms, and growth of the heap, in MiB: ${JSON.stringify(figures)}`)
    expect(figures.median).toBeLessThan(MAX_MEDIAN_LATENCY_MS)
    expect(figures.max).toBeLessThan(MAX_LATENCY_MS)
    expect(growthBytes).toBeLessThan(MAX_GROWTH_BYTES)
  })
})
