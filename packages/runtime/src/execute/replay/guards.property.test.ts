// A state value that guards code protects it on replay: the code before a committed hook has happened, and happens once.

import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { type Guard, type GuardProgram, guardProgramOf, guardPrograms, type Op } from './guards.fixture.ts'
import { type Interruption, playInterrupted } from './interrupted-run.fixture.ts'
import { Replay } from './replay.ts'
import { Section } from './section.ts'

const RUNS = multiplied(3)

/** Interrupts a program after each append, and again after some more. Returns the number of interrupted runs. */
async function check(guarded: GuardProgram, more: number, how: Interruption): Promise<number> {
  const program = guardProgramOf(guarded, how)
  const whole = await playInterrupted(program, Number.POSITIVE_INFINITY, more, how)
  expect(whole.shape).toMatchObject({ run: [{ status: 'completed', message: undefined }] })
  for (let n = 1; ; n++) {
    const cut = await playInterrupted(program, n, more, how)
    expect([n, cut.shape]).toEqual([n, whole.shape])
    expect([n, [...new Set(cut.effects)].sort()]).toEqual([n, [...new Set(whole.effects)].sort()])
    expect([n, cut.repeated]).toEqual([n, []])
    if (!cut.isCut) return n - 1
  }
}

const more = fc.integer({ min: 1, max: 9 })

test.each<Interruption>(['killed', 'stopped'])(
  'guarded code happens once before a committed hook, and the state is the same, wherever the run is %s',
  async how => {
    let cuts = 0
    const property = fc.asyncProperty(guardPrograms, more, async (guarded, n) => {
      cuts += await check(guarded, n, how)
    })
    await fc.assert(property, { numRuns: RUNS })
    expect(cuts).toBeGreaterThan(RUNS)
  },
)

const guard = (also: Guard['also']): Guard => ({ do: 'guard', by: 'run', also, isSetFirst: false })
const ask: Op = { do: 'ask', ms: 0 }
const step: Op = { do: 'step', ms: 0 }

/** Planted bugs, each with a node that reveals it. */
const MUTANTS: readonly (readonly [name: string, ops: readonly Op[], violation: RegExp, plant: () => void])[] = [
  [
    'replayed reads that return the first value',
    [guard('nothing'), ask],
    /'n0\.0@1'/,
    () => vi.spyOn(Section.prototype, 'change').mockImplementation(() => {}),
  ],
  [
    'changes that are lost after skipped code',
    [guard('logs'), step, { do: 'log' }, ask],
    /log of n0/,
    () => vi.spyOn(Replay.prototype, 'repeatedCounts', 'get').mockReturnValue([]),
  ],
  [
    'names that begin again after skipped code',
    [guard('shows'), step, { do: 'show' }, ask],
    /found it done/,
    () => {
      const { sectionRecord } = Replay.prototype
      vi.spyOn(Replay.prototype, 'sectionRecord').mockImplementation(function (this: Replay, counts) {
        const record = sectionRecord.call(this, counts)
        return { ...record, result: { ...record.result, uses: {} } }
      })
    },
  ],
  [
    'reads that other code changes beside a hook',
    [{ lines: [[ask], [{ do: 'add' }, step]] }],
    /differs from the one that was shown/,
    () => vi.spyOn(Section.prototype, 'callHook').mockImplementation(() => {}),
  ],
]

describe('the check detects', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test.each(MUTANTS)('%s', async (_, ops, violation, plant) => {
    const program: GuardProgram = { parts: [{ ops, visits: 1 }], isForked: false }
    expect(await check(program, 2, 'killed')).toBeGreaterThan(3)
    plant()
    const problem = await check(program, 2, 'killed').catch((error: unknown) => inspect(error, { depth: 10 }))
    expect(problem).toMatch(violation)
  })
})
