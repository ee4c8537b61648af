import { StreamManager } from '@millrace/log'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type * as position from '../../execute/agent-position.ts'
import type { AgentPosition } from '../../execute/agent-position.ts'
import { atEach, FAST, planOf } from './fault-plan.fixture.ts'
import { undisturbed } from './play-plans.fixture.ts'
import { knownFirst, MUTANTS, type Mutant } from './run-mutants.fixture.ts'
import type { RunRecord } from './run-verdict.fixture.ts'
import { playSchedule } from './simulated-schedule.fixture.ts'

/** How many random plans are tried, before a freeze and a death at each point. */
const SEEDS = 60

const current = vi.hoisted(() => ({ mutant: undefined as Mutant | undefined }))

vi.mock('../../execute/agent-position.ts', async load => {
  const original = await load<typeof position>()
  const mutate = (found: AgentPosition) => current.mutant?.position?.(found) ?? found
  const positionOf: typeof original.positionOf = message => mutate(original.positionOf(message))
  // Its own call of `positionOf` is not replaced.
  const currentPosition: typeof original.currentPosition = async work => mutate(await original.currentPosition(work))
  return { ...original, positionOf, currentPosition } satisfies typeof original
})

describe('the schedules detect', () => {
  let record: RunRecord
  let points: number
  beforeAll(async () => {
    record = (await undisturbed()).record
    points = (await undisturbed(FAST)).points
  })
  afterEach(() => {
    current.mutant = undefined
    vi.restoreAllMocks()
  })

  test.each(MUTANTS.map(mutant => [mutant.name, mutant] as const))('%s', async (_, mutant) => {
    current.mutant = mutant
    const create = StreamManager.prototype.createWriter
    vi.spyOn(StreamManager.prototype, 'createWriter').mockImplementation(async function (this: StreamManager, ...call) {
      const writer = await create.apply(this, call)
      mutant.writer?.(writer)
      return writer
    })
    const otherViolations = new Set<string>()
    const options = { undisturbed: record, ...(mutant.inject && { mutant: mutant.inject }) }
    const randomPlans = Array.from({ length: SEEDS }, (_, index) => planOf(index + 1))
    const freezes = atEach(points, { ...FAST, isShuffled: true }, 'freeze-after')
    const plans = [...randomPlans, ...freezes, ...atEach(points, FAST, 'death-after')]
    for (const plan of knownFirst(plans, mutant.plan)) {
      const { violations } = await playSchedule(plan, options)
      if (violations.some(violation => mutant.violation.test(violation))) return
      for (const violation of violations) otherViolations.add(violation.slice(0, 200))
    }
    expect.unreachable(`${plans.length} schedules found only ${[...otherViolations].join('\n')}`)
  })
})
