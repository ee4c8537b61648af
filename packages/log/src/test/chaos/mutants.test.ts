import { describe, expect, test } from 'vitest'
import { Memory, memoryStore } from '../../stores/memory/memory-store.ts'
import { MUTANTS } from './log-mutants.fixture.ts'
import { schedule } from './log-schedule.fixture.ts'

/** Last seed of the search when the recorded seed no longer finds a mutant. */
const MAX_SEED = 400

describe('the schedules find', () => {
  for (const { name, found, seed: recorded, ...mutation } of MUTANTS) {
    test(name, async () => {
      const others = Array.from({ length: MAX_SEED }, (_, i) => i + 1).filter(seed => seed !== recorded)
      const otherViolations = new Set<string>()
      for (const seed of [recorded, ...others]) {
        const clock = { time: 0 }
        const memory = new Memory({ clock: () => clock.time })
        const handles = [memoryStore(undefined, memory)]
        const [violation] = (await schedule(seed, { handles, clock }, mutation)).violations
        if (violation !== undefined && found.test(violation)) {
          if (seed !== recorded)
            console.warn(`mutant '${name}': seed ${recorded} finds nothing, seed ${seed} does; record it`)
          return
        }
        if (violation !== undefined) otherViolations.add(violation.slice(0, 200))
      }
      expect.unreachable(
        `no violation like ${found} in ${MAX_SEED} schedules, only: ${[...otherViolations].join('\n')}`,
      )
    })
  }
})
