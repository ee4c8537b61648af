// Responses to interrupts: who may respond, how often, and what happens without a response.

import { describe, expect, test } from 'vitest'
import type { Runtime } from '../../api/runtime.ts'
import { codeOf, gate, until } from '../../api/test-runtime.fixture.ts'
import type { Workflow } from '../../define/workflow.ts'
import { isEndOf, LEASE_MS, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { MillraceError } from '../../error/error.ts'
import { chunksOf, reportsOf } from '../agent/run-to-end.fixture.ts'
import {
  STORES,
  sequence,
  single,
  textInterrupt,
  WorkflowTestRun,
  wired,
} from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useStep } from './use-step.ts'
import { useStructuredData } from './use-structured-data.ts'

const Q = '1.node.1/useInterrupt:q.1'
const asks = (more: object = {}) =>
  single(async () => ({ data: await useInterrupt(textInterrupt('Well?', { id: 'q', ...more })) }))

describe.each(STORES)('answers, %s', (_, opening) => {
  test('requires the session and its owner', async () => {
    const testWorkflow = asks()
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening(), start: { principal: 'ada' } })
    await testRun.result()
    const { runtime } = testRun
    const annsRun = await runtime.start({
      workflow: testWorkflow,
      input: 'x',
      session: 'mine',
      runId: 'm',
      principal: 'eve',
    })
    await annsRun.result()
    const answer = { kind: 'interrupt', id: `r::${Q}`, response: 'forged' } as const
    expect(await codeOf(runtime.answer('mine', answer, { principal: 'eve' }))).toBe('answer_unknown')
    expect(await codeOf(runtime.answer('s', answer, { principal: 'eve' }))).toBe('answer_forbidden')
    expect(await codeOf(runtime.answer('nowhere', answer))).toBe('session_unknown')
    expect(await testRun.questionIds()).toEqual([Q])
    await runtime.answer('s', answer, { principal: 'ada' })
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'forged' })
  })

  test('accepts one of two concurrent responses and rejects the other', async () => {
    const open = await opening()
    let done = 0
    const testWorkflow = single(async () => {
      const answer = await useInterrupt(textInterrupt('Well?', { id: 'q' }))
      return { data: await useStep('pay', () => `${++done} ${answer}`) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open })
    await testRun.result()
    const other = await WorkflowTestRun.start(testWorkflow, { open, start: { session: 'other' } })
    const codes = await Promise.all([
      codeOf(testRun.answer(Q, 'mine')),
      codeOf(testRun.answer(Q, 'yours', other.runtime)),
      codeOf(testRun.answer(Q, 'theirs')),
    ])
    expect([...codes].sort()).toEqual(['answer_already_settled', 'answer_already_settled', 'none'])
    const { status, output } = await testRun.result()
    expect([status, output]).toEqual(['completed', `1 ${['mine', 'yours', 'theirs'][codes.indexOf('none')]}`])
    const log = await testRun.log()
    expect(chunksOf(log, 'interrupt-response')).toHaveLength(1)
    expect(chunksOf(log, 'run-finished')).toHaveLength(1)
  })

  test('rejects a response without a matching interrupt and starts no run', async () => {
    const testRun = await WorkflowTestRun.start(asks(), { open: await opening() })
    await testRun.result()
    for (const id of ['1.node.1/useInterrupt:q.2', '1.node.2/useInterrupt:q.1', '1.node.1/@.1', '']) {
      expect(await testRun.answerError(id, 'x')).toBe('answer_unknown')
    }
    await testRun.answer(Q, 'x')
    await testRun.result()
    const before = await testRun.log()
    expect(await testRun.answerError(Q, 'y')).toBe('answer_already_settled')
    expect(await testRun.answerError('1.node.1/useInterrupt:q.7', 'y')).toBe('answer_unknown')
    expect(await testRun.log()).toEqual(before)
    expect((await testRun.view()).runs).toHaveLength(1)
  })

  test('rejects an approval or a client result for an interrupt', async () => {
    const testRun = await WorkflowTestRun.start(asks(), { open: await opening() })
    await testRun.result()
    const id = `r::${Q}`
    expect(await codeOf(testRun.runtime.answer('s', { kind: 'approval', id, approved: true }))).toBe(
      'answer_wrong_kind',
    )
    expect(await codeOf(testRun.runtime.answer('s', { kind: 'tool-result', id, output: 'x' }))).toBe(
      'answer_wrong_kind',
    )
    expect(await testRun.questionIds()).toEqual([Q])
  })

  test.each(['interrupt', 'abort'] as const)('stops a waiting run: %s', async mode => {
    let ran = 0
    const testWorkflow = sequence({
      node: async () => ({ data: await useInterrupt(textInterrupt('Well?', { id: 'q' })) }),
      after: () => void ran++,
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    expect(await testRun.run.stop({ mode })).toBe(true)
    expect(await testRun.result()).toMatchObject({ status: mode === 'abort' ? 'aborted' : 'interrupted', pendings: [] })
    expect(await testRun.answerError(Q, 'late')).toBe('answer_already_settled')
    expect((await testRun.view()).interrupts).toMatchObject([{ status: 'void' }])
    expect(ran).toBe(0)
    await testRun.log()
  })

  test('stops a run with a running node: shown content stays, and nothing follows', async () => {
    const working = gate()
    const events: string[] = []
    const testWorkflow = sequence({
      node: async ({ abortSignal }) => {
        await useStructuredData({ streamId: 'progress', kind: 'set', path: 'done', value: 1 })
        const stopped = new Promise<void>(resolve => abortSignal.addEventListener('abort', () => resolve()))
        await useStep('long', async ({ abortSignal: stepSignal }) => {
          working.open()
          await stopped
          events.push(String(stepSignal.aborted))
        })
      },
      after: () => void events.push('after'),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await working.opened
    await testRun.run.stop({ mode: 'abort' })
    expect(await testRun.result()).toMatchObject({ status: 'aborted' })
    expect((await testRun.view()).structured).toMatchObject([{ streamId: 'progress', data: { done: 1 } }])
    expect(events).not.toContain('after')
    const log = await testRun.log()
    expect(log.findIndex(isEndOf('r'))).toBe(log.length - 1)
  })
})

describe('timeouts', () => {
  /** A cluster with a started workflow, in virtual time. */
  async function testRun(testWorkflow: Workflow) {
    const cluster = new VirtualCluster()
    const begin = () => cluster.process(() => [], { workflows: [testWorkflow], engine: { pollMs: 50 } })
    const process = begin()
    await process.runtime.start({ workflow: testWorkflow, input: 'Go.', session: 's', runId: 'r' })
    const log = async () => {
      const entries = await cluster.entries('s')
      expect(reportsOf(entries)).toEqual([])
      return entries
    }
    const answer = (runtime: Runtime, id: string, response: string) =>
      cluster.clock.until(codeOf(runtime.answer('s', { kind: 'interrupt', id: `r::${id}`, response })))
    const output = async () => chunksOf(await log(), 'output').at(-1)?.output
    return { cluster, begin, process, log, answer, output }
  }

  test('accepts a response in time and publishes the deadline', async () => {
    const { cluster, process, answer, output, log } = await testRun(asks({ timeoutMs: 5000 }))
    const interruptEntry = await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'interrupt')
    expect(interruptEntry.chunk).toMatchObject({ deadline: interruptEntry.timestamp + 5000 })
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    await cluster.clock.advance(4000)
    expect(await answer(process.runtime, Q, 'yes')).toBe('none')
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(await output()).toBe('yes')
    await log()
  })

  test('throws after the deadline, rejects late responses and settles the interrupt', async () => {
    const testWorkflow = single(async () => {
      try {
        return { data: await useInterrupt(textInterrupt('Well?', { id: 'q', timeoutMs: 5000 })) }
      } catch (error) {
        return { data: MillraceError.isInstance(error) ? error.code : 'other' }
      }
    })
    const { cluster, process, answer, output } = await testRun(testWorkflow)
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    await cluster.clock.advance(5001)
    expect(['answer_late', 'answer_already_settled']).toContain(await answer(process.runtime, Q, 'yes'))
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(await output()).toBe('interrupt_timeout')
    expect((await cluster.view('s')).interrupts).toMatchObject([{ status: 'answered', response: null }])
  })

  test('keeps a timeout in the next process', async () => {
    const cut = gate()
    const held: string[] = []
    const testWorkflow = single(async () => {
      const answer = await useInterrupt(textInterrupt('Well?', { id: 'q', timeoutMs: 5000 })).catch(
        error => `failed ${error.code}`,
      )
      held.push(String(answer))
      // The first process goes no further.
      if (held.length === 1) {
        cut.open()
        await new Promise(() => {})
      }
      return { data: answer }
    })
    const { cluster, begin, process, output } = await testRun(testWorkflow)
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    await cluster.clock.until(cut.opened)
    process.kill()
    begin()
    await cluster.clock.advance(LEASE_MS * 2)
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(held).toEqual(['failed interrupt_timeout', 'failed interrupt_timeout'])
    expect(await output()).toBe('failed interrupt_timeout')
  })

  test('expires while no process runs: a response is late, and the next driver throws', async () => {
    const testWorkflow = single(async () => ({
      data: await useInterrupt(textInterrupt('Well?', { id: 'q', timeoutMs: 5000 })).catch(error => error.code),
    }))
    const { cluster, begin, process, answer, output } = await testRun(testWorkflow)
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    process.kill()
    await cluster.clock.advance(5001)
    const guest = cluster.process(() => [], { engine: false })
    expect(await answer(guest.runtime, Q, 'yes')).toBe('answer_late')
    begin()
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(await output()).toBe('interrupt_timeout')
  })

  test('expires one of several interrupts while the others wait', async () => {
    const testWorkflow = single(async () => {
      const short = useInterrupt(textInterrupt('Short?', { id: 'short', timeoutMs: 1000 })).catch(error => error.code)
      const long = useInterrupt(textInterrupt('Long?', { id: 'long' }))
      return { data: await Promise.all([short, long]) }
    })
    const { cluster, process, answer, output } = await testRun(testWorkflow)
    const short = '1.node.1/useInterrupt:short.1'
    await cluster.waitForEntry(
      's',
      ({ chunk }) => chunk.type === 'interrupt-response' && chunk.interruptId === `r::${short}`,
    )
    expect(await answer(process.runtime, '1.node.1/useInterrupt:long.1', 'yes')).toBe('none')
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(await output()).toEqual(['interrupt_timeout', 'yes'])
  })

  test('asks again when a node is retried after a timeout', async () => {
    const testWorkflow = single({
      run: async () => ({ data: await useInterrupt(textInterrupt('Well?', { id: 'q', timeoutMs: 5000 })) }),
      retry: { attempts: 2 },
    })
    const { cluster, process, answer, output, log } = await testRun(testWorkflow)
    const again = await cluster.waitForEntry(
      's',
      ({ chunk }) => chunk.type === 'interrupt' && chunk.interruptId !== `r::${Q}`,
    )
    expect(again.chunk).toMatchObject({ interruptId: `r::${Q}.2` })
    expect(await answer(process.runtime, `${Q}.2`, 'yes')).toBe('none')
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(await output()).toBe('yes')
    expect(chunksOf(await log(), 'interrupt')).toHaveLength(2)
  })

  test('waits without limit if there is no timeout', async () => {
    const { cluster, begin, process, answer, output } = await testRun(asks({ timeoutMs: Number.POSITIVE_INFINITY }))
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    process.kill()
    await cluster.clock.advance(7 * 24 * 3600 * 1000)
    const { runtime } = begin()
    expect(await answer(runtime, Q, 'at last')).toBe('none')
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(await output()).toBe('at last')
  })
})

test('settles the interrupts of a failed node', async () => {
  const testWorkflow = wired(
    {
      node: {
        run: async () => {
          const question = useInterrupt(textInterrupt('Well?', { id: 'q' }))
          await useStep('fails', () => Promise.reject(new Error('no')))
          await question
        },
        onError: { route: 'instead' },
      },
      instead: async () => ({ data: await useInterrupt(textInterrupt('Instead?', { id: 'i' })) }),
    },
    [
      ['start', 'node'],
      ['node', 'end'],
      ['instead', 'end'],
    ],
  )
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.questionIds()).toEqual(['1.instead.1/useInterrupt:i.1'])
  expect(await testRun.answerError(Q, 'x')).toBe('answer_already_settled')
  await testRun.answer('1.instead.1/useInterrupt:i.1', 'fine')
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'fine' })
  await testRun.log()
})

test('writes the interrupt before the pause', async () => {
  const testRun = await WorkflowTestRun.start(asks())
  const { chunk } = await until(testRun.run, 'interrupt')
  expect(chunk).toMatchObject({ interruptId: `r::${Q}`, input: { kind: 'text', question: 'Well?' } })
  expect(await testRun.result()).toMatchObject({ status: 'paused', pendings: [{ kind: 'interrupt', id: `r::${Q}` }] })
})
