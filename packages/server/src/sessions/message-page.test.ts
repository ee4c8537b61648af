import { type Chunk, type Entry, Fold, foldLog, type Origin, type View } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { RandomSession, randomActions } from '../stream/random-session.fixture.ts'
import { ID, StreamServer, shownOf } from '../stream/stream-server.fixture.ts'
import { messagePageOf } from './message-page.ts'

const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** The page of a view as a client receives it. */
function taken(view: View, n: number) {
  const paged = messagePageOf(shownOf(view), { messages: `last:${n}` })
  if (paged.view === undefined) throw new Error('a page at the cursor has a view')
  return { view: clone(paged.view), page: paged.page }
}

/** The runs and requests that a page omits. */
const leftOut = (before: View, { runs, requests }: Pick<View, 'runs' | 'requests'>): ReadonlySet<string> => {
  const runIds = new Set([...runs, ...requests].map(({ runId }) => runId))
  return new Set([...before.runs, ...before.requests].flatMap(({ runId }) => (runIds.has(runId) ? [] : [runId])))
}

/**
 * A page folded with later entries equals the whole view, except for finished messages and ended runs. The messages and runs of the page
 * are the same, in the same order.
 */
function expectSame(folded: View, whole: View, done: ReadonlySet<string>, over: ReadonlySet<string>): void {
  const { messages, ...rest } = shownOf(folded)
  const { messages: all, runs, requests, ...others } = shownOf(whole)
  const isGiven = ({ runId }: { readonly runId: string }) => !over.has(runId)
  expect(clone(rest)).toEqual(clone({ ...others, runs: runs.filter(isGiven), requests: requests.filter(isGiven) }))
  expect(clone(messages)).toEqual(clone(all.filter(({ id }) => !done.has(id))))
}

const WORKERS = ['main', 'tool', 'child', 'grandchild'] as const
const KINDS = [
  'text',
  'text',
  'text-end',
  'data',
  'object',
  'meta',
  'call',
  'call',
  'input',
  'ask',
  'answer',
  'output',
  'output',
  'commit',
  'commit',
  'discard',
  'start',
  'stop',
  'pause',
  'user',
  'used',
  'end',
] as const

interface LogAction {
  readonly kind: (typeof KINDS)[number]
  readonly by: (typeof WORKERS)[number]
  readonly n: number
}

const scripts: fc.Arbitrary<LogAction[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), by: fc.constantFrom(...WORKERS), n: fc.nat(5) }),
  { minLength: 10, maxLength: 80, size: 'max' },
)

/** A session of consecutive runs of an agent with tools, a sub-agent and a nested one; chunks that would violate the protocol are skipped. */
function logOf(script: readonly LogAction[]): Entry[] {
  const entries: Entry[] = []
  const fold = new Fold({ onReport: () => entries.pop() })
  let run = 0
  const write = (origin: Origin, ...chunks: object[]) => {
    for (const chunk of chunks) {
      const sequence = (entries.at(-1)?.sequence ?? 0) + 1
      entries.push({
        sequence: Math.max(sequence, fold.head + 1),
        timestamp: 1_000 + sequence,
        origin,
        chunk: chunk as Chunk,
      })
      fold.apply(entries.slice(-1))
    }
  }
  for (const { kind, by, n } of script) {
    const isOpen = fold.view().runs.at(-1)?.finishedAt === undefined && run > 0
    if (!isOpen) run++
    const runId = `r${run}`
    const agentOf = (worker: string) => (worker === 'main' || worker === 'tool' ? runId : `${worker}${runId}`)
    const originOf = (worker: string): Origin => {
      return { runId, lane: worker, agentId: agentOf(worker), agentType: 'a', step: 1 }
    }
    const main = originOf('main')
    if (!isOpen) write(main, { type: 'run-started', program: 'agent:a@1' })
    const origin = originOf(by)
    const toolCallId = `${runId}:${by}:${n}`
    const { agentId } = origin as { agentId: string }
    const chunks: Record<LogAction['kind'], () => void> = {
      text: () => write(origin, { type: 'text-delta', id: `${by}${n % 2}`, delta: 'word ' }),
      'text-end': () => write(origin, { type: 'text-end', id: `${by}${n % 2}` }),
      data: () => write(origin, { type: 'data-x', id: `${by}${n % 2}`, data: n }),
      object: () =>
        write(origin, { type: 'structured-data', streamId: by, dataType: 'd', kind: 'set', path: 'a', value: n }),
      meta: () => write(origin, { type: 'message-metadata', metadata: { [by]: n } }),
      call: () =>
        write(origin, {
          type: 'tool-input-available',
          toolCallId,
          toolName: 't',
          input: n,
          executor: n % 2 ? 'client' : 'server',
        }),
      input: () => write(origin, { type: 'tool-input-delta', toolCallId, delta: '1' }),
      ask: () =>
        write(
          origin,
          { type: 'tool-approval-request', toolCallId, approvalId: toolCallId, input: n },
          { type: 'checkpoint-created', checkpointId: 'c' },
        ),
      answer: () =>
        write(
          { guest: 'ada', runId },
          { type: 'tool-approval-response', toolCallId, approvalId: toolCallId, approved: true },
        ),
      output: () =>
        write(n % 2 ? { guest: 'ada', runId } : origin, { type: 'tool-output-available', toolCallId, output: n }),
      commit: () => write(origin, { type: 'checkpoint-created', checkpointId: 'c' }),
      discard: () => write(origin, { type: 'step-discarded', reason: 'retry' }),
      start: () => {
        const [parent, child] = n % 2 ? ['main', 'child'] : ['child', 'grandchild']
        write(originOf(parent as string), {
          type: 'subagent-start',
          agentId: agentOf(child as string),
          agentType: 'a',
          toolCallId,
        })
      },
      stop: () => {
        if (agentId !== runId)
          write(origin, { type: 'subagent-end', agentId, agentType: 'a', toolCallId, status: 'completed' })
      },
      pause: () => write(main, { type: n % 2 ? 'run-paused' : 'run-resumed', awaits: [], mode: 'continue' }),
      user: () =>
        write(main, {
          type: 'message',
          messageId: `m${entries.length}`,
          role: 'user',
          parts: [{ type: 'text', text: 'hi' }],
        }),
      used: () => write(origin, { type: 'step-finish', usage: { inputTokens: n } }),
      end: () => n < 3 && write(main, { type: 'run-finished', status: 'completed' }),
    }
    chunks[kind]()
  }
  return entries
}

describe('a page at the cursor', () => {
  test('can be folded with later entries from any position, like the full view', () => {
    let left = 0
    let ended = 0
    let touched = 0
    fc.assert(
      fc.property(scripts, fc.integer({ min: 1, max: 3 }), (script, n) => {
        const log = logOf(script)
        const whole = foldLog(log).view()
        for (let at = 0; at <= log.length; at++) {
          const before = foldLog(log.slice(0, at)).view()
          const { view, page } = taken(before, n)
          const messageIds = new Set(view.messages.map(({ id }) => id))
          const done = new Set(before.messages.map(({ id }) => id).filter(id => !messageIds.has(id)))
          expect(page).toMatchObject({ total: before.messages.length, hasMore: done.size > 0 })
          expect(messageIds.size).toBeGreaterThanOrEqual(Math.min(n, before.messages.length))
          // A running agent is shown together with the agent that called it.
          const parents = view.messages.flatMap(({ status, parent }) => (status === 'streaming' && parent) || [])
          expect(parents.filter(({ messageId }) => done.has(messageId))).toEqual([])
          const over = leftOut(before, view)
          const isOpen = ({ runId, finishedAt }: View['runs'][0]) => over.has(runId) && finishedAt === undefined
          expect(before.runs.filter(isOpen)).toEqual([])
          ended += over.size
          left += done.size
          touched += Math.max(0, messageIds.size - n)
          const reports: unknown[] = []
          const fold = Fold.from(view, { onReport: report => reports.push(report) })
          fold.apply(log.slice(at))
          expect(reports).toEqual([])
          expectSame(fold.view(), whole, done, over)
        }
      }),
      { numRuns: multiplied(25) },
    )
    expect(ended).toBeGreaterThan(100)
    expect(left).toBeGreaterThan(500)
    expect(touched).toBeGreaterThan(100)
  })

  test('can be followed in a session with rewinds, by reading a page again', async () => {
    let rewinds = 0
    await fc.assert(
      fc.asyncProperty(fc.array(randomActions, { minLength: 10, maxLength: 40, size: 'max' }), async script => {
        const { manager } = new StreamServer({ manager: { coalesceMs: 0 } })
        await manager.createStream(ID)
        const session = new RandomSession(manager)
        for (const action of script) await session.perform(action)
        await session.releaseLog()
        const { head = 0 } = (await manager.getInfo(ID)) ?? {}
        if (head === 0) return
        const log = (await manager.entries(ID, 0, head)).filter(({ internal }) => !internal)
        const { view: whole } = await manager.view(ID)
        for (let at = 0; at < head; at++) {
          let done: ReadonlySet<string> = new Set()
          let over = done
          const takePage = async (sequence: number): Promise<Fold> => {
            const { view: before } = await manager.view(ID, sequence)
            const { view } = taken(before, 1)
            const messageIds = new Set(view.messages.map(({ id }) => id))
            done = new Set(before.messages.flatMap(({ id }) => (messageIds.has(id) ? [] : [id])))
            over = leftOut(before, view)
            return Fold.from(view)
          }
          let fold = await takePage(at)
          const rest = log.filter(({ sequence }) => sequence > at)
          for (let refold = fold.apply(rest, head); refold; refold = fold.apply(refold.rest, refold.through)) {
            rewinds++
            fold = await takePage(fold.head)
          }
          expectSame(fold.view(), whole, done, over)
        }
      }),
      { numRuns: multiplied(8) },
    )
    expect(rewinds).toBeGreaterThan(20)
  })

  test('costs as much as it contains, however long the session is', () => {
    const log: Entry[] = []
    const write = (origin: Origin, chunk: object) => {
      log.push({ sequence: log.length + 1, timestamp: 1, origin, chunk: chunk as Chunk })
    }
    for (let turn = 1; turn <= 600; turn++) {
      const runId = `r${turn}`
      const origin: Origin = { runId, lane: 'main', agentId: runId, agentType: 'a', step: 1 }
      const message = { messageId: `m${turn}`, role: 'user', parts: [{ type: 'text', text: 'word '.repeat(100) }] }
      write({ guest: 'ada' }, { type: 'run-requested', runId, program: 'agent:a', message })
      if (turn === 2) write({ guest: 'ada' }, { type: 'stop-requested', runId })
      if (turn === 600 || turn === 2) continue
      write(origin, { type: 'run-started', program: 'agent:a@1' })
      write(origin, { type: 'message', ...message })
      write(origin, { type: 'text-delta', id: 't', delta: 'Yes.' })
      write(origin, { type: 'step-finish', usage: { inputTokens: 2 } })
      if (turn < 599) write(origin, { type: 'run-finished', status: turn === 597 ? 'failed' : 'completed' })
    }
    const whole = foldLog(log).view()
    const { view } = taken(whole, 3)
    expect(view.messages.map(({ id }) => id)).toEqual(['r598::r598', 'm599', 'r599::r599'])
    expect(view.runs.map(({ runId }) => runId)).toEqual(['r597', 'r598', 'r599'])
    expect(view.requests.map(({ runId, status }) => [runId, status])).toEqual([
      ['r597', 'started'],
      ['r598', 'started'],
      ['r599', 'started'],
      ['r600', 'waiting'],
    ])
    expect(view.usage).toEqual({ inputTokens: 1196 })
    expect(JSON.stringify(view).length).toBeLessThan(6_000)
    const fold = Fold.from(view)
    const origin: Origin = { runId: 'r599', lane: 'main', agentId: 'r599', agentType: 'a', step: 1 }
    const more: Entry['chunk'][] = [
      { type: 'step-finish', usage: { inputTokens: 4 } } as Chunk,
      { type: 'run-finished', status: 'completed' },
    ]
    fold.apply(more.map((chunk, i) => ({ sequence: view.head + 1 + i, timestamp: 2, origin, chunk })))
    expect(fold.view().usage).toEqual({ inputTokens: 1200 })
    expect(fold.view().messages.map(({ status }) => status)).toEqual(['sent', 'sent', 'sent'])
  })
})
