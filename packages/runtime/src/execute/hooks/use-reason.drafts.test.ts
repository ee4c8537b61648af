// Streaming objects of nodes or runs that end before the object is complete.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Gate, gate } from '../../api/test-runtime.fixture.ts'
import type { NodeDefinition } from '../../define/node.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { single, WorkflowTestRun, wired } from '../workflow/workflow-test-run.fixture.ts'
import { structuredIn } from './reason.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'
import { useStep } from './use-step.ts'

const outputSchema = z.object({ a: z.string() })
const structured = { fields: { a: 'text-delta' } } as const
const requestSchema = z.object({ kind: z.literal('text'), question: z.string() })

/** A model that streams a draft and asks a person. */
const asking = () => {
  const text = JSON.stringify({ output: { a: 'draft' }, interruptRequest: { kind: 'text', question: 'Tone?' } })
  return useReason({
    id: 'ask',
    model: scriptedModel([{ text }]),
    input: 'x',
    outputSchema,
    structured,
    interrupt: { requestSchema },
  })
}

/** A step that fails after the interrupt. */
const failing = ({ opened }: Gate) =>
  useStep('fails', async () => {
    await opened
    throw new Error('no')
  })

/** Starts a workflow and opens a gate when the draft is in the log. */
async function played(node: NodeDefinition, questionAsked: Gate): Promise<WorkflowTestRun> {
  const testRun = await WorkflowTestRun.start(single(node))
  for await (const { chunk } of testRun.run.stream()) {
    if (chunk.type === 'interrupt') questionAsked.open()
  }
  return testRun
}

/** The reasons of invalidations. */
const reasonsIn = (log: Awaited<ReturnType<WorkflowTestRun['log']>>) =>
  structuredIn(log).flatMap(chunk => (chunk.type === 'structured-data-invalidated' ? [chunk.reason] : []))

test.each([
  ['continues', { continue: 'went on' }, 'completed', 'workflow_node_failed'],
  ['fails', 'stop', 'failed', 'workflow_node_failed'],
] as const)('discards a committed draft if its node fails and the run %s', async (_how, onError, status, why) => {
  const questionAsked = gate()
  const run = async () => {
    await Promise.all([asking(), failing(questionAsked)])
    return {}
  }
  const testRun = await played({ run, onError } as NodeDefinition, questionAsked)
  expect(await testRun.result()).toMatchObject({ status })
  expect((await testRun.view()).structured).toEqual([])
  expect(reasonsIn(await testRun.log())).toEqual([why])
})

test('invalidates a draft at the end of a retried node that took another path', async () => {
  const questionAsked = gate()
  let tries = 0
  const run = async () => {
    if (++tries === 1) await Promise.all([asking(), failing(questionAsked)])
    return { data: 'other', ui: { message: 'Said.' } }
  }
  const testRun = await played({ run, retry: { attempts: 2 } } as NodeDefinition, questionAsked)
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'other' })
  expect((await testRun.view()).structured).toEqual([])
  expect(reasonsIn(await testRun.log())).toEqual(['unfinished'])
})

test('keeps a draft that a retried node continues', async () => {
  const questionAsked = gate()
  let tries = 0
  const run = async () => {
    await Promise.all([asking(), ...(++tries === 1 ? [failing(questionAsked)] : [])])
    return {}
  }
  const testRun = await played({ run, retry: { attempts: 2 } } as NodeDefinition, questionAsked)
  expect(await testRun.result()).toMatchObject({ status: 'paused' })
  expect((await testRun.view()).structured).toMatchObject([{ status: 'streaming', data: { a: 'draft' } }])
  expect([tries, reasonsIn(await testRun.log())]).toEqual([2, []])
})

test('invalidates an object of another branch when the run fails', async () => {
  const shown = gate()
  const testWorkflow = wired(
    {
      begin: async () => ({}),
      shows: async () => {
        // Takes much longer than the other branch.
        const text = JSON.stringify({ a: 'some words '.repeat(1000) })
        const model = scriptedModel([{ text, pieceLength: 4 }], { paceMs: 20 })
        await useReason({ model, input: 'x', outputSchema, structured })
        return {}
      },
      fails: async () => {
        await useStep('waits', () => shown.opened)
        throw new Error('no')
      },
      both: async () => ({}),
    },
    [
      ['start', 'begin'],
      ['begin', ['shows', 'fails'], { join: 'both' }],
      ['shows', 'both'],
      ['fails', 'both'],
      ['both', 'end'],
    ],
  )
  const testRun = await WorkflowTestRun.start(testWorkflow)
  for await (const { chunk } of testRun.run.stream()) if (chunk.type === 'structured-data') shown.open()
  expect(await testRun.result()).toMatchObject({ status: 'failed' })
  expect((await testRun.view()).structured).toEqual([])
  expect(reasonsIn(await testRun.log())).toEqual(['workflow_node_failed'])
})

test('keeps shown objects when the run is stopped', async () => {
  const testRun = await WorkflowTestRun.start(
    single(async () => {
      await asking()
      await useInterrupt({ request: { kind: 'text' } })
      return {}
    }),
  )
  await testRun.result()
  await testRun.run.stop()
  expect(await testRun.result()).toMatchObject({ status: 'interrupted' })
  expect((await testRun.view()).structured).toMatchObject([{ status: 'streaming', data: { a: 'draft' } }])
})
