import { memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime } from '../../api/runtime.ts'
import type { NodeContext } from '../../define/node.ts'
import { workflow } from '../../define/workflow.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'

test('asks, waits and continues from the log', async () => {
  const done: string[] = []
  const model = scriptedModel([
    { text: '{"subject":"Hi","body":"Dear Ann, well","bullets":["a","b"]}', pieceLength: 4 },
  ])
  const schema = z.object({ subject: z.string(), body: z.string(), bullets: z.array(z.string()) })
  const emailDraft = workflow({
    id: 'email-draft',
    nodes: {
      ask: async ({ input }: NodeContext<string>) => {
        done.push('ask')
        const [count, setCount] = useWorkflowState('count', 0)
        const [nodeCount, setOwn] = useNodeState(1)
        setCount(count + 1)
        setOwn(nodeCount + 1)
        useStructuredData({ kind: 'set', streamId: 's', path: 'a', value: input })
        const key = await useStep('once', ({ idempotencyKey }) => {
          done.push('step')
          return idempotencyKey
        })
        const tone = await useInterrupt({
          request: { kind: 'choice', question: 'Which tone?', options: [{ id: 'dry', label: 'Dry' }] },
          id: 'tone',
        })
        return { data: { tone, key, count } }
      },
      draft: async ({ input }: NodeContext<{ tone: string; key: string; count: number }>) => {
        const [count] = useWorkflowState<number>('count')
        const { output, usage } = await useReason({
          model,
          input: `Write, ${input.tone}`,
          outputSchema: schema,
          structured: { dataType: 'email', fields: { subject: 'set', body: 'text-delta', bullets: 'append' } },
        })
        return { data: { ...output, count, usage }, ui: { message: 'There you are' } }
      },
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'draft'],
      ['draft', 'end'],
    ],
  })
  const store = memoryStore()
  const runtime = createRuntime({ store, workflows: [emailDraft] })
  const run = await runtime.start({ workflow: emailDraft, input: 'to Ann', session: 's' })
  const paused = await run.result()
  expect(paused.status).toBe('paused')
  const [pending] = paused.pendings
  await expect(runtime.answer('s', { kind: 'interrupt', id: pending?.id ?? '', response: 'wet' })).rejects.toThrow(
    'dry',
  )
  await runtime.close()
  const other = createRuntime({ store, workflows: [emailDraft] })
  await other.answer('s', { kind: 'interrupt', id: pending?.id ?? '', response: 'dry' })
  const result = await other.run('s', run.runId).result()
  expect(result).toMatchObject({ status: 'completed', text: 'There you are' })
  expect(result.output).toMatchObject({ subject: 'Hi', count: 1 })
  expect(done).toEqual(['ask', 'step', 'ask'])
  const { view } = await other.view('s')
  expect(view.structured.map(({ data }) => data)).toEqual([{ a: 'to Ann' }, expect.objectContaining({ subject: 'Hi' })])
  await other.close()
})
