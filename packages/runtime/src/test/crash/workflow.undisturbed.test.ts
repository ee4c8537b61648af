import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { type AnsweringPlan, FAST, PROMPT, UNDISTURBED } from './fault-plan.fixture.ts'
import { undisturbed } from './play-plans.fixture.ts'
import { playSchedule } from './simulated-schedule.fixture.ts'
import { flowOf } from './workflow.fixture.ts'
import { type Op, opsOf, recipesOf } from './workflow.recipe.fixture.ts'
import { SCENARIOS } from './workflow.scenarios.fixture.ts'

const PLAN = { ...FAST, clients: PROMPT }

/** The public entries of a scenario. */
async function chunksOf(name: keyof typeof SCENARIOS): Promise<readonly Chunk[]> {
  const { record } = await undisturbed(PLAN, { program: SCENARIOS[name] })
  expect(record.view.runs.map(({ status }) => status)).toEqual(['completed'])
  return record.entries.filter(({ internal }) => !internal).map(({ chunk }) => chunk)
}

const chunksOfType = (chunks: readonly Chunk[], type: Chunk['type']) => chunks.filter(chunk => chunk.type === type)

describe('the scenario', () => {
  test('draft sets a field, streams text, appends items and ends with the complete object', async () => {
    const chunks = await chunksOf('draft')
    const updates = chunks.filter(chunk => chunk.type === 'structured-data')
    const email = updates.filter(({ dataType }) => dataType === 'email')
    expect(new Set(email.map(({ kind }) => kind))).toEqual(new Set(['set', 'text-delta', 'append', 'final']))
    expect(new Set(email.map(({ streamId }) => streamId)).size).toBe(1)
    expect(email.at(-1)?.kind).toBe('final')
    expect(chunksOfType(chunks, 'structured-data-invalidated')).toHaveLength(1)
    expect(chunksOfType(chunks, 'output')).toEqual([
      { type: 'output', output: expect.objectContaining({ bullets: ['one', 'two'] }) },
    ])
  })

  test('rounds gives each interrupt its own id, although the code uses one', async () => {
    const questions = chunksOfType(await chunksOf('rounds'), 'interrupt').map(
      chunk => (chunk as { interruptId: string }).interruptId,
    )
    expect(questions).toHaveLength(8)
    expect(new Set(questions).size).toBe(8)
  })

  test('branches retries one branch, and returns the data of both', async () => {
    const chunks = await chunksOf('branches')
    const { record } = await undisturbed(PLAN, { program: SCENARIOS.branches })
    const starts = record.lines.filter(line => 'phase' in line && line.phase === 'start' && line.input === '"unsure"')
    expect(starts).toHaveLength(2)
    const [output] = chunksOfType(chunks, 'output')
    expect(output).toMatchObject({ output: { left: { input: 'both' }, right: { isSure: true }, tries: 1 } })
  })

  test('passage shares the state with the second workflow and writes the transition once', async () => {
    const chunks = await chunksOf('passage')
    expect(chunksOfType(chunks, 'transition')).toEqual([{ type: 'transition', transitionTo: 'beyond' }])
    expect(chunksOfType(chunks, 'output')).toMatchObject([{ output: { isSame: true } }])
  })

  test('retry asks again only after an invalid response', async () => {
    expect(chunksOfType(await chunksOf('retry'), 'interrupt')).toHaveLength(2)
  })

  test('consent runs the approved call and not the denied one', async () => {
    const chunks = await chunksOf('consent')
    expect(chunksOfType(chunks, 'tool-approval-request')).toHaveLength(2)
    expect(chunksOfType(chunks, 'tool-output-available')).toHaveLength(1)
    expect(chunksOfType(chunks, 'tool-output-denied')).toHaveLength(1)
  })
})

describe('random workflows', () => {
  test('cover everything that a workflow can do', () => {
    const recipes = Array.from({ length: 200 }, (_, seed) => recipesOf(seed + 1)).flat()
    const nodes = recipes.flatMap(recipe => Object.values(recipe.nodes))
    const ops = nodes.flatMap(node => node.ops)
    expect(new Set(ops.map(({ op }) => op))).toEqual(
      new Set<Op['op']>(['step', 'reason', 'question', 'show', 'state', 'count', 'context', 'together']),
    )
    const questionKinds = opsOf(ops).flatMap(op =>
      'ask' in op ? [`${op.ask} ${'id' in op ? 'named' : 'unnamed'}`] : [],
    )
    expect(new Set(questionKinds).size).toBe(2 * 13)
    expect(new Set(nodes.map(({ exit }) => exit.kind)).size).toBe(4)
    expect(new Set(nodes.map(({ agent }) => agent)).size).toBe(4)
    expect(nodes.some(({ fails }) => fails === 'continue')).toBe(true)
    expect(nodes.some(({ fails }) => typeof fails === 'object')).toBe(true)
    expect(nodes.some(({ attempts, fails }) => attempts && !fails)).toBe(true)
    const forks = recipes.map(({ edges }) => edges.filter(([, , options]) => Object(options).join !== undefined).length)
    expect(forks.some(count => count > 1)).toBe(true)
  })

  test('give the same result with any timing of answers and any model speed', async () => {
    const answeringPlans: AnsweringPlan[] = [
      PROMPT,
      { ...PROMPT, when: 'paused' },
      { ...PROMPT, when: 'on-fault', via: 'faulty' },
    ]
    for (let seed = 1; seed <= 12; seed++) {
      const program = flowOf(seed)
      const { record, violations } = await playSchedule(PLAN, { program })
      expect(violations, `seed ${seed}`).toEqual([])
      for (const clients of answeringPlans) {
        const other = await playSchedule({ ...UNDISTURBED, clients }, { program, undisturbed: record })
        expect(other.violations, `seed ${seed}, ${JSON.stringify(clients)}`).toEqual([])
      }
    }
  })
})
