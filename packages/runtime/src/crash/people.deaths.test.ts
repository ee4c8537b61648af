import type { Entry } from '@millrace/protocol'
import { beforeAll, describe, expect, test } from 'vitest'
import { keyOf } from '../agent/key.ts'
import type { ErrorCode } from '../error/code.ts'
import { PEOPLE_RUN } from './people.fixture.ts'
import { atEach, type CrowdPlan, FAST, type Fault, type Plan, PROMPT, UNDISTURBED } from './plan.fixture.ts'
import { SESSION } from './program.fixture.ts'
import { type Report, schedule } from './schedule.fixture.ts'
import { pass, undisturbed } from './suite.fixture.ts'
import { verdict } from './verdict.fixture.ts'

const TIMEOUT = { timeout: 240_000 }

const ASKED: Plan = { ...FAST, crowd: PROMPT }
const PAUSED: Plan = { ...FAST, crowd: { ...PROMPT, when: 'paused' } }
const TOLD: Plan = { ...FAST, crowd: { ...PROMPT, when: 'told' } }

const again = () => 'vitest run packages/runtime/src/crash/people.deaths.test.ts'

/** All points of a plan, or one in so many, with these faults from there on. */
async function atAll(plan: Plan, faults: readonly Fault[], step: number = 1): Promise<void> {
  const { happened, points } = await undisturbed(plan)
  // There is something to die of.
  expect(points).toBeGreaterThan(140)
  const plans = atEach(points, plan, ...faults).filter((_, index) => index % step === 0)
  await pass(plans, { undisturbed: happened }, again)
}

test.each([
  ['dies before it, with people who answer at once', ASKED, ['death-before']],
  ['dies after it, with people who answer at once', ASKED, ['death-after']],
  ['goes on, and all is answered just then', TOLD, ['answer']],
  ['dies when all was answered just before', TOLD, ['answer', 'death-after']],
  ['is asked to stop', ASKED, ['stop']],
] as const)('at each point of the run the owner %s', TIMEOUT, (_, plan, faults) => atAll(plan, faults))

test('at some points of the run the owner dies, with people who answer at pauses, one at a time', TIMEOUT, () =>
  atAll(PAUSED, ['death-after'], 3),
)

describe('an approval and the crash of a sibling cross', () => {
  // With tools that take their time.
  const slow: Plan = { ...UNDISTURBED, crowd: { ...PROMPT, when: 'told' } }
  let report: Report
  let points: readonly number[]
  beforeAll(async () => {
    report = await schedule(slow, { isTraced: true })
    points = whileAtWork(report.trace, 'wall')
  })

  test.each([['death-before'], ['death-after']] as const)('%s, while the other sub-agent is at work', async fault => {
    expect(points.length).toBeGreaterThan(5)
    let crossed = 0
    for (const point of points) {
      // The answers come as the process dies, and nobody there reads them any more.
      const plan: Plan = { ...slow, seed: point, faults: [[point, fault]] }
      const { violations, happened } = await schedule(plan, { undisturbed: report.happened })
      expect(violations, `${fault} at ${point}`).toEqual([])
      const { entries, lines } = happened
      const starts = (toolCallId: string) =>
        lines.filter(
          line => 'phase' in line && line.phase === 'start' && line.key === keyOf(SESSION, PEOPLE_RUN, toolCallId),
        ).length
      expect(starts('rope')).toBe(1)
      expect(starts('stone')).toBe(0)
      const approved = placeOf(
        entries,
        ({ chunk }) => chunk.type === 'tool-approval-response' && chunk.toolCallId === 'rope',
      )
      const taken = placeOf(entries, ({ chunk }) => chunk.type === 'executor-superseded')
      // What was cut off runs again; what was approved meanwhile runs for the first time.
      if (approved < taken && starts('wall') === 2) crossed++
    }
    expect(crossed).toBeGreaterThan(3)
  })
})

/** The points at which a call of a tool is under way. */
function whileAtWork(trace: readonly string[], toolCallId: string): readonly number[] {
  const pointOf = (phase: string) => {
    const line = trace.find(line => line.endsWith(`${keyOf(SESSION, PEOPLE_RUN, toolCallId)} ${phase}`))
    return Number(line?.split(' ', 1)[0])
  }
  const [from, to] = [pointOf('starts'), pointOf('ends')]
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

const placeOf = (entries: readonly Entry[], isIt: (entry: Entry) => boolean): number =>
  entries.find(isIt)?.sequence ?? Number.POSITIVE_INFINITY

test('whenever and by whomever it was answered, the end is the same, and so is what the models are told', async () => {
  const { happened } = await undisturbed(ASKED)
  const codes = new Set<string | undefined>()
  for (const paceMs of [FAST.paceMs, UNDISTURBED.paceMs]) {
    for (const crowd of CROWDS) {
      const other = await schedule({ ...UNDISTURBED, paceMs, crowd })
      expect(other.violations, JSON.stringify(crowd)).toEqual([])
      for (const { code } of other.happened.given ?? []) codes.add(code)
      expect(verdict(other.happened, { undisturbed: happened, isExact: true }), JSON.stringify(crowd)).toEqual([])
    }
  }
  // They have really made all these mistakes.
  expect([...codes]).toEqual(expect.arrayContaining([...MISTAKES]))
})

const MISTAKES: readonly ErrorCode[] = [
  'answer_already_settled',
  'answer_claimed',
  'answer_forbidden',
  'answer_invalid',
  'answer_late',
  'answer_unapproved',
  'answer_unknown',
  'answer_wrong_kind',
]

const CROWDS: readonly CrowdPlan[] = (['asked', 'paused', 'told'] as const).flatMap(when =>
  (['desk', 'front'] as const).map(via => ({ when, via, errs: true })),
)
