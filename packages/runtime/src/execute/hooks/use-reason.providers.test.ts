// useReason with the packages of providers, against a server with their protocols.

import type { FixtureResponse } from '@copilotkit/aimock'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import { mockServer } from '../../test/providers/mock-server.fixture.ts'
import { PROVIDERS } from '../../test/providers/providers.fixture.ts'
import { answerInterrupt, decideApproval, publicOf, runNode, structuredIn, textIn } from './reason.fixture.ts'
import { useReason } from './use-reason.ts'

const usage = { prompt_tokens: 20, completion_tokens: 5, input_tokens: 20, output_tokens: 5 }
const email = z.object({ subject: z.string(), bullets: z.array(z.string()) })
const fields = { subject: 'text-delta', bullets: 'append' } as const
const FINAL = { subject: 'Hello Ann', bullets: ['one', 'two'] }

describe.each(PROVIDERS)('$name', ({ model: modelAt }) => {
  async function against(...answers: readonly FixtureResponse[]) {
    const server = await mockServer(...answers)
    onTestFinished(() => server.close())
    return { server, model: modelAt(server.url) }
  }

  test('returns streamed and non-streamed text with its usage', async () => {
    const { model } = await against({ content: 'It is warm.', usage }, { content: 'It is cold.', usage })
    const { returned, log, view } = await runNode(async () => {
      const streamed = await useReason({ model, input: 'How is it?', system: 'Be brief.', maxOutputTokens: 99 })
      const whole = await useReason({ model, input: 'And there?', stream: false })
      return [streamed, whole]
    })
    expect(returned.map(({ text }) => text)).toEqual(['It is warm.', 'It is cold.'])
    expect(returned[1]).toMatchObject({
      usage: { inputTokens: 20, outputTokens: 5 },
      raw: { response: expect.anything() },
    })
    expect(textIn(log)).toBe('It is warm.It is cold.')
    expect(view.runs[0]?.usage).toMatchObject({ inputTokens: 40, outputTokens: 10 })
  })

  test('streams an object by field', async () => {
    const { model } = await against({ content: JSON.stringify(FINAL), usage })
    const { returned, log, view } = await runNode(() =>
      useReason({ model, input: 'Write.', outputSchema: email, structured: { dataType: 'email', fields } }),
    )
    expect(returned.output).toEqual(FINAL)
    expect(structuredIn(log).map(chunk => ('kind' in chunk ? chunk.kind : ''))).toEqual(
      expect.arrayContaining(['text-delta', 'append', 'final']),
    )
    expect(textIn(log)).toBe('')
    expect(view.structured).toMatchObject([{ status: 'done', data: FINAL }])
  })

  test('continues after an approval and an interrupt, with the result of the tool', async () => {
    const ran: string[] = []
    const look = tool({
      name: 'look',
      inputSchema: z.object({ at: z.string() }),
      approval: true,
      execute: ({ at }) => {
        ran.push(at)
        return `seen ${at}`
      },
    })
    const { model, server } = await against(
      { toolCalls: [{ id: 'call_1', name: 'look', arguments: '{"at":"Ulm"}' }] },
      { content: JSON.stringify({ output: FINAL, interruptRequest: { kind: 'text', question: 'Tone?' } }) },
      { content: JSON.stringify({ ...FINAL, subject: 'Dear Ann' }) },
    )
    const waiting = await runNode(() =>
      useReason({
        model,
        input: 'Write.',
        tools: [look],
        outputSchema: email,
        structured: { fields },
        interrupt: { requestSchema: z.object({ kind: z.literal('text'), question: z.string() }) },
      }),
    )
    const [pending] = waiting.view.pendings
    expect(pending).toMatchObject({ kind: 'approval', part: { input: { at: 'Ulm' } } })
    const answeredRun = await decideApproval(waiting, pending?.id.split('::')[1] ?? '')
    expect(answeredRun.view.structured).toMatchObject([{ status: 'streaming', data: FINAL }])
    const { returned, view } = await answerInterrupt(answeredRun, 'warm')
    expect(returned).toMatchObject({ output: { subject: 'Dear Ann' }, interruptResponse: 'warm' })
    expect(returned.toolResults).toMatchObject([{ toolName: 'look', output: 'seen Ulm' }])
    expect(ran).toEqual(['Ulm'])
    expect(server.requestBodies).toHaveLength(3)
    expect(JSON.stringify(server.requestBodies[2])).toMatch(/seen Ulm.*Tone\?.*warm/)
    expect(view.structured).toMatchObject([{ status: 'done', data: { subject: 'Dear Ann' } }])
  })

  test('hides reasoning', async () => {
    const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'seen' })
    const { model } = await against(
      { reasoning: 'secret one', toolCalls: [{ name: 'look', arguments: '{}' }] },
      { reasoning: 'secret two', content: 'Done.' },
    )
    const { returned, log } = await runNode(() =>
      useReason({ model, input: 'x', tools: [look], reasoning: { includeThoughts: false } }),
    )
    expect(returned.text).toBe('Done.')
    expect(JSON.stringify(publicOf(log))).not.toContain('secret')
    expect(JSON.stringify(log)).toContain('secret one')
  })
})
