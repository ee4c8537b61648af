// useReason with a crash after every append: another process continues from the log, and committed answers are neither
// requested nor shown again.

import type { Json, Pending } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Answer } from '../../api/answer.ts'
import type { NodeContext } from '../../define/node.ts'
import { tool } from '../../define/tool.ts'
import { workflow } from '../../define/workflow.ts'
import { type ScriptedAnswer, type ScriptedPrompt, scriptedModel } from '../../model/scripted-model.ts'
import { crashAtEveryAppend } from '../workflow/crash-everywhere.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'

const email = z.object({ subject: z.string(), body: z.string() })
const fields = { subject: 'set', body: 'text-delta' } as const

/** Responds to interrupts by their question, and approves calls. */
const answer = (pending: Pending): Answer =>
  pending.kind === 'interrupt'
    ? { kind: 'interrupt', id: pending.id, response: 'dry' }
    : pending.kind === 'approval'
      ? { kind: 'approval', id: pending.id, approved: true }
      : { kind: 'tool-result', id: pending.id, output: 'from the client' }

/** Crashes the run of one node at every append, and counts the model calls of all its processes. */
async function runWithCrashes(
  script: (prompt: ScriptedPrompt) => ScriptedAnswer,
  code: (model: ReturnType<typeof scriptedModel>) => Promise<Json>,
  attempts = 1,
) {
  /** The prompts of each run. */
  const runs: string[][] = []
  const played = await crashAtEveryAppend({
    answer,
    start: { workflow: 'workflow:own@1' },
    programs() {
      const prompts: string[] = []
      runs.push(prompts)
      const model = scriptedModel(prompt => {
        prompts.push(JSON.stringify(prompt.options.prompt))
        return script(prompt)
      })
      // Each process learns the features of a model. Here they are known.
      Object.assign(model, { supportsStructuredOutputs: true })
      const testWorkflow = workflow({
        id: 'own',
        nodes: { node: async (_: NodeContext<string>) => ({ data: await code(model) }) },
        edges: [
          ['start', 'node'],
          ['node', 'end'],
        ],
      })
      return { workflows: [testWorkflow as never] }
    },
  })
  const [undisturbed = []] = runs
  // One crash repeats at most the attempts that it interrupted.
  for (const prompts of runs) {
    expect(new Set(prompts)).toEqual(new Set(undisturbed))
    expect(prompts.length).toBeLessThanOrEqual(undisturbed.length + attempts)
  }
  return { ...played, calls: undisturbed.length }
}

test('continues calls for text after a crash at every append', async () => {
  const { shape, kills, calls } = await runWithCrashes(
    ({ lastText }) => ({ text: `you said ${lastText}`, usage: { input: 3 } }),
    async model => {
      const first = await useReason({ model, input: 'one' })
      const second = await useReason({ model, input: `${first.text} two` })
      return { text: second.text, usage: second.usage as Json }
    },
  )
  expect(shape.output).toMatchObject({ text: 'you said you said one two', usage: { inputTokens: 3 } })
  expect(kills).toBeGreaterThan(4)
  expect(calls).toBe(2)
})

test('continues an object by field with an invalid first answer, after a crash at every append', async () => {
  const { shape, kills } = await runWithCrashes(
    ({ answers }) => ({
      text: answers === 0 ? '{"subject":"Hi","body":7}' : '{"subject":"Hi","body":"Dear Ann, well"}',
      pieceLength: 4,
    }),
    async model => {
      const options = { model, input: 'x', outputSchema: email, structured: { dataType: 'email', fields } } as const
      const { output } = await useReason(options)
      const answer = await useInterrupt({ request: { kind: 'text' } })
      return { ...output, answer }
    },
    2,
  )
  expect(shape.output).toEqual({ subject: 'Hi', body: 'Dear Ann, well', answer: 'dry' })
  expect(shape.structured).toMatchObject([{ status: 'done', dataType: 'email', data: { body: 'Dear Ann, well' } }])
  expect(kills).toBeGreaterThan(5)
})

test('continues with tools, an approval and a client tool after a crash at every append', async () => {
  const ran = new Map<string, number>()
  const count = (n: string) => ran.set(n, (ran.get(n) ?? 0) + 1)
  const free = tool({ name: 'free', inputSchema: z.object({ n: z.string() }), execute: ({ n }) => `free ${n}` })
  const guarded = tool({
    name: 'guarded',
    inputSchema: z.object({ n: z.string() }),
    approval: true,
    execute: ({ n }) => {
      count(n)
      return `guarded ${n}`
    },
  })
  const clientTool = tool({ name: 'there', client: true, inputSchema: z.object({}) })
  const { shape, kills, calls } = await runWithCrashes(
    ({ turnAnswers }) =>
      [
        { calls: [{ name: 'free', input: { n: 'a' }, id: 'c1' }] },
        {
          text: 'Now the rest.',
          calls: [
            { name: 'guarded', input: { n: 'b' }, id: 'c2' },
            { name: 'there', input: {}, id: 'c3' },
          ],
        },
        { text: '{"subject":"S","body":"B"}' },
      ][turnAnswers] as ScriptedAnswer,
    async model => {
      const { output, toolResults, steps } = await useReason({
        model,
        input: 'x',
        tools: [free, guarded, clientTool],
        outputSchema: email,
        structured: { fields },
      })
      return { output, results: toolResults as unknown as Json, steps: steps.length }
    },
  )
  expect(shape.output).toMatchObject({
    output: { subject: 'S', body: 'B' },
    results: [{ output: 'free a' }, { output: 'guarded b' }, { output: 'from the client' }],
    steps: 3,
  })
  expect(calls).toBe(3)
  expect(kills).toBeGreaterThan(8)
  expect([...ran.keys()]).toEqual(['b'])
})

test('continues an interrupt with tools and a draft after a crash at every append', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
  const { shape, kills, calls } = await runWithCrashes(
    ({ options, lastText }) => {
      if (lastText.includes('The person answered')) return { text: '{"subject":"Final","body":"Well"}', pieceLength: 6 }
      if (!options.prompt.some(({ role }) => role === 'tool')) return { calls: [{ name: 'look', input: {}, id: 'c1' }] }
      const document = {
        output: { subject: 'Draft', body: 'Dear' },
        interruptRequest: { kind: 'text', question: 'Tone?' },
      }
      return { text: JSON.stringify(document), pieceLength: 6 }
    },
    async model => {
      const { output, interruptResponse, toolResults } = await useReason({
        model,
        input: 'x',
        tools: [look],
        outputSchema: email,
        structured: { fields },
        interrupt: { requestSchema: z.object({ kind: z.literal('text'), question: z.string() }) },
      })
      return { output, said: interruptResponse ?? null, results: toolResults as unknown as Json }
    },
  )
  expect(shape.output).toMatchObject({ output: { subject: 'Final' }, said: 'dry', results: [{ output: 'seen' }] })
  expect(shape.structured).toMatchObject([{ status: 'done', data: { subject: 'Final', body: 'Well' } }])
  expect(calls).toBe(3)
  expect(kills).toBeGreaterThan(6)
})

test('continues calls with hidden answers and reasoning after a crash at every append, and shows neither', async () => {
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
  const { shape, calls } = await runWithCrashes(
    ({ options }) =>
      options.prompt.some(({ role }) => role === 'tool')
        ? { reasoning: 'I know.', text: 'So.' }
        : { reasoning: 'I must look.', calls: [{ name: 'look', input: {}, id: 'c1' }] },
    async model => {
      const hidden = await useReason({ model, input: 'x', tools: [look], emit: false })
      const shown = await useReason({ model, input: 'y', tools: [look], reasoning: { includeThoughts: false } })
      return [hidden.text, shown.text, hidden.steps.length, shown.steps.length]
    },
  )
  expect(shape.output).toEqual(['So.', 'So.', 2, 2])
  expect(JSON.stringify(shape.messages)).not.toMatch(/I must look|I know/)
  expect(calls).toBe(4)
})
