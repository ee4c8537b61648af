import { describe, expect, test } from 'vitest'
import { gate } from '../../api/test-runtime.fixture.ts'
import { LEASE_MS, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { STORES, single, textInterrupt, WorkflowTestRun, wired } from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useStep } from './use-step.ts'

describe.each(STORES)('steps, %s', (_, opening) => {
  test('does not run a committed step again, and returns its result as JSON', async () => {
    const done: string[] = []
    const testWorkflow = single(async () => {
      const at = await useStep('date', () => {
        done.push('date')
        return { at: new Date(0), nothing: undefined, list: [1] }
      })
      const none = await useStep('nothing', () => void done.push('nothing'))
      await useInterrupt(textInterrupt('One?'))
      const again = await useStep('date', () => void done.push('second'))
      await useInterrupt(textInterrupt('Two?'))
      return { data: [at, none === undefined, again === undefined] }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    for (const n of [1, 2]) {
      await testRun.result()
      await testRun.restart()
      await testRun.answer(`1.node.1/@.${n}`, 'yes')
    }
    const output = [{ at: '1970-01-01T00:00:00.000Z', list: [1] }, true, true]
    expect(await testRun.result()).toMatchObject({ status: 'completed', output })
    expect(done).toEqual(['date', 'nothing', 'second'])
  })

  test('returns the same result on replay, as a copy', async () => {
    const seen: unknown[] = []
    const testWorkflow = single(async () => {
      const list = await useStep('list', () => [1])
      list.push(2)
      seen.push(list)
      await useInterrupt(textInterrupt('One?'))
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    await testRun.answer('1.node.1/@.1', 'yes')
    await testRun.result()
    expect(seen).toEqual([
      [1, 2],
      [1, 2],
    ])
  })

  test('replays a failure that the node caught', async () => {
    let ran = 0
    const testWorkflow = single(async () => {
      const line = await useStep('fails', () => {
        ran++
        throw new Error('the step fails')
      }).catch(error => error.message)
      await useInterrupt(textInterrupt('One?'))
      return { data: line }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    await testRun.restart()
    await testRun.answer('1.node.1/@.1', 'yes')
    expect(await testRun.result()).toMatchObject({ output: 'the step fails' })
    expect(ran).toBe(1)
  })

  test('a retry of the node keeps finished steps and repeats the failed one with the same key', async () => {
    const keys: string[] = []
    const testWorkflow = single({
      retry: { attempts: 3 },
      run: async () => {
        await useStep('once', ({ idempotencyKey }) => void keys.push(`once ${idempotencyKey}`))
        await useStep('pay', ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          if (keys.length < 4) throw new Error('not yet')
        })
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect(keys).toHaveLength(4)
    expect(new Set(keys.slice(1)).size).toBe(1)
    expect(keys[0]).not.toContain(keys[1])
  })
})

test('gives each execution, use and key its own idempotency key', async () => {
  const keys: string[] = []
  const take = ({ idempotencyKey }: { idempotencyKey: string }) => void keys.push(idempotencyKey)
  const testWorkflow = wired(
    {
      node: async ({ step }) => {
        await useStep('a', take)
        await useStep('a', take)
        await useStep('b', take)
        return { condition: step < 2 ? 'more' : 'done' }
      },
    },
    [
      ['start', 'node'],
      ['node', 'node', { when: 'more' }],
      ['node', 'end', { when: 'done' }],
    ],
  )
  const testRun = await WorkflowTestRun.start(testWorkflow)
  await testRun.result()
  const second = await testRun.runtime.start({ workflow: testWorkflow, input: 'x', session: 's', runId: 'r2' })
  await second.result()
  expect(keys).toHaveLength(12)
  expect(new Set(keys).size).toBe(12)
})

test('repeats an interrupted step with the same key', async () => {
  const keys: string[] = []
  const begun = gate()
  const testWorkflow = single(async () => {
    await useStep('long', async ({ idempotencyKey }) => {
      keys.push(idempotencyKey)
      if (keys.length > 1) return
      begun.open()
      await new Promise(() => {})
    })
  })
  const cluster = new VirtualCluster()
  const begin = () => cluster.process(() => [], { workflows: [testWorkflow], engine: { pollMs: 50 } })
  const process = begin()
  await process.runtime.start({ workflow: testWorkflow, input: 'Go.', session: 's', runId: 'r' })
  await cluster.clock.until(begun.opened)
  process.kill()
  begin()
  await cluster.clock.advance(LEASE_MS * 2)
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
  expect(keys).toHaveLength(2)
  expect(new Set(keys).size).toBe(1)
})

test.each<[string, () => Promise<unknown>, string]>([
  ['a result that is not JSON', () => useStep('a', () => 1n), 'not JSON'],
  ['a result that is a function', () => useStep('a', () => () => 1), 'not JSON'],
  ['an empty key', () => useStep('', () => 1), 'id'],
  ['no key', () => useStep(undefined as never, () => 1), 'key'],
  ['no function', () => useStep('a', undefined as never), 'function'],
])('throws in the node for %s', async (_, code, found) => {
  const testRun = await WorkflowTestRun.start(single(async () => void (await code())))
  const { status, error } = await testRun.result()
  expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
  expect(error?.message).toContain(found)
})
