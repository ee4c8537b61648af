import { type Chunk, type Entry, Fold, foldLog, type Origin, type View } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ID, runs, Stage, shownOf } from '../stream/stage.fixture.ts'
import { acts, Story } from '../stream/story.fixture.ts'
import { pageOf } from './page.ts'

const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** The page that a client takes of a view: what came over the wire. */
function taken(view: View, n: number) {
  const paged = pageOf(shownOf(view), { messages: `last:${n}` })
  if (paged.view === undefined) throw new Error('a page at the cursor has a view')
  return { view: clone(paged.view), page: paged.page }
}

/** A page folded on has all that the whole fold has, but for messages that were done before; those it has are the same, in the same order. */
function expectSame(folded: View, whole: View, done: ReadonlySet<string>): void {
  const { messages, ...rest } = shownOf(folded)
  const { messages: all, ...others } = shownOf(whole)
  expect(clone(rest)).toEqual(clone(others))
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
  'end',
] as const

interface Act {
  readonly kind: (typeof KINDS)[number]
  readonly by: (typeof WORKERS)[number]
  readonly n: number
}

const scripts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), by: fc.constantFrom(...WORKERS), n: fc.nat(5) }),
  { minLength: 10, maxLength: 80, size: 'max' },
)

/** A session of runs, one after the other, of an agent with tools, a sub-agent and one of its own; what would break the protocol is left out. */
function logOf(script: readonly Act[]): Entry[] {
  const entries: Entry[] = []
  const fold = new Fold({ onReport: () => entries.pop() })
  let run = 0
  const say = (origin: Origin, ...chunks: object[]) => {
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
    if (!isOpen) say(main, { type: 'run-started', program: 'agent:a@1' })
    const origin = originOf(by)
    const toolCallId = `${runId}:${by}:${n}`
    const { agentId } = origin as { agentId: string }
    const chunks: Record<Act['kind'], () => void> = {
      text: () => say(origin, { type: 'text-delta', id: `${by}${n % 2}`, delta: 'word ' }),
      'text-end': () => say(origin, { type: 'text-end', id: `${by}${n % 2}` }),
      data: () => say(origin, { type: 'data-x', id: `${by}${n % 2}`, data: n }),
      object: () =>
        say(origin, { type: 'structured-data', streamId: by, dataType: 'd', kind: 'set', path: 'a', value: n }),
      meta: () => say(origin, { type: 'message-metadata', metadata: { [by]: n } }),
      call: () =>
        say(origin, {
          type: 'tool-input-available',
          toolCallId,
          toolName: 't',
          input: n,
          executor: n % 2 ? 'client' : 'server',
        }),
      input: () => say(origin, { type: 'tool-input-delta', toolCallId, delta: '1' }),
      ask: () =>
        say(
          origin,
          { type: 'tool-approval-request', toolCallId, approvalId: toolCallId, input: n },
          { type: 'checkpoint-created', checkpointId: 'c' },
        ),
      answer: () =>
        say(
          { guest: 'ada', runId },
          { type: 'tool-approval-response', toolCallId, approvalId: toolCallId, approved: true },
        ),
      output: () =>
        say(n % 2 ? { guest: 'ada', runId } : origin, { type: 'tool-output-available', toolCallId, output: n }),
      commit: () => say(origin, { type: 'checkpoint-created', checkpointId: 'c' }),
      discard: () => say(origin, { type: 'step-discarded', reason: 'retry' }),
      start: () => {
        const [parent, child] = n % 2 ? ['main', 'child'] : ['child', 'grandchild']
        say(originOf(parent as string), {
          type: 'subagent-start',
          agentId: agentOf(child as string),
          agentType: 'a',
          toolCallId,
        })
      },
      stop: () => {
        if (agentId !== runId)
          say(origin, { type: 'subagent-end', agentId, agentType: 'a', toolCallId, status: 'completed' })
      },
      pause: () => say(main, { type: n % 2 ? 'run-paused' : 'run-resumed', awaits: [], mode: 'continue' }),
      user: () =>
        say(main, {
          type: 'message',
          messageId: `m${entries.length}`,
          role: 'user',
          parts: [{ type: 'text', text: 'hi' }],
        }),
      end: () => n < 3 && say(main, { type: 'run-finished', status: 'completed' }),
    }
    chunks[kind]()
  }
  return entries
}

describe('a page at the cursor', () => {
  test('can be folded on from any moment, like the whole view, and nothing is dropped', () => {
    let left = 0
    let touched = 0
    fc.assert(
      fc.property(scripts, fc.integer({ min: 1, max: 3 }), (script, n) => {
        const log = logOf(script)
        const whole = foldLog(log).view()
        for (let at = 0; at <= log.length; at++) {
          const before = foldLog(log.slice(0, at)).view()
          const { view, page } = taken(before, n)
          const given = new Set(view.messages.map(({ id }) => id))
          const done = new Set(before.messages.map(({ id }) => id).filter(id => !given.has(id)))
          expect(page).toMatchObject({ total: before.messages.length, hasMore: done.size > 0 })
          expect(given.size).toBeGreaterThanOrEqual(Math.min(n, before.messages.length))
          // Who works is shown with whom it works for.
          const parents = view.messages.flatMap(({ status, parent }) => (status === 'streaming' && parent) || [])
          expect(parents.filter(({ messageId }) => done.has(messageId))).toEqual([])
          left += done.size
          touched += Math.max(0, given.size - n)
          const reports: unknown[] = []
          const fold = Fold.from(view, { onReport: report => reports.push(report) })
          fold.apply(log.slice(at))
          expect(reports).toEqual([])
          expectSame(fold.view(), whole, done)
        }
      }),
      { numRuns: runs(60) },
    )
    expect(left).toBeGreaterThan(500)
    expect(touched).toBeGreaterThan(100)
  })

  test('can be followed in a session that is cut, where a page is taken again', async () => {
    let rewinds = 0
    await fc.assert(
      fc.asyncProperty(fc.array(acts, { minLength: 10, maxLength: 40, size: 'max' }), async script => {
        const { manager } = new Stage({ manager: { coalesceMs: 0 } })
        await manager.createStream(ID)
        const story = new Story(manager)
        for (const act of script) await story.act(act)
        await story.rest()
        const { head = 0 } = (await manager.getInfo(ID)) ?? {}
        if (head === 0) return
        const log = (await manager.entries(ID, 0, head)).filter(({ internal }) => !internal)
        const { view: whole } = await manager.view(ID)
        for (let at = 0; at < head; at++) {
          const start = taken((await manager.view(ID, at)).view, 1)
          const done = new Set<string>()
          const leave = (before: View, { view: { messages } }: typeof start) => {
            done.clear()
            for (const { id } of before.messages) if (!messages.some(message => message.id === id)) done.add(id)
          }
          leave((await manager.view(ID, at)).view, start)
          const fold = Fold.from(start.view)
          for (
            let refold = fold.apply(
              log.filter(({ sequence }) => sequence > at),
              head,
            );
            refold;
          ) {
            rewinds++
            const { view: past } = await manager.view(ID, refold.toSequence)
            const again = taken(past, 1)
            leave(past, again)
            fold.adopt(Fold.from(again.view))
            refold = fold.apply(refold.rest, refold.through)
          }
          expectSame(fold.view(), whole, done)
        }
      }),
      { numRuns: runs(15) },
    )
    expect(rewinds).toBeGreaterThan(20)
  })
})
