// A replay throws the same errors as the first attempt.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import { BudgetError, MillraceError, ProviderError, RunError, ToolError, ValidationError } from '../../error/error.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useStep } from '../hooks/use-step.ts'
import { single, textInterrupt, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { restoreHookError, serializeHookError } from './replay.ts'

class OwnError extends MillraceError {}

const busy = new ProviderError('provider_overloaded', 'busy', { retryable: true, statusCode: 529, retryAfterMs: 20 })

const ERRORS: readonly MillraceError[] = [
  busy,
  new ToolError('no', { code: 'tool_timeout' }),
  new BudgetError('budget_steps', 'enough'),
  new RunError('run_busy', 'busy', { retryable: true }),
  new ValidationError('wrong'),
  new MillraceError('output_invalid', 'does not fit', { retryable: true }),
]

test('restores the class, code and fields of an error', () => {
  for (const error of ERRORS) {
    const restored = restoreHookError(JSON.parse(JSON.stringify(serializeHookError(error, 0))))
    expect(restored).toStrictEqual(error)
    expect(restored.constructor).toBe(error.constructor)
  }
})

const nothing = tool({ name: 'nothing', inputSchema: z.object({}), execute: () => 1 })

const FAILING: Readonly<Record<string, () => Promise<unknown>>> = {
  'an answer that never matches the schema': () => {
    const model = scriptedModel(() => ({ text: '{"a":1}' }))
    return useReason({ model, input: 'x', maxRetries: 0, outputSchema: z.object({ a: z.string() }) })
  },
  'too many steps': () => {
    const model = scriptedModel(() => ({ calls: [{ name: 'nothing', input: {} }] }))
    return useReason({ model, input: 'x', tools: [nothing], toolExecution: { maxSteps: 1 } })
  },
  'a step that threw a long message': () =>
    useStep('s', () => {
      throw new Error('long '.repeat(1000))
    }),
  'a step that threw an error of its own class': () =>
    useStep('s', () => {
      throw new OwnError('agent_failed', 'own', { retryable: true, cause: 'why' })
    }),
  'a step that threw an error of a provider': () =>
    useStep('s', () => {
      throw busy
    }),
}

for (const [name, failing] of Object.entries(FAILING)) {
  test(`throws the same error on replay: ${name}`, async () => {
    const caught: MillraceError[] = []
    const testWorkflow = single(async () => {
      await failing().catch((error: MillraceError) => caught.push(error))
      // Code that went another way now would be taken for another.
      const { retryable, name } = caught.at(-1) as MillraceError
      if (retryable) await useStep('again', () => 1)
      if (name !== 'MillraceError') await useStep(name, () => 1)
      return { data: await useInterrupt(textInterrupt('Q?')) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const [id = ''] = await testRun.questionIds()
    await testRun.restart()
    await testRun.answer(id, 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'yes' })
    const [live, restored] = caught as [MillraceError, MillraceError]
    expect(restored.cause).toBeUndefined()
    expect(restored.constructor).toBe(live.constructor)
    expect({ ...restored, message: restored.message }).toEqual({ ...live, message: live.message })
  })
}
