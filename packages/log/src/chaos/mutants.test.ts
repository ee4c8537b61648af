import { describe, expect, test } from 'vitest'
import { Memory, memoryStore } from '../memory/store.ts'
import { MUTANTS } from './mutants.fixture.ts'
import { schedule } from './schedule.fixture.ts'

const SEEDS = 400

describe('what the schedules are to find is found', () => {
  for (const { name, found, ...mutation } of MUTANTS) {
    test(name, async () => {
      const seen = new Set<string>()
      for (let seed = 1; seed <= SEEDS; seed++) {
        const clock = { time: 0 }
        const memory = new Memory({ clock: () => clock.time })
        const handles = [memoryStore(undefined, memory)]
        const [violation] = (await schedule(seed, { handles, clock }, mutation)).violations
        if (violation !== undefined && process.env['VERBOSE']) console.log(seed, violation.slice(0, 150))
        if (violation !== undefined && found.test(violation)) return
        if (violation !== undefined) seen.add(violation.slice(0, 200))
      }
      expect.unreachable(`${SEEDS} schedules found nothing but ${[...seen].join('\n')}`)
    })
  }
})
