// Parallel hooks: their order may differ when a node is replayed, and the result must not.

import { expect, test } from 'vitest'
import { gate } from '../../api/test-runtime.fixture.ts'
import { single, textInterrupt, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'
import { useStructuredData } from './use-structured-data.ts'

/** Two branches of code: the second is answered first, the first waits for an interrupt, then the process ends. */
async function twoFlows(flow: (name: string) => Promise<unknown>) {
  const slow = gate()
  let life = 0
  const testWorkflow = single(async () => {
    const isFirst = life++ === 0
    const run = async (name: string) => {
      await useStep(name, () => (name === 'a' && isFirst ? slow.opened.then(() => 1) : 1))
      const returned = await flow(name)
      if (name === 'b') slow.open()
      await useInterrupt(textInterrupt(`${name}?`, { id: `q${name}` }))
      return returned ?? null
    }
    return { data: await Promise.all([run('a'), run('b')]) }
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  await testRun.result()
  await testRun.restart()
  await testRun.answer('1.node.1/useInterrupt:qa.1', 'yes')
  await testRun.answer('1.node.1/useInterrupt:qb.1', 'yes')
  return { testRun, result: await testRun.result() }
}

test('applies each update of parallel code once, in any order', async () => {
  const { testRun, result } = await twoFlows(async name => {
    const [, set] = useWorkflowState<string[]>('list', [])
    set(list => [...(list ?? []), name])
    useStructuredData({ streamId: 'rows', kind: 'append', path: 'rows', items: [name] })
    await useStep(`${name}2`, () => 1)
    return useWorkflowState<string[]>('list', [])[0].length
  })
  expect(result).toMatchObject({ status: 'completed', output: [2, 1] })
  expect((await testRun.view()).structured).toMatchObject([{ data: { rows: ['b', 'a'] } }])
})

test('replays the values that each branch of code had set before its next hook', async () => {
  const { result } = await twoFlows(async name => {
    const [last, set] = useWorkflowState('last', 'nobody')
    set(name)
    await useStep(`${name}2`, () => 1)
    return `${name} after ${last}`
  })
  expect(result).toMatchObject({ status: 'completed', output: ['a after a', 'b after b'] })
})

test('rejects parallel hooks that are identified by order alone', async () => {
  const testWorkflow = single(async () => {
    const flow = async (name: string) => {
      await useStep(name, () => 1)
      return useNodeState(name)[0]
    }
    return { data: await Promise.all([flow('a'), flow('b')]) }
  })
  const { error } = await (await WorkflowTestRun.start(testWorkflow)).result()
  expect(error).toMatchObject({ code: 'validation_failed' })
  expect(error?.message).toContain('call it before them')
})

test('rejects the same id for two hooks at a time', async () => {
  const testWorkflow = single(async () => {
    await Promise.all([useStep('same', () => 1), useStep('same', () => 2)])
  })
  const { error } = await (await WorkflowTestRun.start(testWorkflow)).result()
  expect(error).toMatchObject({ code: 'validation_failed' })
  expect(error?.message).toContain('another hook with the id same is running')
})

test('accepts computation between parallel hooks', async () => {
  const done = gate()
  const testWorkflow = single(async () => {
    const flow = async (name: string, computing: Promise<void> | undefined) => {
      await useStep(`${name}1`, () => 1)
      await computing
      return useStep(`${name}2`, () => name)
    }
    const b = flow('b', undefined).finally(done.open)
    const data = await Promise.all([flow('a', done.opened), b])
    await useInterrupt(textInterrupt('Well?'))
    return { data }
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  await testRun.result()
  await testRun.restart()
  await testRun.answer('1.node.1/@.1', 'yes')
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: ['a', 'b'] })
})

test('rejects state updates inside a step', async () => {
  const testWorkflow = single(async () => {
    const [, set] = useWorkflowState<string[]>('cart', [])
    await useStep('add', () => set(['tea']))
  })
  const { error } = await (await WorkflowTestRun.start(testWorkflow)).result()
  expect(error).toMatchObject({ code: 'validation_failed' })
  expect(error?.message).toContain("set it in the node's own code")
})

test('a retry sets the result of its own attempt and adds nothing twice', async () => {
  let tries = 0
  const testWorkflow = single({
    run: async () => {
      const [, set] = useWorkflowState('status', 'none')
      const [, add] = useWorkflowState('count', 0)
      const isFirst = ++tries === 1
      set(isFirst ? 'failed' : 'ok')
      add(count => (count ?? 0) + 1)
      useStructuredData({ streamId: 's', kind: 'set', path: 'status', value: isFirst ? 'failed' : 'ok' })
      useStructuredData({ streamId: 's', kind: 'append', path: 'rows', items: ['row'] })
      await useStep('kept', () => 1)
      if (isFirst) throw new Error('no')
      await useStep('then', () => 1)
      return { data: [useWorkflowState('status', 'none')[0], useWorkflowState('count', 0)[0]] }
    },
    retry: { attempts: 2, backoff: { firstMs: 1 } },
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: ['ok', 1] })
  expect((await testRun.view()).structured).toMatchObject([{ data: { status: 'ok', rows: ['row'] } }])
})

test('gives every commit of a node its own id', async () => {
  const testWorkflow = single(async () => {
    for (const name of ['a', 'b', 'a']) await useStep(name, () => 1)
    await useInterrupt(textInterrupt('Well?'))
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  await testRun.result()
  const ids = (await testRun.log()).flatMap(({ chunk }) =>
    chunk.type === 'checkpoint-created' ? [chunk.checkpointId] : [],
  )
  expect(ids.length).toBeGreaterThan(4)
  expect(new Set(ids).size).toBe(ids.length)
})

test('logs the failure of a hook that is not awaited, without crashing', async () => {
  const testWorkflow = single(async () => {
    useStep('unhandled', () => Promise.reject(new Error('a rejection without a handler')))
    await useStep('awaited', () => 1)
    await useInterrupt(textInterrupt('Well?', { id: 'q' }))
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect((await testRun.result()).status).toBe('paused')
  expect(testRun.logged.map(({ message }) => message)).toContain('a hook failed')
})
