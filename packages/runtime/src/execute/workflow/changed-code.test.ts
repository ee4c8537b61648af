import { memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { testRuntime } from '../../api/test-runtime.fixture.ts'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import type { Workflow } from '../../define/workflow.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { sequence, textInterrupt, wired } from './workflow-test-run.fixture.ts'

const SESSION = 's'
const RUN = 'r'

/** Pauses a run in one process and continues it with other code of the same version in another. */
async function changed(before: Workflow, after: Workflow) {
  const store = memoryStore()
  const first = testRuntime({ store, workflows: [before] })
  const paused = await (await first.start({ session: SESSION, runId: RUN, workflow: before, input: 'Go.' })).result()
  expect(paused.status).toBe('paused')
  await first.close()
  const next = testRuntime({ store, workflows: [after] })
  const [pending] = paused.pendings
  await next.answer(SESSION, { kind: 'interrupt', id: pending?.id ?? '', response: 'yes' })
  const { status, error, output } = await next.run(SESSION, RUN).result()
  return { status, code: error?.code, message: error?.message, output }
}

const done: string[] = []
/** A hook by letter: `a` to `c` and `z` are steps by id, `s` reads state, `q` asks, `@` asks without an id. */
const hooks: Readonly<Record<string, () => unknown>> = {
  ...Object.fromEntries([...'abcz'].map(id => [id, () => useStep(id, () => void done.push(id))])),
  s: () => useWorkflowState('s'),
  q: () => useInterrupt(textInterrupt('Well?', { id: 'q' })),
  p: () => useInterrupt(textInterrupt('Well?', { id: 'p' })),
  '@': () => useInterrupt(textInterrupt('Well?')),
}

/** A node that calls hooks in sequence. */
const row =
  (letters: string): NodeDefinition =>
  async () => {
    for (const letter of letters) await hooks[letter]?.()
    return { data: letters }
  }

describe('a run whose code changed while it was in a node', () => {
  test.each<[what: string, before: string, after: string, problem: string]>([
    [
      'calls another hook before the others',
      'abq',
      'zabq',
      'it calls 1.node.1/useStep:z.1 before 1.node.1/useStep:a.1',
    ],
    [
      'calls another hook between the others',
      'abq',
      'azbq',
      'it calls 1.node.1/useStep:z.1 before 1.node.1/useStep:b.1',
    ],
    ['no longer calls a hook', 'abq', 'aq', 'it calls 1.node.1/useInterrupt:q.1 before 1.node.1/useStep:b.1'],
    ['calls the hooks in another order', 'abq', 'baq', 'it calls 1.node.1/useStep:b.1 before 1.node.1/useStep:a.1'],
    ['asks earlier', 'abq', 'aqb', 'it calls 1.node.1/useInterrupt:q.1 before 1.node.1/useStep:b.1'],
    ['asks under another id', 'aq', 'ap', 'it calls 1.node.1/useInterrupt:p.1 before 1.node.1/useInterrupt:q.1'],
    ['also reads state', 'abq', 'saq', 'it calls 1.node.1/useWorkflowState:s.1 before 1.node.1/useStep:a.1'],
    ['no longer reads state', 'saq', 'aq', 'it calls 1.node.1/useStep:a.1 before 1.node.1/useWorkflowState:s.1'],
    ['no longer asks', 'aq', 'a', 'it ended without 1.node.1/useInterrupt:q.1'],
    ['calls a step instead of asking', 'aq', 'az', 'it calls 1.node.1/useStep:z.1 before 1.node.1/useInterrupt:q.1'],
  ])('fails if the node now %s', async (_, before, after, problem) => {
    done.length = 0
    const { message, ...other } = await changed(sequence({ node: row(before) }), sequence({ node: row(after) }))
    expect(other).toEqual({ status: 'failed', code: 'workflow_changed', output: undefined })
    expect(message).toContain(problem)
    expect(message).toContain('node node')
    // No new work is done.
    expect(done).toEqual([...before].filter(letter => /[a-c]/.test(letter)))
  })

  test('fails if the node now calls another kind of hook without an id', async () => {
    const askingNode: NodeDefinition = async () => ({ data: await useInterrupt(textInterrupt('Well?')) })
    const model = recordingModel([{ text: 'Hello' }])
    const after: NodeDefinition = async () => ({ data: (await useReason({ model: model.model, input: 'Hi' })).text })
    const { message, code } = await changed(sequence({ node: askingNode }), sequence({ node: after }))
    expect(code).toBe('workflow_changed')
    expect(message).toContain('it calls useReason where it called useInterrupt in the first execution')
    expect(model.modelCalls).toEqual([])
  })

  test('fails even if the node catches the error', async () => {
    done.length = 0
    const node: NodeDefinition = async () => {
      await Promise.resolve(hooks['z']?.()).catch(() => {})
      await Promise.resolve(hooks['a']?.()).catch(() => {})
      await Promise.resolve(hooks['q']?.()).catch(() => {})
      return { data: 'done' }
    }
    const { code, output } = await changed(sequence({ node: row('aq') }), sequence({ node }))
    expect({ code, output }).toEqual({ code: 'workflow_changed', output: undefined })
    expect(done).toEqual(['a'])
  })

  test('fails if the node was removed', async () => {
    const withoutQuestion = await changed(sequence({ node: row('q') }), sequence({ other: row('q') }))
    expect(withoutQuestion).toMatchObject({
      code: 'workflow_changed',
      message: expect.stringContaining('does not have the node node any more'),
    })
  })

  const fork = (heads: string[], join: string) => [
    ['start', 'a'],
    ['a', heads, { join }],
    ...heads.map(head => [head, join]),
    [join, 'end'],
  ]
  const inFork = { a: row(''), b: row('q'), c: row('') }
  test.each<[what: string, nodes: Readonly<Record<string, NodeDefinition>>, edges: unknown]>([
    ['meet at another join', { ...inFork, e: row('z') }, fork(['b', 'c'], 'e')],
    ['are three instead of two', { ...inFork, m: row('z'), d: row('z') }, fork(['b', 'c', 'm'], 'd')],
    [
      'are nodes in sequence',
      { ...inFork, d: row('z') },
      [
        ['start', 'a'],
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'd'],
        ['d', 'end'],
      ],
    ],
  ])('fails if the branches that it is in now %s', async (_, nodes, edges) => {
    done.length = 0
    const before = wired({ ...inFork, d: row('') }, fork(['b', 'c'], 'd'))
    const { code, message } = await changed(before, wired(nodes, edges))
    expect(code).toBe('workflow_changed')
    expect(message).toContain('the edges have changed since')
    expect(done).toEqual([])
  })

  test('continues if the edges had changed before the run entered the fork', async () => {
    const store = memoryStore()
    const nodes = { a: row('q'), b: row('q'), c: row(''), d: row('') }
    const testWorkflow = wired(nodes, fork(['b', 'c'], 'd'))
    const ROW = ['a', 'b', 'c', 'd', 'end'].map((to, at) => [['start', 'a', 'b', 'c', 'd'][at], to])
    let runtime = testRuntime({ store, workflows: [wired(nodes, ROW)] })
    await (await runtime.start({ session: SESSION, runId: RUN, workflow: 'own', input: 'Go.' })).result()
    for (let n = 0; n < 2; n++) {
      await runtime.close()
      runtime = testRuntime({ store, workflows: [testWorkflow] })
      const [pending] = (await runtime.run(SESSION, RUN).result()).pendings
      await runtime.answer(SESSION, { kind: 'interrupt', id: pending?.id ?? '', response: 'yes' })
    }
    expect(await runtime.run(SESSION, RUN).result()).toMatchObject({ status: 'completed' })
  })

  test('fails if the edge of the run was removed', async () => {
    const node: NodeDefinition = async () => ({
      condition: String(await useInterrupt(textInterrupt('Well?', { id: 'q' }))),
    })
    const edges = (when: string) => [
      ['start', 'node'],
      ['node', 'end', { when: 'no' }],
      ['node', 'last', { when }],
      ['last', 'end'],
    ]
    const nodes = { node, last: ({ input }: NodeContext<unknown>) => ({ data: input }) }
    const { code, message } = await changed(wired(nodes, edges('yes')), wired(nodes, edges('perhaps')))
    expect(code).toBe('workflow_changed')
    expect(message).toContain('the condition yes')
    // If the edge never existed, the node is to blame.
    const never = await changed(wired(nodes, edges('perhaps')), wired(nodes, edges('perhaps')))
    expect(never.code).toBe('workflow_no_way')
  })

  test('continues if only later code changed', async () => {
    done.length = 0
    const { status, output } = await changed(
      sequence({ node: row('abq'), last: row('') }),
      sequence({ node: row('abqz') }),
    )
    expect({ status, output }).toEqual({ status: 'completed', output: 'abqz' })
    expect(done).toEqual(['a', 'b', 'z'])
  })
})
