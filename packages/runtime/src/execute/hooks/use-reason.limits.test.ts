// Answers of `useReason` that exceed their limits, or do not begin.

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { endlessModel } from '../../model/endless-model.fixture.ts'
import { partsModel, textParts } from '../../model/model-run.fixture.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import { single, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { runNode, structuredIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

const modelLimits = { answerBytes: 5000 }
const endless = () => endlessModel(textParts('It is warm.'), () => ({ type: 'text-delta', id: '1', delta: 'so ' }))

/** The texts after the message of the user. */
const textsOf = ({ messages }: { readonly messages: readonly { readonly parts: readonly object[] }[] }) =>
  messages.slice(1).flatMap(({ parts }) => parts.flatMap(part => ('text' in part && 'state' in part ? [part] : [])))

test('an answer that is cut off fails the node and the run, and its text is kept', async () => {
  const { model, ends } = endless()
  const { result, view, log } = await runNode(() => useReason({ model, input: 'x', modelLimits }))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'budget_answer' } })
  expect(textsOf(view)).toContainEqual(expect.objectContaining({ text: 'It is warm.', state: 'done' }))
  expect(chunksOf(log, 'step-discarded')).toEqual([])
  expect(view.drafts).toEqual([])
  expect(result.usage.outputTokens).toBeGreaterThan(10)
  expect(ends).toHaveLength(1)
})

test('a node that catches the error continues, and the text is kept', async () => {
  const { model } = endless()
  const { result, view, returned } = await runNode(async () => {
    const error = await useReason({ model, input: 'x', modelLimits }).catch((why: unknown) => why)
    const { text } = await useReason({ model: scriptedModel([{ text: 'after' }]), input: 'x' })
    return { error, text }
  })
  expect(result.status).toBe('completed')
  expect(returned).toMatchObject({ error: { code: 'budget_answer' }, text: 'after' })
  const texts = textsOf(view)
  expect(texts).toContainEqual(expect.objectContaining({ text: 'It is warm.', state: 'done' }))
  expect(texts).toContainEqual(expect.objectContaining({ text: 'after', state: 'done' }))
})

test('a node that is retried starts without the text of the incomplete answer', async () => {
  const { model } = endless()
  let attempts = 0
  const node = async () => {
    const used = ++attempts === 1 ? model : scriptedModel([{ text: 'Cold.' }])
    return { data: (await useReason({ model: used, input: 'x', modelLimits })).text }
  }
  const testRun = await WorkflowTestRun.start(single({ run: node, retry: { attempts: 2, backoff: { firstMs: 1 } } }))
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'Cold.' })
  expect(textsOf(await testRun.view())).toMatchObject([{ text: 'Cold.' }])
})

test('an object that is cut off is taken back', async () => {
  const parts: LanguageModelV4StreamPart[] = [{ type: 'text-delta', id: '0', delta: '{"text":"' }]
  const { model } = endlessModel(parts, () => ({ type: 'text-delta', id: '0', delta: 'so ' }))
  const { result, log, view } = await runNode(() =>
    useReason({
      model,
      input: 'x',
      modelLimits,
      outputSchema: z.object({ text: z.string() }),
      structured: { fields: { text: 'text-delta' } },
    }),
  )
  expect(result).toMatchObject({ status: 'failed', error: { code: 'budget_answer' } })
  expect(chunksOf(log, 'step-discarded')).toMatchObject([{ reason: 'budget_answer' }])
  expect(structuredIn(log).length).toBeGreaterThan(0)
  expect(view.structured).toEqual([])
})

test('an answer that does not begin in time is retried', async () => {
  let calls = 0
  const model: LanguageModelV4 = {
    ...partsModel(),
    doStream: options => (++calls === 1 ? new Promise(() => {}) : scriptedModel([{ text: 'Here.' }]).doStream(options)),
  }
  const { returned } = await runNode(() => useReason({ model, input: 'x', modelLimits: { firstPartMs: 1 } }), {
    backoff: { firstMs: 1 },
  })
  expect(returned.text).toBe('Here.')
  expect(calls).toBe(2)
})

test('rejects limits that are not valid', async () => {
  const { result } = await runNode(() => useReason({ model: partsModel(), input: 'x', modelLimits: { idleMs: 0 } }))
  expect(result.reason).toBe('useReason: modelLimits: idleMs: expected a number above 0, found 0')
})
