// Law 10 in errors: internal content of an answer is not in the errors of its run.

import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Schema } from '../../schema/schema.ts'
import { recordingModel } from '../agent/run-to-end.fixture.ts'
import { publicOf, sequence, single, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { useReason } from './use-reason.ts'

/** A schema whose messages quote their input. */
const quoting: Schema = {
  '~standard': {
    version: 1,
    vendor: 'own',
    validate: value => ({ issues: [{ message: `received ${JSON.stringify(value)}` }] }),
  },
}

const SCHEMAS: readonly (readonly [string, Schema])[] = [
  ['that quotes keys', z.strictObject({ a: z.string() })],
  ['that quotes values', quoting],
]

test.each(SCHEMAS)('law 10: sends the messages of a schema %s to the model, not to readers', async (_, schema) => {
  for (const emit of [true, false]) {
    const { model, modelCalls } = recordingModel(() => ({ text: '{"a":"x","SECRET":1}' }))
    const options = {
      model,
      input: 'x',
      emit,
      maxRetries: 1,
      outputSchema: schema,
      jsonSchema: { type: 'object' },
    } as const
    const testRun = await WorkflowTestRun.start(single(async () => ({ data: (await useReason(options)).text })))
    const { status, error } = await testRun.result()
    expect({ status, ...error }).toMatchObject({ status: 'failed', code: 'output_invalid', retryable: true })
    expect(JSON.stringify([error, publicOf(await testRun.log()), await testRun.view()])).not.toContain('SECRET')
    expect(JSON.stringify(modelCalls[1]?.prompt.at(-1))).toContain('SECRET')
    expect(testRun.logged.map(({ cause }) => String((cause as Error).message)).join()).toContain('SECRET')
  }
})

test('law 10: does not quote the data of a transition that does not match its schema', async () => {
  const next = sequence(
    { last: () => ({}) },
    { id: 'next', version: '1', inputSchema: quoting, jsonSchema: { type: 'object' } },
  )
  const testWorkflow = single(() => ({ data: 'SECRET', transitionTo: 'next' }))
  const testRun = await WorkflowTestRun.start(testWorkflow, { workflows: [next] })
  const { error } = await testRun.result()
  expect(error).toMatchObject({ code: 'workflow_input_invalid', message: expect.stringContaining('workflow next') })
  expect(JSON.stringify([error, publicOf(await testRun.log())])).not.toContain('SECRET')
})
