import type { Entry, View } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import { tool } from '../../define/tool.ts'
import type { Migration, MigrationPoint, Workflow } from '../../define/workflow.ts'
import { type Process, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { recordingModel, reportsOf } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { textInterrupt, wired } from './workflow-test-run.fixture.ts'

const SESSION = 's'
const RUN = 'r'

/** A waiting run that a process of version 1 left. */
class Old {
  readonly cluster = new VirtualCluster()
  readonly apiProcess = this.cluster.process(() => [], { engine: false, blockedAfterMs: 2000 })

  async wait(testWorkflow: Workflow): Promise<void> {
    const first = this.process(testWorkflow)
    await this.apiProcess.runtime.start({ session: SESSION, runId: RUN, workflow: testWorkflow.program, input: 'Go.' })
    await this.seen('run-paused')
    await this.cluster.clock.until(first.runtime.close())
  }

  process(...workflows: Workflow[]): Process {
    return this.cluster.process(() => [], { workflows })
  }

  answer(id: string, response = 'yes'): Promise<unknown> {
    const answer = { kind: 'interrupt', id: `${RUN}::${id}`, response } as const
    return this.cluster.clock.until(this.apiProcess.runtime.answer(SESSION, answer))
  }

  seen(type: string, after = 0): Promise<Entry> {
    return this.cluster.waitForEntry(SESSION, ({ chunk, sequence }) => chunk.type === type && sequence > after)
  }

  /** The result of the run. Fails if the log violates the protocol. */
  async ended(): Promise<{ view: View; log: readonly Entry[] }> {
    await this.cluster.waitForEnd(SESSION, RUN)
    const log = await this.cluster.entries(SESSION)
    expect(reportsOf(log)).toEqual([])
    return { view: await this.cluster.view(SESSION), log }
  }
}

const V2 = { version: '2' }
const question =
  (id: string): NodeDefinition =>
  async () => ({ data: await useInterrupt(textInterrupt(`${id}?`, { id })) })
const ROW = [
  ['start', 'a'],
  ['a', 'b'],
  ['b', 'end'],
]
/** A run in node `a` that waits for two responses and an approval. */
function waiting() {
  const ran: string[] = []
  const { model } = recordingModel([{ calls: [{ name: 'pay', input: { n: 1 }, id: 'call' }] }, { text: 'Paid.' }])
  const pay = tool({
    name: 'pay',
    inputSchema: z.object({ n: z.number() }),
    approval: true,
    execute: () => void ran.push('pay'),
  })
  const testWorkflow = wired(
    {
      a: async ({ input }: NodeContext<string>) => {
        const [, set] = useWorkflowState<string>('seen')
        set('a')
        await useStep('old', () => void ran.push('old'))
        const names = await Promise.all([
          useInterrupt(textInterrupt('One?', { id: 'one' })),
          useInterrupt(textInterrupt('Two?', { id: 'two' })),
          useReason({ id: 'ask', model, input, tools: [pay] }).then(({ text }) => text),
        ])
        return { data: names.join() }
      },
      b: ({ input }: NodeContext<string>) => ({ data: input }),
    },
    ROW,
  )
  return { ran, testWorkflow }
}

describe('a run of another version', () => {
  test('continues where its migration says, settles what it no longer waits for, and starts the new node once', async () => {
    for (let n = 1, isKilled = true; isKilled; n++) {
      isKilled = false
      const old = new Old()
      const { testWorkflow, ran } = waiting()
      await old.wait(testWorkflow)
      const points: MigrationPoint[] = []
      const next = wired(
        {
          a: () => ({}),
          confirm: async ({ input }: NodeContext<{ was: string }>) => {
            await useStep('new', () => void ran.push('new'))
            const [seen] = useWorkflowState<string>('seen')
            return { data: { ...input, seen, sure: await useInterrupt(textInterrupt('Sure?', { id: 'sure' })) } }
          },
          b: ({ input }: NodeContext<unknown>) => ({ data: input }),
        },
        [
          ['start', 'a'],
          ['a', 'confirm'],
          ['confirm', 'b'],
          ['b', 'end'],
        ],
        {
          ...V2,
          migrate: {
            1: (at: MigrationPoint) => {
              points.push(at)
              return { node: 'confirm', input: { was: at.input } }
            },
          },
        },
      )
      const before = (await old.cluster.entries(SESSION)).length
      await old.answer('1.a.1/useInterrupt:one.1')
      const process = old.process(next)
      let appends = 0
      process.connection.after = ({ method }) => {
        if (method !== 'append' || ++appends !== n) return
        isKilled = true
        process.kill()
        old.process(next)
      }
      await old.seen('run-paused', before)
      const paused = await old.cluster.view(SESSION)
      expect(paused.pendings.map(({ id }) => id)).toEqual(['r::1.confirm.1/useInterrupt:sure.1'])
      // Its ticket stays the same: workers of either version may drive it.
      expect((await old.cluster.manager.getInfo(SESSION))?.ticket.run?.program).toBe('workflow:own@1')
      await old.answer('1.confirm.1/useInterrupt:sure.1')
      const { view, log } = await old.ended()
      expect(view.output).toEqual({ was: 'Go.', seen: 'a', sure: 'yes' })
      expect(ran.filter(line => line === 'old')).toHaveLength(1)
      expect(ran).not.toContain('pay')
      for (const point of points) expect(point).toEqual({ node: 'a', input: 'Go.', state: { seen: 'a' } })
      const calls = view.messages.flatMap(({ parts }) => parts.filter(part => 'toolCallId' in part))
      expect(calls).toMatchObject([{ state: 'output-error', code: 'interrupted' }])
      const settled = log.filter(({ chunk }) => chunk.type === 'interrupt-response').map(({ chunk }) => chunk)
      expect(settled).toMatchObject([{ response: 'yes' }, { response: null }, { response: 'yes' }])
      // Each commit is in the log once.
      const statuses = log.flatMap(({ chunk }) => (chunk.type === 'status' ? [chunk.message] : []))
      expect(statuses).toEqual(['a', 'confirm', 'b'])
      if (isKilled) expect(n).toBeLessThan(40)
      else expect(n).toBeGreaterThan(4)
    }
  })

  test('keeps its position if its migration returns undefined', async () => {
    const old = new Old()
    await old.wait(wired({ a: question('a'), b: ({ input }: NodeContext<string>) => ({ data: input }) }, ROW))
    const b: NodeDefinition = ({ input }: NodeContext<string>) => ({ data: `new ${input}` })
    old.process(wired({ a: question('a'), b }, ROW, { ...V2, migrate: { 1: () => undefined } }))
    await old.answer('1.a.1/useInterrupt:a.1')
    const { view, log } = await old.ended()
    expect(view.output).toBe('new yes')
    expect(log.filter(({ chunk }) => chunk.type === 'interrupt')).toHaveLength(1)
  })

  test('migrates each branch, and one that moves to the join has reached it', async () => {
    const fork = [
      ['start', 'a'],
      ['a', ['b', 'c'], { join: 'd' }],
      ['b', 'd'],
      ['c', 'd'],
      ['d', 'end'],
    ]
    const ends = { a: () => ({}), d: ({ input }: NodeContext<unknown>) => ({ data: input }) }
    const old = new Old()
    await old.wait(wired({ ...ends, b: question('b'), c: question('c') }, fork))
    const seen: string[] = []
    const migrate = {
      1: ({ node }: MigrationPoint) => {
        seen.push(node)
        return node === 'b' ? { node: 'd', input: 'instead' } : undefined
      },
    }
    old.process(wired({ ...ends, b: question('b'), c: question('c') }, fork, { ...V2, migrate }))
    await old.answer('1.c.1/useInterrupt:c.1')
    const { view } = await old.ended()
    expect(view.output).toEqual({ b: 'instead', c: 'yes' })
    expect(seen).toEqual(['b', 'c'])
  })

  test.each<[what: string, to: Readonly<Record<string, string>>, edges: unknown, problem: string]>([
    ['a branch to a node after the join', { b: 'e' }, undefined, 'it returned the node e for node b, which is not in'],
    ['a branch to a node before the fork', { b: 'a', c: 'a' }, undefined, 'it returned the node a for node b, which'],
    [
      'a branch to a node of another branch',
      { b: 'c' },
      undefined,
      'it returned the node c for node b, which is not in',
    ],
    [
      'a branch to a branch nested in it',
      { b: 'f' },
      [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'd' }],
        ['b', ['f', 'g'], { join: 'h' }],
        ['f', 'h'],
        ['g', 'h'],
        ['h', 'd'],
        ['c', 'd'],
        ['d', 'e'],
        ['e', 'end'],
      ],
      'it returned the node f for node b, which is not in the branch b',
    ],
    [
      'a run in branches to a workflow without the fork',
      {},
      ['a', 'b', 'c', 'd', 'e', 'end'].map((to, at) => [['start', 'a', 'b', 'c', 'd', 'e'][at], to]),
      'the run is in the branches b, c, and their fork does not exist any more: keep it until these runs have ended',
    ],
  ])('fails before any node runs if its migration moves %s', async (_, to, edges, problem) => {
    const fork = [
      ['start', 'a'],
      ['a', ['b', 'c'], { join: 'd' }],
      ['b', 'd'],
      ['c', 'd'],
      ['d', 'e'],
      ['e', 'end'],
    ]
    const old = new Old()
    const nodes = { a: () => ({}), b: question('b'), c: question('c'), d: () => ({}), e: () => ({}) }
    await old.wait(wired(nodes, fork))
    const ran: string[] = []
    const names = String(edges).includes('f,h') ? [...'abcdefgh'] : [...'abcde']
    const noting = Object.fromEntries(names.map(name => [name, () => void ran.push(name)]))
    const migrate = {
      1: ({ node }: MigrationPoint) => (to[node] === undefined ? undefined : { node: to[node], input: 1 }),
    }
    old.process(wired(noting, edges ?? fork, { ...V2, migrate }))
    await old.answer('1.c.1/useInterrupt:c.1')
    const [{ error } = {}] = (await old.ended()).view.runs
    expect(error).toMatchObject({ code: 'workflow_changed', message: expect.stringContaining(problem) })
    expect(ran).toEqual([])
  })

  test('accepts a new node of its branch, and rejects a node of another branch', async () => {
    const fork = [
      ['start', 'a'],
      ['a', ['b', 'c'], { join: 'd' }],
      ['b', 'x'],
      ['x', 'd'],
      ['c', 'd'],
      ['d', 'end'],
    ]
    const ends = { a: question('a'), d: ({ input }: NodeContext<unknown>) => ({ data: input }) }
    const nodes = {
      ...ends,
      b: question('b'),
      x: ({ input }: NodeContext<unknown>) => ({ data: input }),
      c: question('c'),
    }
    const old = new Old()
    await old.wait(wired({ ...nodes, a: () => ({}) }, fork))
    const toX = ({ node }: MigrationPoint) => (node === 'b' ? { node: 'x', input: 'new' } : undefined)
    old.process(wired(nodes, fork, { ...V2, migrate: { 1: toX } }))
    await old.answer('1.c.1/useInterrupt:c.1')
    expect((await old.ended()).view.output).toEqual({ b: 'new', c: 'yes' })

    const alone = new Old()
    await alone.wait(wired(nodes, fork))
    alone.process(wired(nodes, fork, { ...V2, migrate: { 1: () => ({ node: 'x', input: 1 }) } }))
    await alone.answer('1.a.1/useInterrupt:a.1')
    const [{ error } = {}] = (await alone.ended()).view.runs
    expect(error).toMatchObject({ code: 'workflow_changed', message: expect.stringContaining('which is in a branch') })
  })

  test('is migrated by the current workflow after a transition', async () => {
    const go = wired({ a: () => ({ transitionTo: 'other', data: 'x' }) }, [
      ['start', 'a'],
      ['a', 'end'],
    ])
    const ask = [
      ['start', 'q'],
      ['q', 'end'],
    ]
    const other = wired({ q: question('q') }, ask, { id: 'other' })
    const old = new Old()
    const first = old.process(go, other)
    await old.apiProcess.runtime.start({ session: SESSION, runId: RUN, workflow: go.program, input: 'Go.' })
    await old.seen('run-paused')
    await old.cluster.clock.until(first.runtime.close())
    const migrate = { 1: ({ input }: MigrationPoint) => ({ node: 'r', input }) }
    const r: NodeDefinition = ({ input }: NodeContext<string>) => ({ data: `new ${input}` })
    const nodes = { q: question('q'), r }
    old.process(
      go,
      wired(
        nodes,
        [
          ['start', 'q'],
          ['q', 'r'],
          ['r', 'end'],
        ],
        { id: 'other', ...V2, migrate },
      ),
    )
    await old.answer('2.q.1/useInterrupt:q.1')
    expect((await old.ended()).view.output).toBe('new x')
  })

  test.each<[what: string, migrate: unknown, edges: unknown, problem: string]>([
    [
      'throws',
      () => {
        throw new Error('secret')
      },
      ROW,
      'migrate.1: it threw for node a',
    ],
    ['returns a promise', async () => undefined, ROW, 'it returned a promise for node a'],
    ['returns only a name', () => 'b', ROW, 'it returned a string for node a'],
    ['returns no node', () => ({ input: 1 }), ROW, 'it returned an object without a node for node a'],
    ['returns no input', () => ({ node: 'b' }), ROW, 'it returned an input that is not JSON for node a'],
    ['returns an unknown node', () => ({ node: 'z', input: 1 }), ROW, 'it returned the node z, which does not exist'],
    [
      'keeps it in a node that was removed',
      () => undefined,
      [
        ['start', 'b'],
        ['b', 'end'],
      ],
      'it keeps the run in node a, which does not exist',
    ],
  ])('fails if its migration %s', async (_, migrate, edges, problem) => {
    const old = new Old()
    const b: NodeDefinition = ({ input }: NodeContext<string>) => ({ data: input })
    await old.wait(wired({ a: question('a'), b }, ROW))
    const nodes = edges === ROW ? { a: question('a'), b } : { b }
    old.process(wired(nodes, edges, { ...V2, migrate: { 1: migrate as Migration } }))
    await old.answer('1.a.1/useInterrupt:a.1')
    const { view } = await old.ended()
    const [{ error, status } = {}] = view.runs
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'workflow_changed' })
    expect(error?.message).toContain(problem)
    expect(error?.message).not.toContain('secret')
  })

  test('is blocked without a migration, accepts answers, and continues when its version is back', async () => {
    const old = new Old()
    const testWorkflow = wired({ a: question('a'), b: ({ input }: NodeContext<string>) => ({ data: input }) }, ROW)
    await old.wait(testWorkflow)
    const deployed = old.process(wired({ a: question('a'), b: () => ({ data: 'new' }) }, ROW, V2))
    expect(await old.apiProcess.runtime.status(SESSION)).toEqual({ status: 'paused' })
    await old.answer('1.a.1/useInterrupt:a.1')
    await old.cluster.clock.advance(5000)
    const status = await old.apiProcess.runtime.status(SESSION)
    expect(status).toMatchObject({ status: 'blocked', program: 'workflow:own@1' })
    expect(status).toMatchObject({ reason: expect.stringContaining('workflow:own@1') })
    expect(deployed.logged).toEqual([])
    old.process(testWorkflow)
    expect((await old.ended()).view.output).toBe('yes')
  })

  test('can be stopped by any process without a migration', async () => {
    const old = new Old()
    await old.wait(wired({ a: question('a'), b: () => ({}) }, ROW))
    old.process(wired({ a: question('a'), b: () => ({}) }, ROW, V2))
    expect(await old.apiProcess.runtime.stop(SESSION, RUN)).toBe(true)
    expect(await old.cluster.waitForEnd(SESSION, RUN)).toBe('interrupted')
    expect((await old.ended()).view.pendings).toEqual([])
  })

  test('is not driven by the version that it was migrated from', async () => {
    const old = new Old()
    const b: NodeDefinition = ({ input }: NodeContext<string>) => ({ data: input })
    const testWorkflow = wired({ a: question('a'), b }, ROW)
    await old.wait(testWorkflow)
    const migrate = { 1: () => ({ node: 'c', input: null }) }
    const edges = [...ROW.slice(0, 2), ['b', 'c'], ['c', 'end']]
    const next = wired({ a: question('a'), b, c: question('c') }, edges, { ...V2, migrate })
    const migrating = old.process(next)
    await old.answer('1.a.1/useInterrupt:a.1')
    const { sequence } = await old.seen('interrupt-response')
    await old.seen('run-paused', sequence)
    await old.cluster.clock.until(migrating.runtime.close())
    const former = old.process(testWorkflow)
    await old.answer('1.c.1/useInterrupt:c.1')
    await old.cluster.clock.advance(5000)
    const { head } = (await old.cluster.manager.getInfo(SESSION)) ?? {}
    expect((await old.cluster.view(SESSION)).runs).toMatchObject([{ status: 'paused' }])
    expect([...new Set(former.logged.map(({ message }) => message))]).toEqual(['failed to drive a session'])
    await old.cluster.clock.advance(60_000)
    expect((await old.cluster.manager.getInfo(SESSION))?.head).toBe(head)
    old.process(next)
    expect((await old.ended()).view.output).toBe('yes')
  })
})
