import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { type CrowdPlan, FAST, PROMPT, UNDISTURBED } from './fault-plan.fixture.ts'
import { undisturbed } from './play-plans.fixture.ts'
import { schedule } from './simulated-schedule.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { type Op, opsOf, recipesOf } from './workflow.recipe.fixture.ts'
import { SCENARIOS } from './workflow.scenarios.fixture.ts'

const PLAN = { ...FAST, crowd: PROMPT }

/** What a scenario says to readers, entry by entry. */
async function said(name: keyof typeof SCENARIOS): Promise<readonly Chunk[]> {
  const { happened } = await undisturbed(PLAN, { program: SCENARIOS[name] })
  expect(happened.view.runs.map(({ status }) => status)).toEqual(['completed'])
  return happened.entries.filter(({ internal }) => !internal).map(({ chunk }) => chunk)
}

const typesOf = (chunks: readonly Chunk[], type: Chunk['type']) => chunks.filter(chunk => chunk.type === type)

describe('scenarios are as hard as they should be', () => {
  test('the email draft: a field set, text that grows, items that are added, and the whole', async () => {
    const chunks = await said('draft')
    const updates = chunks.filter(chunk => chunk.type === 'structured-data')
    const email = updates.filter(({ dataType }) => dataType === 'email')
    expect(new Set(email.map(({ kind }) => kind))).toEqual(new Set(['set', 'text-delta', 'append', 'final']))
    expect(new Set(email.map(({ streamId }) => streamId)).size).toBe(1)
    expect(email.at(-1)?.kind).toBe('final')
    expect(typesOf(chunks, 'structured-data-invalidated')).toHaveLength(1)
    expect(typesOf(chunks, 'output')).toEqual([
      { type: 'output', output: expect.objectContaining({ bullets: ['one', 'two'] }) },
    ])
  })

  test('questions in a loop: each under an id of its own, though the code gives the same', async () => {
    const asked = typesOf(await said('rounds'), 'interrupt').map(
      chunk => (chunk as { interruptId: string }).interruptId,
    )
    expect(asked).toHaveLength(8)
    expect(new Set(asked).size).toBe(8)
  })

  test('branches: one is tried again, and both bring data', async () => {
    const chunks = await said('branches')
    const { happened } = await undisturbed(PLAN, { program: SCENARIOS.branches })
    const starts = happened.lines.filter(line => 'phase' in line && line.phase === 'start' && line.input === '"unsure"')
    expect(starts).toHaveLength(2)
    const [output] = typesOf(chunks, 'output')
    expect(output).toMatchObject({ output: { left: { input: 'both' }, right: { isSure: true }, tries: 1 } })
  })

  test('a passage: the other workflow knows the state, and is told of once', async () => {
    const chunks = await said('passage')
    expect(typesOf(chunks, 'transition')).toEqual([{ type: 'transition', transitionTo: 'beyond' }])
    expect(typesOf(chunks, 'output')).toMatchObject([{ output: { isSame: true } }])
  })

  test('retry: who did not answer as was asked is asked again, who did is not', async () => {
    expect(typesOf(await said('retry'), 'interrupt')).toHaveLength(2)
  })

  test('consent: one call is approved and runs, one is not', async () => {
    const chunks = await said('consent')
    expect(typesOf(chunks, 'tool-approval-request')).toHaveLength(2)
    expect(typesOf(chunks, 'tool-output-available')).toHaveLength(1)
    expect(typesOf(chunks, 'tool-output-denied')).toHaveLength(1)
  })
})

describe('workflows by chance', () => {
  test('all that a workflow can do is in some of them', () => {
    const recipes = Array.from({ length: 200 }, (_, seed) => recipesOf(seed + 1)).flat()
    const nodes = recipes.flatMap(recipe => Object.values(recipe.nodes))
    const ops = nodes.flatMap(node => node.ops)
    expect(new Set(ops.map(({ op }) => op))).toEqual(
      new Set<Op['op']>(['step', 'reason', 'question', 'show', 'state', 'count', 'context', 'together']),
    )
    const asked = opsOf(ops).flatMap(op => ('ask' in op ? [`${op.ask} ${'id' in op ? 'named' : 'unnamed'}`] : []))
    expect(new Set(asked).size).toBe(2 * 13)
    expect(new Set(nodes.map(({ exit }) => exit.kind)).size).toBe(4)
    expect(new Set(nodes.map(({ agent }) => agent)).size).toBe(4)
    expect(nodes.some(({ fails }) => fails === 'continue')).toBe(true)
    expect(nodes.some(({ fails }) => typeof fails === 'object')).toBe(true)
    expect(nodes.some(({ attempts, fails }) => attempts && !fails)).toBe(true)
    const forks = recipes.map(({ edges }) => edges.filter(([, , options]) => Object(options).join !== undefined).length)
    expect(forks.some(count => count > 1)).toBe(true)
  })

  test('whenever they are answered, and however fast the model is, they come to the same', async () => {
    const crowds: CrowdPlan[] = [PROMPT, { ...PROMPT, when: 'paused' }, { ...PROMPT, when: 'told', via: 'front' }]
    for (let seed = 1; seed <= 12; seed++) {
      const program = flowOf(seed)
      const { happened, violations } = await schedule(PLAN, { program })
      expect(violations, `seed ${seed}`).toEqual([])
      for (const crowd of crowds) {
        const other = await schedule({ ...UNDISTURBED, crowd }, { program, undisturbed: happened })
        expect(other.violations, `seed ${seed}, ${JSON.stringify(crowd)}`).toEqual([])
      }
    }
  })
})
