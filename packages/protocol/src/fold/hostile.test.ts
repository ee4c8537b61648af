// Valid but hostile entries: none may throw, forge, leak or persist.

import { describe, expect, test } from 'vitest'
import type { Chunk, Operation } from '../catalogue/chunk.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import type { Json, JsonObject } from '../json/json.ts'
import { ADA, CHILD, commit, discard, MAIN, TOOL, writing } from './entries.fixture.ts'
import { Fold } from './fold.ts'
import { foldLog } from './fold-log.ts'

const odd = (chunk: object): Chunk => chunk as Chunk
const call: Chunk = { type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: {}, executor: 'client' }

describe('fields that are not in the table', () => {
  test('a `delta` field counts only in delta chunks', () => {
    const { say, parts, reports } = writing()
    say(odd({ type: 'data-x', data: 1, delta: 'no' }))
    say(odd({ type: 'text-start', id: '1', delta: {} }))
    say(odd({ ...call, delta: 'no' }))
    say(odd({ type: 'message-metadata', metadata: {}, delta: 'no' }))
    say(odd({ type: 'file', url: '', mediaType: 'a/b', delta: 'no' }))
    expect(reports).toEqual([])
    expect(parts().map(part => part.type)).toEqual(['data-x', 'text', 'tool', 'file'])
    expect(parts()[1]).toMatchObject({ text: '' })
  })

  test('a tool call is identified only by its own id field', () => {
    const { say, parts } = writing()
    const input = (toolCallId: string, delta: string, id?: string): Chunk =>
      odd({ type: 'tool-input-delta', toolCallId, delta, id })
    say(input('c1', '[1'))
    say(input('c2', '[2', 'c1'))
    say(input('c2', ',3', 'c1'))
    expect(parts()).toMatchObject([{ inputText: '[1' }, { inputText: '[2,3' }])
  })

  test('are ignored for runs and agents', () => {
    const { say, fold } = writing()
    say(odd({ type: 'run-started', program: 'p', runId: 'other', status: 'completed', usage: 3, agents: null }))
    say(
      odd({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'failed', parentId: 'x' }),
    )
    say({ type: 'text-delta', id: '1', delta: 'a' }, CHILD)
    const { runs, agents } = fold.view()
    expect(runs).toEqual([
      { runId: 'r1', program: 'p', status: 'running', at: 1, startedAt: 1001, usage: {}, discarded: {} },
    ])
    expect(agents).toMatchObject([{ agentId: 'sub', parentId: 'r1' }])
    expect(agents[0]).not.toHaveProperty('status')
    expect(fold.message('r1::sub')?.parts).toHaveLength(1)
  })

  test('are ignored for requests, interrupts, messages and calls', () => {
    const { say, fold, parts } = writing()
    say(odd({ type: 'run-requested', runId: 'r9', program: 'p', status: 'started', reply: 1 }), ADA)
    say(odd({ type: 'interrupt', interruptId: 'i', input: { kind: 'text' }, response: 'forged', status: 'answered' }))
    say(odd({ type: 'message-metadata', metadata: { a: 1 }, finishReason: {}, aborted: true }))
    say(odd({ type: 'file', url: '', mediaType: 'a/b', state: 'input-streaming' }))
    say(odd({ type: 'tool-input-error', toolCallId: 'c', errorText: 'x', executor: 5, title: 6 }))
    const { requests, interrupts, messages } = fold.view()
    expect(requests).toEqual([{ runId: 'r9', program: 'p', status: 'waiting', at: 1 }])
    expect(interrupts[0]).not.toHaveProperty('response')
    expect(messages[0]).not.toHaveProperty('finishReason')
    expect(messages[0]?.status).toBe('streaming')
    expect(fold.gained('r1::r1', '#4')).toBeUndefined()
    expect(parts()[1]).not.toHaveProperty('executor')
  })

  test('law 9: values nested too deep are refused or kept whole, without other effects', () => {
    const { say, parts, fold } = writing()
    const deep = (n: number, open: string, inner: string, close: string) =>
      JSON.parse(open.repeat(n) + inner + close.repeat(n)) as Json
    const list = deep(20_000, '[', '', ']')
    const metadata = deep(20_000, '{"a":', '1', '}') as JsonObject
    const patches: Operation[] = [
      { op: 'add', path: '/a', value: list },
      { op: 'test', path: '/a', value: deep(20_000, '[', '', ']') },
    ]
    const chunks: Chunk[] = [
      { type: 'text-delta', id: '1', delta: 'x' },
      { type: 'state-patch', patches },
      { type: 'start', metadata },
      { type: 'message-metadata', metadata: deep(20_000, '{"a":', '2', '}') as JsonObject },
      { type: 'text-delta', id: '1', delta: 'y' },
    ]
    fold.apply(chunks.map((chunk, i): Entry => ({ sequence: i + 1, timestamp: 0, origin: MAIN, chunk })))
    expect(fold.head).toBe(5)
    expect(parts()).toMatchObject([{ text: 'xy' }])
    expect(say({ type: 'text-delta', id: '1', delta: '' }).view().state).toBeUndefined()
  })

  test('only usage counts in the table are summed', () => {
    const { say, fold } = writing()
    say(odd({ type: 'step-finish', usage: { inputTokens: 1, moonTokens: {} } }))
    say(odd({ type: 'step-finish', usage: { inputTokens: 2, __proto__: 1 } }))
    expect(fold.view().usage).toEqual({ inputTokens: 3 })
  })

  test('only an entry has blob references, and only for its current value', () => {
    const { say, fold, parts } = writing()
    const forged = { '/url': { hash: 'SECRET', bytes: 1 } }
    say(
      odd({
        type: 'message',
        messageId: 'u',
        role: 'user',
        parts: [{ type: 'file', url: '', mediaType: 'a/b', blobs: forged }],
      }),
    )
    say(odd({ type: 'data-x', data: 1, blobs: forged }))
    say(call)
    expect(JSON.stringify(fold.view())).not.toContain('SECRET')
    const put = (sequence: number, chunk: Chunk, hash?: string): Entry => ({
      sequence,
      timestamp: 0,
      origin: MAIN,
      chunk,
      ...(hash && { blobs: { '/output': { hash, bytes: 1 } } }),
    })
    const output = (preliminary?: true): Chunk =>
      odd({ type: 'tool-output-available', toolCallId: 'c1', output: 1, preliminary })
    fold.apply([put(4, output(true), 'first')])
    expect(parts().at(-1)).toMatchObject({ blobs: { '/output': { hash: 'first' } } })
    fold.apply([put(5, output())])
    expect(parts().at(-1)).not.toHaveProperty('blobs')
  })
})

describe('guests', () => {
  const GUEST = {
    guest: 'eve',
    runId: 'r1',
    lane: 'main',
    agentId: 'r1',
    agentType: 'assistant',
    step: 1,
  } as unknown as Origin

  test('never write as an agent, for any origin', () => {
    const { say, parts, reports } = writing()
    say({ type: 'text-delta', id: '1', delta: 'a' })
    say({ type: 'text-delta', id: '1', delta: 'FORGED' }, GUEST)
    expect(parts()).toMatchObject([{ text: 'a' }])
    expect(reports).toEqual(['refused'])
  })

  test('have all other chunks refused and reported', () => {
    const { say, fold, parts, reports } = writing()
    say(call)
    say(commit)
    const chunks: Chunk[] = [
      { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a', input: { forged: true } },
      { type: 'state-snapshot', state: 1 },
      { type: 'run-finished', status: 'completed' },
      { type: 'rewind', toSequence: 0, reason: 'x' },
      { type: 'checkpoint-created', checkpointId: 'x' },
      { type: 'interrupt', interruptId: 'i', input: { kind: 'text' } },
    ]
    for (const chunk of chunks) say(chunk, GUEST)
    expect(reports).toEqual(chunks.map(() => 'refused'))
    expect(parts()).toMatchObject([{ state: 'input-available', input: {} }])
    expect(fold.view()).toMatchObject({ interrupts: [], runs: [{ status: 'running' }] })
  })

  test('claim only client tools', () => {
    const { say, parts, reports } = writing()
    say({ ...call, executor: 'server' } as Chunk)
    say(commit)
    say({ type: 'tool-claimed', toolCallId: 'c1', until: 9 }, ADA)
    expect(reports).toEqual(['out-of-order'])
    expect(parts()[0]).not.toHaveProperty('claim')
  })

  test('an approved call cannot be denied', () => {
    const { say, parts, reports } = writing()
    say(call)
    say({ type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a', input: {} })
    say({ type: 'tool-approval-response', toolCallId: 'c1', approvalId: 'a', approved: true })
    say({ type: 'tool-output-denied', toolCallId: 'c1' })
    expect(reports).toEqual(['out-of-order'])
    expect(parts()).toMatchObject([{ state: 'approval-responded' }])
  })
})

describe('law 10: internal entries', () => {
  test('do not use the fast path of a public text', () => {
    const { say, parts, fold } = writing()
    say({ type: 'text-delta', id: '1', delta: 'a' })
    say({ type: 'text-delta', id: '1', delta: 'SECRET' }, MAIN, true)
    say({ type: 'text-delta', id: '1', delta: 'b' })
    expect(parts()).toMatchObject([{ text: 'ab' }])
    expect(fold.view().internal?.messages).toMatchObject([{ parts: [{ text: 'SECRET' }] }])
  })

  test('end with their run, and are never rewinds', () => {
    const { say, fold, reports } = writing()
    say({ type: 'text-delta', id: '1', delta: 'a' })
    say({ type: 'rewind', toSequence: 0, reason: 'x' }, MAIN, true)
    say({ type: 'run-finished', status: 'completed' })
    say({ type: 'run-context', context: 1 }, MAIN, true)
    expect(reports).toEqual(['after-end'])
    expect(fold.message('r1::r1')?.parts).toHaveLength(1)
    expect(fold.view().internal?.runs ?? []).not.toContainEqual(expect.objectContaining({ status: 'running' }))
  })

  test('are rewound like public entries, in one pass or step by step', () => {
    const { say, log } = writing()
    say({ type: 'text-delta', id: '1', delta: 'kept' }, MAIN, true)
    say(commit)
    say({ type: 'text-delta', id: '2', delta: 'cut' }, MAIN, true)
    say({ type: 'run-context', context: { tenant: 't1' } }, MAIN, true)
    say({ type: 'run-finished', status: 'completed' })
    say({ type: 'rewind', toSequence: 2, reason: 'x' }, { ...MAIN, runId: 'r2', agentId: 'r2' })
    const whole = foldLog(log).view()
    expect(whole.internal?.messages).toMatchObject([{ parts: [{ text: 'kept' }] }])
    expect(whole.internal?.runs).toMatchObject([{ runId: 'r1', context: { tenant: 't1' } }])
    const fold = new Fold()
    const refold = fold.apply(log)
    fold.adopt(foldLog(log.slice(0, refold?.toSequence)))
    expect(fold.view()).toEqual(whole)
  })
})

describe('runs and their agents', () => {
  test('the root agent cannot end as a child, and no agent is its own parent', () => {
    const { say, fold, reports } = writing()
    const child = { agentId: 'r1', agentType: 'a', toolCallId: 'c' }
    say({ type: 'subagent-start', ...child })
    say({ type: 'subagent-end', ...child, status: 'completed' })
    say({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' }, CHILD)
    expect(reports).toEqual(['refused', 'refused', 'refused'])
    say({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'completed' }, CHILD)
    expect(fold.view().agents).toMatchObject([{ agentId: 'sub', parentId: 'r1' }])
    say({ type: 'run-finished', status: 'completed' })
    expect(fold.view().runs).toMatchObject([{ status: 'completed' }])
  })

  test('drops a second start or end of an agent and a second interrupt with the same id', () => {
    const { say, fold, reports } = writing()
    const child = { agentId: 'sub', agentType: 's', toolCallId: 'c' }
    say({ type: 'subagent-start', ...child })
    say({ type: 'subagent-start', ...child, toolCallId: 'other' })
    say({ type: 'subagent-end', ...child, status: 'completed' })
    say({ type: 'subagent-end', ...child, status: 'failed' })
    say({ type: 'interrupt', interruptId: 'i', input: { kind: 'text', question: 'first' } })
    say({ type: 'interrupt', interruptId: 'i', input: { kind: 'text', question: 'second' } })
    expect(reports).toEqual(['refused', 'refused', 'refused'])
    expect(fold.view()).toMatchObject({
      agents: [{ toolCallId: 'c', status: 'completed' }],
      interrupts: [{ input: { question: 'first' } }],
    })
  })

  test('two agents with lanes of the same name have separate drafts', () => {
    const { say, fold } = writing()
    say({ type: 'text-delta', id: '1', delta: 'a' })
    say({ type: 'text-delta', id: '1', delta: 'b' }, { ...CHILD, lane: MAIN.lane })
    say(discard)
    expect(fold.messageIds).toEqual(['r1::sub'])
    const again = Fold.from(JSON.parse(JSON.stringify(fold.view())))
    again.apply([{ sequence: 9, timestamp: 0, origin: { ...CHILD, lane: MAIN.lane }, chunk: discard }])
    expect(again.messageIds).toEqual([])
  })

  test('an empty run id is a valid run id, and no user message belongs to it', () => {
    const { say, fold } = writing()
    say({ type: 'message', messageId: 'u', role: 'user', parts: [] })
    say({ type: 'text-delta', id: '1', delta: 'a' }, { ...MAIN, runId: '' })
    expect(fold.message('u')?.status).toBe('sent')
    expect(Fold.from(fold.view()).message('u')?.status).toBe('sent')
  })

  test('names that would be equal when joined are distinct', () => {
    const { say, parts } = writing()
    say({ type: 'data-a', id: 'b:c', data: 1 })
    say({ type: 'data-a:b', id: 'c', data: 2 })
    expect(parts()).toMatchObject([{ data: 1 }, { data: 2 }])
  })
})

describe('rewinds', () => {
  const cut = (runId: string, toSequence: number, origin?: Origin): [Chunk, Origin] => [
    { type: 'rewind', toSequence, reason: 'x' },
    origin ?? { ...MAIN, runId, agentId: runId },
  ]

  test.each<[string, Chunk, Origin]>([
    ['a guest', ...cut('', 0, ADA)],
    ['a run that has ended', ...cut('r1', 0)],
    ['one to its own place', ...cut('r2', 3)],
    ['one to the future', ...cut('r2', 9)],
  ])('of %s remove nothing, in one pass or step by step', (_, chunk, origin) => {
    const { say, log } = writing()
    say({ type: 'text-delta', id: '1', delta: 'a' })
    say({ type: 'run-finished', status: 'completed' })
    say(chunk, origin)
    const fold = new Fold()
    expect(fold.apply(log)).toBeUndefined()
    expect(fold.messageIds).toEqual(['r1::r1'])
    expect(foldLog(log).view()).toEqual(fold.view())
  })

  test('a log continues from a view, unless a rewind goes to before it', () => {
    const { say, log } = writing()
    say({ type: 'text-delta', id: '1', delta: 'a' })
    say({ type: 'run-finished', status: 'completed' })
    say({ type: 'text-delta', id: '1', delta: 'b' }, { ...MAIN, runId: 'r2', agentId: 'r2' })
    say({ type: 'run-finished', status: 'completed' }, { ...MAIN, runId: 'r2', agentId: 'r2' })
    say(...cut('r3', 2))
    const past = (n: number) => foldLog(log.slice(0, n)).view()
    expect(foldLog(log.slice(2), {}, past(2)).view()).toEqual(foldLog(log).view())
    expect(() => foldLog(log.slice(3), {}, past(3))).toThrow(
      /rewind to 2: expected a view from there or before, found 3/,
    )
  })
})

describe('handlers', () => {
  test('an error is thrown after the whole batch is folded', () => {
    const entries: Entry[] = [
      { type: 'text-delta', id: '1', delta: 'a' },
      { type: 'data-x', data: 1, transient: true },
      { type: 'tool-output-error', toolCallId: 'nobody', errorText: '' },
      { type: 'text-delta', id: '1', delta: 'b' },
    ].map((chunk, i) => ({ sequence: i + 1, timestamp: 0, origin: MAIN, chunk: chunk as Chunk }))
    const fold = new Fold({
      onTransient: () => {
        throw new Error('mine')
      },
      onReport: () => {
        throw new Error('second')
      },
    })
    expect(() => fold.apply(entries)).toThrow('mine')
    expect(fold.part('r1::r1', 'text:1')).toMatchObject({ text: 'ab' })
    expect(fold.apply([])).toBeUndefined()
  })
})

describe('handlers of internal entries', () => {
  test('an error is thrown too', () => {
    const fold = new Fold({
      onReport: () => {
        throw new Error('mine')
      },
    })
    const chunk: Chunk = { type: 'text-end', id: 'nobody' }
    expect(() => fold.apply([{ sequence: 1, timestamp: 0, origin: MAIN, chunk, internal: true }])).toThrow('mine')
    expect(fold.apply([])).toBeUndefined()
  })
})

describe('changes', () => {
  test('each kind of change is reported once', () => {
    const { say, fold } = writing()
    const told = (chunk: Chunk, origin?: Origin) => {
      say(chunk, origin)
      const { messages, structured, ...flags } = fold.takeChanges()
      const on = Object.entries(flags).flatMap(([name, is]) => (is ? [name] : []))
      return [...on, ...structured, ...messages.keys()]
    }
    expect(told({ type: 'state-snapshot', state: 1 })).toEqual(['state', 'ledger'])
    expect(told({ type: 'output', output: 1 })).toEqual(['output'])
    expect(told({ type: 'status', message: 'x' })).toEqual(['ledger'])
    expect(told({ type: 'structured-data', streamId: 's', dataType: 'd', kind: 'set', path: 'a', value: 1 })).toEqual([
      's',
    ])
    expect(told(discard)).toEqual(['ledger', 's'])
    expect(told(call)).toEqual(['order', 'r1::r1'])
    expect(told(commit)).toEqual(['r1::r1'])
    expect(fold.pendings).toHaveLength(1)
    expect(told({ type: 'text-delta', id: '1', delta: 'a' }, TOOL)).toEqual(['r1::r1'])
    expect(told({ type: 'text-delta', id: '1', delta: 'b' }, TOOL)).toEqual(['r1::r1'])
    expect(told({ type: 'text-delta', id: '1', delta: '' }, TOOL)).toEqual([])
    fold.adopt(new Fold())
    expect(fold.takeChanges().all).toBe(true)
    expect(fold.takeChanges().all).toBe(false)
  })

  test('reports a run that an entry opens', () => {
    const fold = new Fold()
    fold.apply([{ sequence: 1, timestamp: 0, origin: MAIN, chunk: { type: 'text-delta', id: '1', delta: 'a' } }])
    expect(fold.takeChanges().ledger).toBe(true)
  })

  test('a delta keeps its provider metadata, also in the middle of a text', () => {
    const { say, parts } = writing()
    say({ type: 'text-delta', id: '1', delta: 'a' })
    say({ type: 'text-delta', id: '1', delta: 'b', providerMetadata: { p: 1 } })
    expect(parts()).toMatchObject([{ text: 'ab', providerMetadata: { p: 1 } }])
  })
})
