// Models called in parallel branches: one message, with separate parts.

import type { Json, Pending } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Answer } from '../../api/answer.ts'
import { tool } from '../../define/tool.ts'
import { type ScriptedAnswer, scriptedModel } from '../../model/scripted-model.ts'
import { crashAtEveryAppend } from '../workflow/crash-everywhere.fixture.ts'
import { wired } from '../workflow/workflow-test-run.fixture.ts'
import { useReason } from './use-reason.ts'

const note = z.object({ by: z.string(), lines: z.array(z.string()) })

test('keeps parallel branches apart with colliding call ids and approvals, after a crash at every append', async () => {
  const ran: string[] = []
  const write = tool({
    name: 'write',
    inputSchema: z.object({ by: z.string() }),
    approval: true,
    execute: ({ by }, { idempotencyKey }) => {
      ran.push(idempotencyKey)
      return `written by ${by}`
    },
  })
  const branch = (by: string) => async () => {
    const model = scriptedModel(
      ({ turnAnswers }): ScriptedAnswer =>
        turnAnswers === 0
          ? { text: `{"by":"no`, calls: [{ name: 'write', input: { by }, id: 'same' }], pieceLength: 5 }
          : { text: JSON.stringify({ by, lines: [`${by} 1`, `${by} 2`] }), pieceLength: 5 },
    )
    const { output, toolResults, usage } = await useReason({
      model,
      input: by,
      tools: [write],
      outputSchema: note,
      structured: { dataType: by, fields: { by: 'set', lines: 'append' } },
    })
    return { data: { ...output, result: toolResults[0]?.output ?? null, tokens: usage.outputTokens ?? 0 } }
  }
  const testWorkflow = wired({ split: () => ({ data: 'x' }), ann: branch('ann'), bob: branch('bob'), both: joined }, [
    ['start', 'split'],
    ['split', ['ann', 'bob'], { join: 'both' }],
    ['ann', 'both'],
    ['bob', 'both'],
    ['both', 'end'],
  ])
  const answer = ({ id }: Pending): Answer => ({ kind: 'approval', id, approved: true })
  const { shape, kills } = await crashAtEveryAppend({
    answer,
    start: { workflow: testWorkflow },
    programs: () => ({ workflows: [testWorkflow] }),
    // The order of the branches is not determined.
    compared: ({ run, output, structured }) => ({ run, output, structured: new Set(structured) }),
  })
  expect(shape.output).toMatchObject({
    ann: { by: 'ann', lines: ['ann 1', 'ann 2'], result: 'written by ann' },
    bob: { by: 'bob', lines: ['bob 1', 'bob 2'], result: 'written by bob' },
  })
  expect(kills).toBeGreaterThan(8)
  expect(new Set(ran).size).toBe(2)
})

function joined({ input }: { readonly input: Json }) {
  return { data: input }
}
