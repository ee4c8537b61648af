import { describe, expect, test } from 'vitest'
import { gate } from '../../api/test-runtime.fixture.ts'
import { agent } from '../../define/agent.ts'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import { LEASE_MS, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { STORES, sequence, single, textInterrupt, WorkflowTestRun, wired } from './workflow-test-run.fixture.ts'

/** Code that fails several times, with a count of its executions. */
function failing(times: number, error: (n: number) => unknown = n => new Error(`${n}`)) {
  const code = { ran: 0, run: () => fail() }
  const fail = () => {
    if (++code.ran <= times) throw error(code.ran)
    return { data: `after ${code.ran}` }
  }
  return code
}

describe('retry', () => {
  test.each([1, 2, 5])('runs a node %i times with that number of attempts', async attempts => {
    const enough = failing(attempts - 1)
    const testRun = await WorkflowTestRun.start(single({ run: enough.run, retry: { attempts } }))
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: `after ${attempts}` })
    const tooFew = failing(attempts)
    const other = await WorkflowTestRun.start(single({ run: tooFew.run, retry: { attempts } }))
    expect(await other.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_node_failed' } })
    expect([enough.ran, tooFew.ran]).toEqual([attempts, attempts])
    await other.log()
  })

  test('runs a node once by default', async () => {
    const once = failing(1)
    const testRun = await WorkflowTestRun.start(single(once.run))
    expect(await testRun.result()).toMatchObject({ status: 'failed' })
    expect(once.ran).toBe(1)
  })

  test('retries only errors that `when` accepts, and fails if `when` throws', async () => {
    const code = failing(9, n => new RangeError(`${n}`))
    const questions: unknown[] = []
    const when = (error: unknown) => {
      questions.push(error instanceof RangeError && error.message)
      return questions.length < 3
    }
    const testRun = await WorkflowTestRun.start(single({ run: code.run, retry: { attempts: 9, when } }))
    expect(await testRun.result()).toMatchObject({ status: 'failed' })
    expect([code.ran, questions]).toEqual([3, ['1', '2', '3']])
    const broken = () => {
      throw new Error('the rule')
    }
    const other = await WorkflowTestRun.start(single({ run: failing(9).run, retry: { attempts: 9, when: broken } }))
    expect(await other.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_node_failed' } })
    expect(other.logged.map(({ cause }) => String(cause)).join()).toContain('the rule')
  })

  const OMITTED: object = { firstMs: undefined, longestMs: undefined }

  test.each([
    ['its own', { firstMs: 100, longestMs: 300 }, {}, [100, 200, 300, 300]],
    ['the runtime', {}, { firstMs: 200, longestMs: 300 }, [200, 300, 300, 300]],
    ['the defaults', {}, OMITTED, [1_000, 2_000, 4_000, 8_000]],
  ])('increases the delay up to the longest, with the delays of %s', async (_, own, backoff, delays) => {
    const cluster = new VirtualCluster()
    const at: number[] = []
    const run = () => {
      at.push(cluster.clock.now())
      throw new Error('no')
    }
    const testWorkflow = single({ run, retry: { attempts: 5, backoff: own } })
    const { runtime } = cluster.process(() => [], { workflows: [testWorkflow], engine: { pollMs: 50 }, backoff })
    await runtime.start({ workflow: testWorkflow, input: 'Go.', session: 's', runId: 'r' })
    expect(await cluster.waitForEnd('s', 'r')).toBe('failed')
    expect(at.slice(1).map((time, index) => time - (at[index] as number))).toEqual(delays)
  })

  test('counts failures in the log, also across processes', async () => {
    const cluster = new VirtualCluster()
    let ran = 0
    const cut = gate()
    const testWorkflow = single({
      retry: { attempts: 3, backoff: { firstMs: 1 } },
      run: async () => {
        if (++ran === 2) {
          cut.open()
          await new Promise(() => {})
        }
        throw new Error('no')
      },
    })
    const begin = () => cluster.process(() => [], { workflows: [testWorkflow], engine: { pollMs: 50 } })
    const process = begin()
    await process.runtime.start({ workflow: testWorkflow, input: 'Go.', session: 's', runId: 'r' })
    await cluster.clock.until(cut.opened)
    process.kill()
    begin()
    await cluster.clock.advance(LEASE_MS * 2)
    expect(await cluster.waitForEnd('s', 'r')).toBe('failed')
    // The second attempt was interrupted, not failed: it was repeated, and the third was the last.
    expect(ran).toBe(4)
  })

  test('does not wait for a retry on shutdown, and another process makes it', async () => {
    const cluster = new VirtualCluster()
    const code = failing(1)
    const testWorkflow = single({ run: code.run, retry: { attempts: 2, backoff: { firstMs: 9000 } } })
    const begin = () => cluster.process(() => [], { workflows: [testWorkflow], engine: { pollMs: 50 } })
    const { runtime } = begin()
    await runtime.start({ workflow: testWorkflow, input: 'Go.', session: 's', runId: 'r' })
    await cluster.waitForEntry(
      's',
      ({ chunk }) => chunk.type === 'hook-completed' && JSON.stringify(chunk).includes('failures'),
    )
    const before = cluster.clock.now()
    await cluster.clock.until(runtime.close())
    expect(cluster.clock.now() - before).toBeLessThan(1000)
    expect(code.ran).toBe(1)
    begin()
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(code.ran).toBe(2)
  })

  test('discards the uncommitted content of an attempt', async () => {
    const code = failing(2)
    const testWorkflow = single({
      retry: { attempts: 3 },
      run: async () => {
        await useReason({ model: scriptedModel([{ text: 'Once.' }]), input: 'Go.', id: 'q' })
        await useStructuredData({ streamId: 'o', data: code.ran })
        return code.run()
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'completed', text: 'Once.' })
    expect((await testRun.view()).structured).toMatchObject([{ data: 2 }])
    expect(chunksOf(await testRun.log(), 'step-discarded')).toHaveLength(2)
  })

  describe.each(STORES)('%s', (_, opening) => {
    test('waiting for a person is not a failure, and is not repeated', async () => {
      let starts = 0
      let failures = 0
      const testWorkflow = single({
        retry: { attempts: 2 },
        run: async () => {
          starts++
          const one = await useInterrupt(textInterrupt('One?'))
          const two = await useInterrupt(textInterrupt('Two?'))
          if (++failures < 2) throw new Error('not yet')
          return { data: [one, two] }
        },
      })
      const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
      expect(await testRun.questionIds()).toEqual(['1.node.1/@.1'])
      expect(starts).toBe(1)
      await testRun.answer('1.node.1/@.1', 'a')
      await testRun.result()
      await testRun.restart()
      await testRun.answer('1.node.1/@.2', 'b')
      expect(await testRun.result()).toMatchObject({ status: 'completed', output: ['a', 'b'] })
      // One start for each pause, one after the last answer, one after the failure.
      expect(starts).toBe(4)
      expect(chunksOf(await testRun.log(), 'interrupt')).toHaveLength(2)
    })

    test('a retry waits for the interrupt of the failed attempt', async () => {
      let tries = 0
      const testWorkflow = single({
        retry: { attempts: 2 },
        run: async () => {
          const answer = useInterrupt(textInterrupt('One?', { id: 'q' }))
          await useStep('asked', () => 1)
          if (++tries === 1) throw new Error('not yet')
          return { data: await answer }
        },
      })
      const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
      expect(await testRun.questionIds()).toEqual(['1.node.1/useInterrupt:q.1'])
      await testRun.answer('1.node.1/useInterrupt:q.1', 'a')
      expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'a' })
      expect(chunksOf(await testRun.log(), 'interrupt')).toHaveLength(1)
    })
  })
})

describe('error policies', () => {
  test('stop: fails the run', async () => {
    let after = 0
    const testWorkflow = sequence({ first: { run: failing(1).run, onError: 'stop' }, second: () => void after++ })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_node_failed' } })
    expect(after).toBe(0)
    await testRun.log()
  })

  test('continue: passes the data of the policy to the next node', async () => {
    const testWorkflow = sequence({
      first: { run: failing(1).run, onError: { continue: { items: [] } } },
      second: ({ input }: NodeContext) => ({ data: input }),
    })
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({
      status: 'completed',
      output: { items: [] },
    })
  })

  test('route: passes the error and the input to another node', async () => {
    const testWorkflow = wired(
      {
        first: { run: failing(9).run, onError: { route: 'mend' }, retry: { attempts: 2 } },
        second: () => {},
        mend: ({ input }: NodeContext) => ({ data: input }),
      },
      [
        ['start', 'first'],
        ['first', 'second'],
        ['second', 'end'],
        ['mend', 'end'],
      ],
    )
    const output = { node: 'first', code: 'workflow_node_failed', message: 'node first failed', input: 'Go.' }
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({ status: 'completed', output })
  })

  test.each<[string, NodeDefinition]>([
    ['an invalid result of the node', () => ({ result: 1 }) as never],
    ['an invalid hook call', async () => void (await useStep('', () => 1))],
    ['an invalid result of a step', async () => void (await useStep('a', () => 1n))],
    [
      'a failed agent',
      agent({ name: 'broken', model: scriptedModel(() => Promise.reject(new Error('no')) as never), maxRetries: 0 }),
    ],
  ])('apply to every failure of a node: %s', async (_, run) => {
    const node = (typeof run === 'function' ? { run } : { agent: run }) as object
    const testWorkflow = sequence({ first: { ...node, onError: { continue: 'instead' } } as NodeDefinition })
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({
      status: 'completed',
      output: 'instead',
    })
  })
})
