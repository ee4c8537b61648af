import type { Entry } from '@millrace/protocol'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ErrorCode } from '../../error/error-codes.ts'
import { everyNth } from '../../every-nth.fixture.ts'
import { keyOf } from '../../session/key.ts'
import { APPROVALS_MUTANTS } from './approvals-mutants.fixture.ts'
import { APPROVALS_RUN } from './approvals-program.fixture.ts'
import { type AnsweringPlan, atEach, FAST, type Fault, type Plan, PROMPT, UNDISTURBED } from './fault-plan.fixture.ts'
import { playPlans, undisturbed } from './play-plans.fixture.ts'
import { verdict } from './run-verdict.fixture.ts'
import { playSchedule, type Report } from './simulated-schedule.fixture.ts'
import { SESSION } from './tools-program.fixture.ts'

/** One in this many points is played, each kind from another point. `npm run chaos` plays every point. */
const STEP = 13
const PAUSED_STEP = 26

const ASKED: Plan = { ...FAST, clients: PROMPT }
const PAUSED: Plan = { ...FAST, clients: { ...PROMPT, when: 'paused' } }
const ON_FAULT: Plan = { ...FAST, clients: { ...PROMPT, when: 'on-fault' } }

const replayCommand = () => 'npm run chaos -- 50 packages/runtime/src/test/crash/approvals.deaths'

test.each([
  ['before a call, with answers as soon as they are requested', ASKED, ['death-before'], STEP, 0],
  ['after a call, with answers as soon as they are requested', ASKED, ['death-after'], STEP, 4],
  ['after a call, just after everything was answered', ON_FAULT, ['answer', 'death-after'], STEP, 6],
  ['after a call, with one answer at each pause', PAUSED, ['death-after'], PAUSED_STEP, 3],
] as const)('the run continues when its driver dies %s', (_, plan, faults, step, offset) =>
  playAtPoints(plan, faults, step, offset),
)

test('the run continues when everything is answered at once, at any point', () =>
  playAtPoints(ON_FAULT, ['answer'], STEP, 2))

test('law 5: a stop at any point ends the run', () => playAtPoints(ASKED, ['stop'], STEP, 8))

/** Plays a plan with these faults at every `step`th point from `offset` on, and at the points that reveal a mutant. */
async function playAtPoints(plan: Plan, faults: readonly Fault[], step: number, offset: number): Promise<void> {
  const { record, points } = await undisturbed(plan)
  expect(points).toBeGreaterThan(140)
  const mutants = APPROVALS_MUTANTS.filter(({ by }) => by !== undefined && faults.length === 1 && faults[0] === by)
  const mutantPoints = new Set(mutants.flatMap(mutant => mutant.plan ?? []))
  await playPlans(
    everyNth(atEach(points, plan, ...faults), step, offset, mutantPoints),
    { undisturbed: record },
    replayCommand,
  )
}

describe('an approval that arrives while a sibling is taken over', () => {
  // Tools that take virtual time.
  const slow: Plan = { ...UNDISTURBED, clients: { ...PROMPT, when: 'on-fault' } }
  let report: Report
  let points: readonly number[]
  beforeAll(async () => {
    report = await playSchedule(slow, { isTraced: true })
    points = pointsDuringCall(report.trace, 'wall')
  })

  test.each([
    ['before', 'death-before'],
    ['after', 'death-after'],
  ] as const)(
    'starts its call once if the driver dies %s a store call, and the sibling is repeated',
    async (_, fault) => {
      expect(points.length).toBeGreaterThan(5)
      let crossed = 0
      for (const point of points) {
        // The answers arrive as the process dies, so that it does not read them.
        const plan: Plan = { ...slow, seed: point, faults: [[point, fault]] }
        const { violations, record } = await playSchedule(plan, { undisturbed: report.record })
        expect(violations, `${fault} at ${point}`).toEqual([])
        const { entries, lines } = record
        const starts = (toolCallId: string) =>
          lines.filter(
            line => 'phase' in line && line.phase === 'start' && line.key === keyOf(SESSION, APPROVALS_RUN, toolCallId),
          ).length
        expect(starts('rope')).toBe(1)
        expect(starts('stone')).toBe(0)
        const approved = sequenceOf(
          entries,
          ({ chunk }) => chunk.type === 'tool-approval-response' && chunk.toolCallId === 'rope',
        )
        const takenOver = sequenceOf(entries, ({ chunk }) => chunk.type === 'executor-superseded')
        // Interrupted calls run again. Calls approved meanwhile run for the first time.
        if (approved < takenOver && starts('wall') === 2) crossed++
      }
      expect(crossed).toBeGreaterThan(3)
    },
  )
})

/** The points at which a tool call is in flight. */
function pointsDuringCall(trace: readonly string[], toolCallId: string): readonly number[] {
  const pointOf = (phase: string) => {
    const line = trace.find(line => line.endsWith(`${keyOf(SESSION, APPROVALS_RUN, toolCallId)} ${phase}`))
    return Number(line?.split(' ', 1)[0])
  }
  const [from, to] = [pointOf('starts'), pointOf('ends')]
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

const sequenceOf = (entries: readonly Entry[], matches: (entry: Entry) => boolean): number =>
  entries.find(matches)?.sequence ?? Number.POSITIVE_INFINITY

test('the result and the prompts do not depend on the time or the process of an answer', async () => {
  const { record } = await undisturbed(ASKED)
  const codes = new Set<string | undefined>()
  for (const paceMs of [FAST.paceMs, UNDISTURBED.paceMs]) {
    for (const clients of ANSWERING_PLANS) {
      const other = await playSchedule({ ...UNDISTURBED, paceMs, clients })
      expect(other.violations, JSON.stringify(clients)).toEqual([])
      for (const { code } of other.record.submitted ?? []) codes.add(code)
      expect(verdict(other.record, { undisturbed: record, isExact: true }), JSON.stringify(clients)).toEqual([])
    }
  }
  // All these mistakes were made.
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

const ANSWERING_PLANS: readonly AnsweringPlan[] = (['asked', 'paused', 'on-fault'] as const).flatMap(when =>
  (['reliable', 'faulty'] as const).map(via => ({ when, via, makesMistakes: true })),
)
