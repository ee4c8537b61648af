import { StreamManager } from '@millrace/log'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type * as pause from '../../drive/pause.ts'
import type * as need from '../../execute/tool/call-need.ts'
import { knownFirst } from '../crash/run-mutants.fixture.ts'
import { race } from './race.fixture.ts'
import { MUTANTS, type Mutant } from './race-mutants.fixture.ts'
import { planOf, promptPlanOf } from './race-plan.fixture.ts'

/** Number of races of each kind. */
const SEEDS = 400

const current = vi.hoisted(() => ({ mutant: undefined as Mutant | undefined }))

vi.mock('../../drive/pause.ts', async load => {
  const original = await load<typeof pause>()
  return {
    ...original,
    canPause: (...call: Parameters<typeof original.canPause>) =>
      current.mutant?.canPause?.() ?? original.canPause(...call),
  } satisfies typeof original
})

vi.mock('../../execute/tool/call-need.ts', async load => {
  const original = await load<typeof need>()
  return {
    ...original,
    callNeedOf(...call: Parameters<typeof original.callNeedOf>) {
      const needed = original.callNeedOf(...call)
      return current.mutant?.need?.(needed, ...call) ?? needed
    },
  } satisfies typeof original
})

describe('the races detect', () => {
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
    const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1)
    const plans = seeds.flatMap(seed => [planOf(seed), promptPlanOf(seed)])
    for (const plan of knownFirst(plans, mutant.plan)) {
      const { violations } = await race(plan, mutant.store && { breakStore: mutant.store })
      if (violations.some(violation => mutant.violation.test(violation))) return
      for (const violation of violations) otherViolations.add(violation.slice(0, 200))
    }
    expect.unreachable(`${2 * SEEDS} races found only ${[...otherViolations].join('\n')}`)
  })
})
