// Valid but hostile entries: none may throw, forge, leak or persist.

import { describe, expect, test } from 'vitest'
import type { Chunk, Operation } from '../catalogue/chunk.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import type { Json, JsonObject } from '../json/json.ts'
import { ADA, CHILD, commit, discard, MAIN, newFoldedLog, TOOL } from './entries.fixture.ts'
import { Fold } from './fold.ts'
import { foldLog } from './fold-log.ts'

const odd = (chunk: object): Chunk => chunk as Chunk
const call: Chunk = { type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: {}, executor: 'client' }

describe('fields that are not in the table', () => {
  test('a `delta` field counts only in delta chunks', () => {
    const { write, parts, reports } = newFoldedLog()
    write(odd({ type: 'data-x', data: 1, delta: 'no' }))
    write(odd({ type: 'text-start', id: '1', delta: {} }))
    write(odd({ ...call, delta: 'no' }))
    write(odd({ type: 'message-metadata', metadata: {}, delta: 'no' }))
    write(odd({ type: 'file', url: '', mediaType: 'a/b', delta: 'no' }))
    expect(reports).toEqual([])
    expect(parts().map(part => part.type)).toEqual(['data-x', 'text', 'tool', 'file'])
    expect(parts()[1]).toMatchObject({ text: '' })
  })

  test('a tool call is identified only by its own id field', () => {
    const { write, parts } = newFoldedLog()
    const input = (toolCallId: string, delta: string, id?: string): Chunk =>
      odd({ type: 'tool-input-delta', toolCallId, delta, id })
    write(input('c1', '[1'))
    write(input('c2', '[2', 'c1'))
    write(input('c2', ',3', 'c1'))
    expect(parts()).toMatchObject([{ inputText: '[1' }, { inputText: '[2,3' }])
  })

  test('are ignored for runs and agents', () => {
    const { write, fold } = newFoldedLog()
    write(odd({ type: 'run-started', program: 'p', runId: 'other', status: 'completed', usage: 3, agents: null }))
    write(
      odd({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'failed', parentId: 'x' }),
    )
    write({ type: 'text-delta', id: '1', delta: 'a' }, CHILD)
    const { runs, agents } = fold.view()
    expect(runs).toEqual([
      { runId: 'r1', program: 'p', status: 'running', at: 1, startedAt: 1001, usage: {}, discarded: {} },
    ])
    expect(agents).toMatchObject([{ agentId: 'sub', parentId: 'r1' }])
    expect(agents[0]).not.toHaveProperty('status')
    expect(fold.message('r1::sub')?.parts).toHaveLength(1)
  })

  test('are ignored for requests, interrupts, messages and calls', () => {
    const { write, fold, parts } = newFoldedLog()
    write(odd({ type: 'run-requested', runId: 'r9', program: 'p', status: 'started', reply: 1 }), ADA)
    write(odd({ type: 'interrupt', interruptId: 'i', input: { kind: 'text' }, response: 'forged', status: 'answered' }))
    write(odd({ type: 'message-metadata', metadata: { a: 1 }, finishReason: {}, aborted: true }))
    write(odd({ type: 'file', url: '', mediaType: 'a/b', state: 'input-streaming' }))
    write(odd({ type: 'tool-input-error', toolCallId: 'c', errorText: 'x', executor: 5, title: 6 }))
    const { requests, interrupts, messages } = fold.view()
    expect(requests).toEqual([{ runId: 'r9', program: 'p', status: 'waiting', at: 1 }])
    expect(interrupts[0]).not.toHaveProperty('response')
    expect(messages[0]).not.toHaveProperty('finishReason')
    expect(messages[0]?.status).toBe('streaming')
    expect(fold.textSince('r1::r1', '#4')).toBeUndefined()
    expect(parts()[1]).not.toHaveProperty('executor')
  })

  test('law 9: values nested too deep are refused or stored completely, without other effects', () => {
    const { write, parts, fold } = newFoldedLog()
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
    expect(write({ type: 'text-delta', id: '1', delta: '' }).view().state).toBeUndefined()
  })

  test('only usage counts in the table are summed', () => {
    const { write, fold } = newFoldedLog()
    write(odd({ type: 'step-finish', usage: { inputTokens: 1, moonTokens: {} } }))
    write(odd({ type: 'step-finish', usage: { inputTokens: 2, __proto__: 1 } }))
    expect(fold.view().usage).toEqual({ inputTokens: 3 })
  })

  test('only an entry has blob references, and only for its current value', () => {
    const { write, fold, parts } = newFoldedLog()
    const forged = { '/url': { hash: 'SECRET', bytes: 1 } }
    write(
      odd({
        type: 'message',
        messageId: 'u',
        role: 'user',
        parts: [{ type: 'file', url: '', mediaType: 'a/b', blobs: forged }],
      }),
    )
    write(odd({ type: 'data-x', data: 1, blobs: forged }))
    write(call)
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
    const { write, parts, reports } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'text-delta', id: '1', delta: 'FORGED' }, GUEST)
    expect(parts()).toMatchObject([{ text: 'a' }])
    expect(reports).toEqual(['refused'])
  })

  test('cannot append other chunks: these are refused and reported', () => {
    const { write, fold, parts, reports } = newFoldedLog()
    write(call)
    write(commit)
    const chunks: Chunk[] = [
      { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a', input: { forged: true } },
      { type: 'state-snapshot', state: 1 },
      { type: 'run-finished', status: 'completed' },
      { type: 'rewind', toSequence: 0, reason: 'x' },
      { type: 'checkpoint-created', checkpointId: 'x' },
      { type: 'interrupt', interruptId: 'i', input: { kind: 'text' } },
    ]
    for (const chunk of chunks) write(chunk, GUEST)
    expect(reports).toEqual(chunks.map(() => 'refused'))
    expect(parts()).toMatchObject([{ state: 'input-available', input: {} }])
    expect(fold.view()).toMatchObject({ interrupts: [], runs: [{ status: 'running' }] })
  })

  test('claim only client tools', () => {
    const { write, parts, reports } = newFoldedLog()
    write({ ...call, executor: 'server' } as Chunk)
    write(commit)
    write({ type: 'tool-claimed', toolCallId: 'c1', until: 9 }, ADA)
    expect(reports).toEqual(['out-of-order'])
    expect(parts()[0]).not.toHaveProperty('claim')
  })

  test('an approved call cannot be denied', () => {
    const { write, parts, reports } = newFoldedLog()
    write(call)
    write({ type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a', input: {} })
    write({ type: 'tool-approval-response', toolCallId: 'c1', approvalId: 'a', approved: true })
    write({ type: 'tool-output-denied', toolCallId: 'c1' })
    expect(reports).toEqual(['out-of-order'])
    expect(parts()).toMatchObject([{ state: 'approval-responded' }])
  })
})

describe('law 10: internal entries', () => {
  test('do not use the fast path of a public text', () => {
    const { write, parts, fold } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'text-delta', id: '1', delta: 'SECRET' }, MAIN, true)
    write({ type: 'text-delta', id: '1', delta: 'b' })
    expect(parts()).toMatchObject([{ text: 'ab' }])
    expect(fold.view().internal?.messages).toMatchObject([{ parts: [{ text: 'SECRET' }] }])
  })

  test('end with their run, and are never rewinds', () => {
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'rewind', toSequence: 0, reason: 'x' }, MAIN, true)
    write({ type: 'run-finished', status: 'completed' })
    write({ type: 'run-context', context: 1 }, MAIN, true)
    expect(reports).toEqual(['after-end'])
    expect(fold.message('r1::r1')?.parts).toHaveLength(1)
    expect(fold.view().internal?.runs ?? []).not.toContainEqual(expect.objectContaining({ status: 'running' }))
  })

  test('are rewound like public entries, in one pass or step by step', () => {
    const { write, log } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'kept' }, MAIN, true)
    write(commit)
    write({ type: 'text-delta', id: '2', delta: 'cut' }, MAIN, true)
    write({ type: 'run-context', context: { tenant: 't1' } }, MAIN, true)
    write({ type: 'run-finished', status: 'completed' })
    write({ type: 'rewind', toSequence: 2, reason: 'x' }, { ...MAIN, runId: 'r2', agentId: 'r2' })
    const complete = foldLog(log).view()
    expect(complete.internal?.messages).toMatchObject([{ parts: [{ text: 'kept' }] }])
    expect(complete.internal?.runs).toMatchObject([{ runId: 'r1', context: { tenant: 't1' } }])
    const fold = new Fold()
    const refold = fold.apply(log)
    fold.adopt(foldLog(log.slice(0, refold?.toSequence)))
    expect(fold.view()).toEqual(complete)
  })
})

describe('runs and their agents', () => {
  test('the root agent cannot end as a child, and no agent is its own parent', () => {
    const { write, fold, reports } = newFoldedLog()
    const child = { agentId: 'r1', agentType: 'a', toolCallId: 'c' }
    write({ type: 'subagent-start', ...child })
    write({ type: 'subagent-end', ...child, status: 'completed' })
    write({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' }, CHILD)
    expect(reports).toEqual(['refused', 'refused', 'refused'])
    write({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'completed' }, CHILD)
    expect(fold.view().agents).toMatchObject([{ agentId: 'sub', parentId: 'r1' }])
    write({ type: 'run-finished', status: 'completed' })
    expect(fold.view().runs).toMatchObject([{ status: 'completed' }])
  })

  test('drops a second start or end of an agent and a second interrupt with the same id', () => {
    const { write, fold, reports } = newFoldedLog()
    const child = { agentId: 'sub', agentType: 's', toolCallId: 'c' }
    write({ type: 'subagent-start', ...child })
    write({ type: 'subagent-start', ...child, toolCallId: 'other' })
    write({ type: 'subagent-end', ...child, status: 'completed' })
    write({ type: 'subagent-end', ...child, status: 'failed' })
    write({ type: 'interrupt', interruptId: 'i', input: { kind: 'text', question: 'first' } })
    write({ type: 'interrupt', interruptId: 'i', input: { kind: 'text', question: 'second' } })
    expect(reports).toEqual(['refused', 'refused', 'refused'])
    expect(fold.view()).toMatchObject({
      agents: [{ toolCallId: 'c', status: 'completed' }],
      interrupts: [{ input: { question: 'first' } }],
    })
  })

  test('two agents with lanes of the same name have separate drafts', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'text-delta', id: '1', delta: 'b' }, { ...CHILD, lane: MAIN.lane })
    write(discard)
    expect(fold.messageIds).toEqual(['r1::sub'])
    const again = Fold.from(JSON.parse(JSON.stringify(fold.view())))
    again.apply([{ sequence: 9, timestamp: 0, origin: { ...CHILD, lane: MAIN.lane }, chunk: discard }])
    expect(again.messageIds).toEqual([])
  })

  test('an empty run id is a valid run id, and no user message belongs to it', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'message', messageId: 'u', role: 'user', parts: [] })
    write({ type: 'text-delta', id: '1', delta: 'a' }, { ...MAIN, runId: '' })
    expect(fold.message('u')?.status).toBe('sent')
    expect(Fold.from(fold.view()).message('u')?.status).toBe('sent')
  })

  test('names that would be equal when joined are distinct', () => {
    const { write, parts } = newFoldedLog()
    write({ type: 'data-a', id: 'b:c', data: 1 })
    write({ type: 'data-a:b', id: 'c', data: 2 })
    expect(parts()).toMatchObject([{ data: 1 }, { data: 2 }])
  })
})

describe('rewinds', () => {
  const cut = (runId: string, toSequence: number, origin?: Origin): [Chunk, Origin] => [
    { type: 'rewind', toSequence, reason: 'x' },
    origin ?? { ...MAIN, runId, agentId: runId },
  ]

  test.each<[string, Chunk, Origin]>([
    ['by a guest', ...cut('', 0, ADA)],
    ['by a run that has ended', ...cut('r1', 0)],
    ['to its own sequence', ...cut('r2', 3)],
    ['to a later sequence', ...cut('r2', 9)],
  ])('a rewind %s removes nothing, in one pass or step by step', (_, chunk, origin) => {
    const { write, log } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'run-finished', status: 'completed' })
    write(chunk, origin)
    const fold = new Fold()
    expect(fold.apply(log)).toBeUndefined()
    expect(fold.messageIds).toEqual(['r1::r1'])
    expect(foldLog(log).view()).toEqual(fold.view())
  })

  test('a log continues from a view, unless a rewind goes to before it', () => {
    const { write, log } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'run-finished', status: 'completed' })
    write({ type: 'text-delta', id: '1', delta: 'b' }, { ...MAIN, runId: 'r2', agentId: 'r2' })
    write({ type: 'run-finished', status: 'completed' }, { ...MAIN, runId: 'r2', agentId: 'r2' })
    write(...cut('r3', 2))
    const past = (n: number) => foldLog(log.slice(0, n)).view()
    expect(foldLog(log.slice(2), {}, past(2)).view()).toEqual(foldLog(log).view())
    expect(() => foldLog(log.slice(3), {}, past(3))).toThrow(
      /rewind to 2: expected a view from there or before, found 3/,
    )
  })
})

describe('handlers', () => {
  test('the error of a handler is thrown after the complete batch is folded', () => {
    const entries: Entry[] = [
      { type: 'text-delta', id: '1', delta: 'a' },
      { type: 'data-x', data: 1, transient: true },
      { type: 'tool-output-error', toolCallId: 'unknown', errorText: '' },
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
  test('the error of a handler of an internal entry is thrown too', () => {
    const fold = new Fold({
      onReport: () => {
        throw new Error('mine')
      },
    })
    const chunk: Chunk = { type: 'text-end', id: 'unknown' }
    expect(() => fold.apply([{ sequence: 1, timestamp: 0, origin: MAIN, chunk, internal: true }])).toThrow('mine')
    expect(fold.apply([])).toBeUndefined()
  })
})

describe('changes', () => {
  test('each kind of change is reported once', () => {
    const { write, fold } = newFoldedLog()
    const apply = (chunk: Chunk, origin?: Origin) => {
      write(chunk, origin)
      const { messages, structured, ...flags } = fold.takeChanges()
      const on = Object.entries(flags).flatMap(([name, is]) => (is ? [name] : []))
      return [...on, ...structured, ...messages.keys()]
    }
    expect(apply({ type: 'state-snapshot', state: 1 })).toEqual(['state', 'ledger'])
    expect(apply({ type: 'output', output: 1 })).toEqual(['output'])
    expect(apply({ type: 'status', message: 'x' })).toEqual(['ledger'])
    expect(apply({ type: 'structured-data', streamId: 's', dataType: 'd', kind: 'set', path: 'a', value: 1 })).toEqual([
      's',
    ])
    expect(apply(discard)).toEqual(['ledger', 's'])
    expect(apply(call)).toEqual(['order', 'r1::r1'])
    expect(apply(commit)).toEqual(['r1::r1'])
    expect(fold.pendings).toHaveLength(1)
    expect(apply({ type: 'text-delta', id: '1', delta: 'a' }, TOOL)).toEqual(['r1::r1'])
    expect(apply({ type: 'text-delta', id: '1', delta: 'b' }, TOOL)).toEqual(['r1::r1'])
    expect(apply({ type: 'text-delta', id: '1', delta: '' }, TOOL)).toEqual([])
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
    const { write, parts } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'text-delta', id: '1', delta: 'b', providerMetadata: { p: 1 } })
    expect(parts()).toMatchObject([{ text: 'ab', providerMetadata: { p: 1 } }])
  })
})
