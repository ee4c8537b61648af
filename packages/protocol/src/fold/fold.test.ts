import { describe, expect, test } from 'vitest'
import type { Entry } from '../entry/entry.ts'
import { ADA, commit, discard, MAIN, newFoldedLog, TOOL } from './entries.fixture.ts'
import { Fold } from './fold.ts'
import { foldLog } from './fold-log.ts'
import type { ToolPart, View } from './view.ts'

describe('drafts', () => {
  test('law 3: a discard reverts only the draft of its own lane', () => {
    const { write, fold, parts } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'kept' })
    write(commit)
    write({ type: 'text-delta', id: '1', delta: ' gone' })
    write({ type: 'message-metadata', metadata: { draft: true } })
    write({ type: 'structured-data', streamId: 's', dataType: 'd', kind: 'append', path: 'rows', items: [1] })
    write({ type: 'data-x', id: 'x', data: 'other lane' }, TOOL)
    write(discard)
    expect(parts()).toMatchObject([{ text: 'kept', state: 'streaming' }, { data: 'other lane' }])
    expect(fold.message('r1::r1')?.metadata).toBeUndefined()
    expect(fold.view().structured).toEqual([])
    expect(fold.view().drafts).toMatchObject([{ lane: 'tool' }])
  })

  test('array items that are written out of order are unset in the view, so that a restored fold accepts what a live one does', () => {
    const { log, write, fold, reports } = newFoldedLog()
    const row = { type: 'structured-data', streamId: 's', dataType: 'd', kind: 'set', value: 'x' } as const
    write({ ...row, path: 'rows.2.title' })
    write(commit)
    write({ ...row, path: 'rows.0.title' })
    const view: View = JSON.parse(JSON.stringify(fold.view()))
    const title = { title: 'x' }
    expect(view.structured).toMatchObject([{ data: { rows: [title, null, title] }, unset: { rows: { 1: true } } }])
    write(discard)
    const unset = { rows: { 0: true, 1: true } }
    expect(fold.structured('s')).toMatchObject({ data: { rows: [null, null, title] }, unset })
    write({ ...row, path: 'rows.1.title' })
    write({ ...row, path: 'rows.0.title' })
    expect(fold.structured('s')?.data).toEqual({ rows: [title, title, title] })
    const restored = Fold.from(view, { onReport: ({ code }) => reports.push(code) })
    restored.apply(log.slice(view.head))
    expect(restored.view()).toEqual(fold.view())
    expect(reports).toEqual([])
  })

  test('a value with a draft belongs to its lane until the commit', () => {
    const { write, parts, reports } = newFoldedLog()
    write({ type: 'data-x', id: 'x', data: 1 })
    write({ type: 'data-x', id: 'x', data: 2 }, TOOL)
    expect(reports).toEqual(['foreign-draft'])
    write(commit)
    write({ type: 'data-x', id: 'x', data: 3 }, TOOL)
    expect(parts()).toMatchObject([{ data: 3 }])
  })

  test('a preliminary output is progress, and a discard reverts it', () => {
    const { write, parts } = newFoldedLog()
    write({ type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: {} })
    write(commit)
    write({ type: 'tool-output-available', toolCallId: 'c1', output: '10%', preliminary: true }, TOOL)
    expect(parts()).toMatchObject([{ state: 'input-available', progress: '10%' }])
    expect(parts()[0]).not.toHaveProperty('output')
    write(discard, TOOL)
    expect(parts()[0]).not.toHaveProperty('progress')
    write({ type: 'tool-output-available', toolCallId: 'c1', output: 'done' }, TOOL)
    write(commit, TOOL)
    expect(parts()).toMatchObject([{ state: 'output-available', output: 'done' }])
  })

  test('a draft stores the length of a text to restore, never a copy', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a long text' })
    write(commit)
    write({ type: 'text-delta', id: '1', delta: ' and more' })
    expect(fold.view().drafts).toMatchObject([{ undo: [{ message: 'r1::r1', key: 'text:1', length: 11 }] }])
    expect(JSON.stringify(fold.view().drafts)).not.toContain('a long text')
  })

  test('usage never decreases: discarded attempts are counted, also separately', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'step-finish', usage: { inputTokens: 10, outputTokens: 2 } })
    write({ type: 'step-discarded', reason: 'retry', usage: { inputTokens: 10, outputTokens: 2 } })
    write({ type: 'step-finish', usage: { inputTokens: 10, outputTokens: 5, cachedTokens: 8 } })
    const { runs, usage } = fold.view()
    expect(usage).toEqual({ inputTokens: 20, outputTokens: 7, cachedTokens: 8 })
    expect(runs).toMatchObject([{ usage, discarded: { inputTokens: 10, outputTokens: 2 } }])
  })
})

describe('pendings', () => {
  test('a client tool is pending once it is committed, an approval once it is requested; answers settle them', () => {
    const { write, fold } = newFoldedLog()
    const kinds = () => fold.pendings.map(pending => `${pending.kind} ${pending.id}`)
    write({ type: 'tool-input-available', toolCallId: 'c1', toolName: 'pick', input: {}, executor: 'client' })
    write({
      type: 'tool-input-available',
      toolCallId: 'c2',
      toolName: 'send',
      input: { to: 'bob' },
      executor: 'server',
    })
    expect(kinds()).toEqual([])
    write({ type: 'tool-approval-request', toolCallId: 'c2', approvalId: 'r1::c2', input: { to: 'bob' } })
    write({ type: 'interrupt', interruptId: 'i1', input: { kind: 'text', question: 'Why?' } })
    write(commit)
    expect(kinds()).toEqual(['client-tool c1', 'approval r1::c2', 'interrupt i1'])
    write({ type: 'tool-output-available', toolCallId: 'c1', output: 1 }, ADA)
    write({ type: 'tool-approval-response', toolCallId: 'c2', approvalId: 'r1::c2', approved: true }, ADA)
    write({ type: 'interrupt-response', interruptId: 'i1', response: 'because' }, ADA)
    expect(kinds()).toEqual([])
    expect(fold.view().interrupts).toMatchObject([{ status: 'answered', response: 'because' }])
  })

  test('drops a second answer', () => {
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'interrupt', interruptId: 'i1', input: { kind: 'text' } })
    write({ type: 'interrupt-response', interruptId: 'i1', response: 1 }, ADA)
    write({ type: 'interrupt-response', interruptId: 'i1', response: 2 }, ADA)
    expect(reports).toEqual(['refused'])
    expect(fold.view().interrupts).toMatchObject([{ response: 1 }])
  })

  test('the end of the run voids open pendings', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'interrupt', interruptId: 'i1', input: { kind: 'text' } })
    write({ type: 'run-finished', status: 'aborted' })
    expect(fold.pendings).toEqual([])
    expect(fold.view().interrupts).toMatchObject([{ status: 'void' }])
  })
})

describe('runs and requests', () => {
  test('a request waits until its run starts; a stop withdraws a waiting request and marks an open run', () => {
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'run-requested', runId: 'r1', program: 'agent:a@1' }, { guest: 'ada' })
    write({ type: 'run-requested', runId: 'r2', program: 'agent:a@1' }, { guest: 'ada' })
    expect(fold.view().requests.map(request => request.status)).toEqual(['waiting', 'waiting'])
    write({ type: 'run-started', program: 'agent:a@1' })
    write({ type: 'stop-requested', runId: 'r2' }, { guest: 'ada' })
    write({ type: 'stop-requested', runId: 'r1' }, { guest: 'ada' })
    write({ type: 'stop-requested', runId: 'r9' }, { guest: 'ada' })
    expect(fold.view().requests.map(request => request.status)).toEqual(['started', 'removed'])
    expect(fold.view().runs).toMatchObject([{ runId: 'r1', program: 'agent:a@1', stopRequested: true }])
    expect(reports).toEqual(['refused'])
  })

  test('a paused run has `awaits` until it continues', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'run-paused', reason: 'people', awaits: [{ kind: 'interrupt', id: 'i1' }] })
    expect(fold.view().runs).toMatchObject([{ status: 'paused', awaits: [{ id: 'i1' }] }])
    write({ type: 'stop-requested', runId: 'r1' }, ADA)
    expect(fold.view().runs).toMatchObject([{ reason: 'people', awaits: [{ id: 'i1' }], stopRequested: true }])
    write({ type: 'run-resumed', mode: 'continue' })
    expect(fold.view().runs[0]).toMatchObject({ status: 'running' })
    expect(fold.view().runs[0]).not.toHaveProperty('awaits')
    expect(fold.view().runs[0]).not.toHaveProperty('reason')
  })
})

describe('views', () => {
  test('law 12: rejects a view of another version', () => {
    expect(() => Fold.from({ ...new Fold().view(), version: 99 } as unknown as View)).toThrow(
      /expected version 1, found 99/,
    )
  })

  test('rejects a view with a draft on a missing part', () => {
    const view: View = {
      ...new Fold().view(),
      drafts: [{ runId: 'r', lane: 'm', agentId: 'r', undo: [{ message: 'x', key: 'y' }] }],
    }
    expect(() => Fold.from(view)).toThrow(/draft of m: expected y/)
  })

  test('the head moves to the end of a frame', () => {
    const fold = new Fold()
    fold.apply([{ sequence: 1, timestamp: 0, origin: MAIN, chunk: { type: 'text-delta', id: '1', delta: 'ab' } }], 7)
    expect(fold.head).toBe(7)
  })

  test('state: patches apply completely or not at all', () => {
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'state-patch', patches: [{ op: 'add', path: '/n', value: 1 }] })
    write({
      type: 'state-patch',
      patches: [
        { op: 'add', path: '/m', value: 2 },
        { op: 'test', path: '/n', value: 9 },
      ],
    })
    expect(fold.view().state).toEqual({ n: 1 })
    expect(reports).toEqual(['refused'])
    write({ type: 'state-snapshot', state: { fresh: true } })
    write({ type: 'output', output: 42 })
    expect(fold.view()).toMatchObject({ state: { fresh: true }, output: 42 })
  })

  test('blob references are kept on the object with the value', () => {
    const { write, fold, log } = newFoldedLog()
    write({ type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: {} })
    const blobs = { '/output': { hash: 'sha256-x', bytes: 9 } }
    const origin = MAIN
    const more: Entry[] = [
      {
        sequence: 2,
        timestamp: 0,
        origin,
        chunk: { type: 'tool-output-available', toolCallId: 'c1', output: null },
        blobs,
      },
      {
        sequence: 3,
        timestamp: 0,
        origin,
        chunk: { type: 'hook-completed', hookId: 'h', hook: 'useStep', result: null },
        blobs,
      },
      { sequence: 4, timestamp: 0, origin, chunk: { type: 'file', url: '', mediaType: 'image/png' }, blobs },
    ]
    fold.apply(more)
    log.push(...more)
    expect(fold.message('r1::r1')?.parts).toMatchObject([
      { state: 'output-available', blobs },
      { type: 'file', blobs },
    ])
    expect(fold.view().hooks).toMatchObject([{ blobs }])
    expect(Fold.from(fold.view()).view()).toEqual(fold.view())
  })

  test('law 10: internal entries fold only into view.internal, and discards apply to them', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'run-context', context: { tenant: 't1' } }, MAIN, true)
    write({ type: 'hook-completed', hookId: 'h1', hook: 'useStep', result: 1 }, MAIN, true)
    write({ type: 'text-delta', id: '1', delta: 'secret' }, MAIN, true)
    const { internal, ...open } = fold.view()
    expect(JSON.stringify(open)).not.toMatch(/t1|h1|secret/)
    expect(internal?.runs).toMatchObject([{ context: { tenant: 't1' } }])
    expect(internal?.hooks).toMatchObject([{ runId: 'r1', hookId: 'h1', result: 1 }])
    expect(internal?.messages).toMatchObject([{ parts: [{ text: 'secret' }] }])
    write(discard)
    expect(fold.view().internal?.messages).toEqual([])
  })

  test('law 10: internal entries of guests change nothing and are not reported', () => {
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'run-requested', runId: 'r1', program: 'agent:a@1', resume: { runId: 'r0', mode: 'continue' } }, ADA)
    const before = fold.view()
    expect(before.requests).toMatchObject([{ runId: 'r1', resume: { runId: 'r0' }, status: 'waiting' }])
    write({ type: 'run-context', context: { tenant: 't1' } }, ADA, true)
    expect({ ...fold.view(), head: 1 }).toEqual(before)
    expect(reports).toEqual([])
    // The same entry is refused if it is public.
    write({ type: 'run-context', context: { tenant: 'mallory' } }, ADA)
    expect({ ...fold.view(), head: 1 }).toEqual(before)
    expect(reports).toEqual(['refused'])
    write({ type: 'run-started', program: 'agent:a@1', resumes: 'r0' })
    write({ type: 'run-resumed', mode: 'continue', fromCheckpointId: 'cp', fromStepCount: 1 })
    write({ type: 'run-context', context: { tenant: 't1' } }, MAIN, true)
    const { internal, ...open } = fold.view()
    expect(open.runs).toMatchObject([{ runId: 'r1', resumes: 'r0', status: 'running', at: 4 }])
    expect(JSON.stringify(open)).not.toContain('t1')
    expect(internal?.runs).toMatchObject([{ runId: 'r1', context: { tenant: 't1' } }])
    expect(JSON.stringify(fold.view())).not.toContain('mallory')
  })

  test('run-notified changes nothing and is not reported', () => {
    const notified = { type: 'run-notified', runId: 'r1', notifyBy: 9 } as const
    const views = [true, false].map(isNotified => {
      const { write, fold, reports } = newFoldedLog()
      write({ type: 'run-started', program: 'agent:a@1' })
      write({ type: 'run-paused', awaits: [], notifyBy: 9 })
      if (isNotified) for (const internal of [true, undefined] as const) write(notified, ADA, internal)
      expect(fold.view()).not.toHaveProperty('internal')
      fold.takeChanges()
      write({ type: 'run-finished', status: 'completed', notifyBy: 19 })
      if (isNotified) write({ ...notified, notifyBy: 19, until: 29 }, ADA, true)
      expect(reports).toEqual([])
      const { head, runs, ...rest } = fold.view()
      return { ...rest, runs: runs.map(({ finishedAt, ...run }) => run) }
    })
    expect(views[0]).toEqual(views[1])
  })

  test('session info and last lines are not part of the view', () => {
    const views = [true, false].map(withInfo => {
      const { write, fold, reports } = newFoldedLog()
      const line = withInfo && { line: 'So it is.' }
      write({ type: 'run-started', program: 'agent:a@1' })
      if (withInfo) write({ type: 'session-info', title: 'A walk', metadata: { pinned: true } }, ADA)
      write({ type: 'run-paused', awaits: [], ...line })
      fold.takeChanges()
      if (withInfo) write({ type: 'session-info', title: 'A long walk' }, ADA)
      expect(fold.takeChanges().ledger).toBe(false)
      write({ type: 'run-finished', status: 'completed', ...line })
      expect(reports).toEqual([])
      const { head, runs, ...rest } = fold.view()
      return { ...rest, runs: runs.map(({ finishedAt, ...run }) => run) }
    })
    expect(views[0]).toEqual(views[1])
  })

  test('counts takeovers since the last commit of any lane, and reports the change', () => {
    const { write, fold } = newFoldedLog()
    const takeovers = () => {
      const { ledger } = fold.takeChanges()
      expect(Fold.from(fold.view()).view()).toEqual(fold.view())
      return [fold.view().runs[0]?.takeovers, ledger]
    }
    write({ type: 'run-started', program: 'agent:a@1' })
    write(commit)
    fold.takeChanges()
    write({ type: 'executor-superseded' })
    expect(takeovers()).toEqual([1, true])
    write({ type: 'text-delta', id: '1', delta: 'a' })
    expect(takeovers()).toEqual([1, false])
    write(discard)
    write({ type: 'executor-superseded' })
    expect(takeovers()).toEqual([2, true])
    write(commit, TOOL)
    expect(takeovers()).toEqual([undefined, true])
    expect(fold.view().runs[0]).not.toHaveProperty('takeovers')
    write(commit)
    expect(takeovers()).toEqual([undefined, false])
    write({ type: 'executor-superseded' })
    write({ type: 'run-finished', status: 'failed' })
    expect(takeovers()).toEqual([1, true])
  })

  test('the position of a run is its `run-started`, regardless of the start of its batch', () => {
    const { write, log } = newFoldedLog()
    write({ type: 'run-started', program: 'agent:a@1' })
    write({ type: 'run-finished', status: 'completed' })
    const next = { ...MAIN, runId: 'r2', agentId: 'r2' }
    write({ type: 'rewind', toSequence: 0, reason: 'retry' }, next)
    write({ type: 'run-started', program: 'agent:a@1' }, next)
    expect(foldLog(log).view().runs).toMatchObject([
      { runId: 'r1', at: 1 },
      { runId: 'r2', at: 4, startedAt: 1003 },
    ])
  })

  test('partial tool input: complete values are shared between reads, never copied', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'tool-input-start', toolCallId: 'c1', toolName: 't' })
    write({ type: 'tool-input-delta', toolCallId: 'c1', delta: '{"rows":[{"a":1},{"b"' })
    const input = () => (fold.part('r1::r1', 'tool:c1') as ToolPart).input as { rows: unknown[] }
    const first = input()
    expect(first).toEqual({ rows: [{ a: 1 }, {}] })
    write({ type: 'tool-input-delta', toolCallId: 'c1', delta: ':2}' })
    expect(input()).toEqual({ rows: [{ a: 1 }, { b: 2 }] })
    expect(first).toEqual({ rows: [{ a: 1 }, {}] })
    expect(input().rows[0]).toBe(first.rows[0])
  })

  test('at a rewind the fold stops, returns a refold, and continues from it', () => {
    const { write, log } = newFoldedLog()
    write({ type: 'run-started', program: 'agent:a@1' })
    write({ type: 'text-delta', id: '1', delta: 'first try' })
    write({ type: 'run-finished', status: 'completed' })
    const next = { ...MAIN, runId: 'r2', agentId: 'r2' }
    write({ type: 'rewind', toSequence: 1, reason: 'regenerate' }, next)
    write({ type: 'text-delta', id: '1', delta: 'second try' }, next)
    const fold = new Fold()
    const refold = fold.apply(log, 9)
    expect(refold).toEqual({ toSequence: 1, rest: [log[4]], through: 9 })
    const past = new Fold()
    past.apply(log.filter((entry: Entry) => entry.sequence <= 1))
    fold.adopt(past)
    fold.apply(refold?.rest ?? [], refold?.through)
    expect(fold.head).toBe(9)
    expect(fold.messageIds).toEqual(['r2::r2'])
    expect(fold.view().runs.map(run => [run.runId, run.status])).toEqual([
      ['r1', 'completed'],
      ['r2', 'running'],
    ])
  })
})
