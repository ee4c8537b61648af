// Workflows as tools with a crash after every append.

import { describe, expect, test } from 'vitest'
import { call, counted, scripted, subAgentCall } from '../../api/pendings.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { crashAtEveryAppend } from './crash-everywhere.fixture.ts'
import { caller } from './tool.fixture.ts'
import { sequence, single, textInterrupt, wired } from './workflow-test-run.fixture.ts'

describe('a workflow as a tool, with a crash after every append', () => {
  test('gives the same result, nested twice, with an interrupt, an approval, steps and text', async () => {
    const { shape, kills } = await crashAtEveryAppend({
      programs() {
        const { tool: careful } = counted('careful', true)
        const inner = sequence(
          {
            asks: async ({ input }: NodeContext<string>) => {
              const [seen, setSeen] = useWorkflowState('seen', 0)
              const key = await useStep('key', ({ idempotencyKey }) => idempotencyKey)
              const well = await useInterrupt(textInterrupt(`${input}?`, { id: 'well' }))
              setSeen(seen + 1)
              return { data: { well, key, seen } }
            },
            says: ({ input }: NodeContext<{ well: string }>) => ({
              data: input,
              ui: { message: `Well: ${input.well}` },
            }),
          },
          { id: 'inner' },
        )
        const model = scriptedModel(({ turnAnswers }) =>
          turnAnswers === 0
            ? { text: 'I ask', calls: [subAgentCall('inner', 'k1', 'So'), call('careful', 'k2', { n: 1 })] as never }
            : { text: 'All said' },
        )
        const outer = single(
          async () => {
            const { text, toolResults } = await useReason({
              model,
              input: 'Ask',
              id: 'asks',
              subAgents: [inner],
              tools: [careful],
            })
            return { data: { text, outputs: toolResults.map(({ output = null }) => output) } }
          },
          { id: 'outer' },
        )
        return { agents: [caller(outer, [subAgentCall('outer', 'c1')])] }
      },
      start: { agent: 'agent:parent@1' },
      answer: pending =>
        pending.kind === 'interrupt'
          ? { kind: 'interrupt', id: pending.id, response: 'yes' }
          : { kind: 'approval', id: pending.id, approved: true },
    })
    expect(kills).toBeGreaterThan(15)
    expect(shape.run).toMatchObject([{ status: 'completed' }])
    expect(shape.agents).toMatchObject([
      { agentId: 'outer:c1', parentId: 'r', status: 'completed' },
      { agentId: 'inner:k1', parentId: 'outer:c1', status: 'completed', result: { well: 'yes', seen: 0 } },
    ])
  })

  test('gives the same result with branches: one asks, one is an agent with an approval, one fails the first time', async () => {
    const { shape, kills } = await crashAtEveryAppend({
      programs() {
        const { tool: careful } = counted('careful', true)
        const { agent: inner } = scripted(
          'inner',
          [{ text: 'I try', calls: [call('careful', 'k1', { n: 1 })] }, { text: 'tried' }],
          { tools: [careful] },
        )
        let tries = 0
        const branches = wired(
          {
            first: () => ({ data: 'go' }),
            a: async () => ({ data: await useInterrupt(textInterrupt('A?')) }),
            b: inner,
            c: {
              run: async ({ input }: NodeContext<string>) => {
                const once = await useStep('once', () => `${input} once`)
                if (tries++ === 0) throw new Error('the first time')
                return { data: once }
              },
              retry: { attempts: 2, backoff: { firstMs: 1 } },
            },
            joins: ({ input }: NodeContext<object>) => ({ data: input as never, ui: { message: 'Joined.' } }),
          },
          [
            ['start', 'first'],
            ['first', ['a', 'b', 'c'], { join: 'joins' }],
            ['a', 'joins'],
            ['b', 'joins'],
            ['c', 'joins'],
            ['joins', 'end'],
          ],
          { id: 'branches' },
        )
        return { agents: [caller(branches, [subAgentCall('branches', 'c1')])] }
      },
      start: { agent: 'agent:parent@1' },
      answer: ({ kind, id }) =>
        kind === 'interrupt' ? { kind, id, response: 'yes' } : { kind: 'approval', id, approved: true },
    })
    expect(kills).toBeGreaterThan(15)
    expect(shape.run).toMatchObject([{ status: 'completed' }])
    expect(shape.agents).toMatchObject([
      { agentId: 'branches:c1', status: 'completed', result: { a: 'yes', b: 'tried', c: 'go once' } },
    ])
  })
})
