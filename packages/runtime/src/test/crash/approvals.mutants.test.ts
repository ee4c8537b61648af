import { StreamManager } from '@millrace/log'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type * as answer from '../../api/answer.ts'
import type * as pause from '../../drive/pause.ts'
import type * as position from '../../execute/agent-position.ts'
import type { AgentPosition } from '../../execute/agent-position.ts'
import type * as need from '../../execute/tool/call-need.ts'
import type * as execution from '../../execute/tool/execute-call.ts'
import { Session } from '../../session/session.ts'
import { APPROVALS_MUTANTS, type ApprovalsMutant } from './approvals-mutants.fixture.ts'
import { approvalsPlanOf, atEach, FAST, PROMPT } from './fault-plan.fixture.ts'
import { undisturbed } from './play-plans.fixture.ts'
import { knownFirst } from './run-mutants.fixture.ts'
import type { RunRecord } from './run-verdict.fixture.ts'
import { playSchedule } from './simulated-schedule.fixture.ts'

/** How many random plans are tried. */
const SEEDS = 30

const PLANS = {
  'death-after': { ...FAST, clients: PROMPT },
  answer: { ...FAST, clients: { ...PROMPT, when: 'on-fault' } },
} as const

const current = vi.hoisted(() => ({ mutant: undefined as ApprovalsMutant | undefined }))

vi.mock('../../execute/agent-position.ts', async load => {
  const original = await load<typeof position>()
  const mutate = (found: AgentPosition) => current.mutant?.position?.(found) ?? found
  const positionOf: typeof original.positionOf = message => mutate(original.positionOf(message))
  // Its own call of `positionOf` is not replaced.
  const currentPosition: typeof original.currentPosition = async work => mutate(await original.currentPosition(work))
  return { ...original, positionOf, currentPosition } satisfies typeof original
})
vi.mock('../../execute/tool/call-need.ts', async load => {
  const original = await load<typeof need>()
  const callNeedOf: typeof original.callNeedOf = call =>
    current.mutant?.need?.(original.callNeedOf(call), call) ?? original.callNeedOf(call)
  return { ...original, callNeedOf } satisfies typeof original
})
vi.mock('../../execute/tool/execute-call.ts', async load => {
  const original = await load<typeof execution>()
  const executeCall: typeof original.executeCall = settings =>
    original.executeCall({ ...settings, call: current.mutant?.call?.(settings.call) ?? settings.call })
  return { ...original, executeCall } satisfies typeof original
})
vi.mock('../../drive/pause.ts', async load => {
  const original = await load<typeof pause>()
  const canPause: typeof original.canPause = (...call) => current.mutant?.alwaysPauses || original.canPause(...call)
  return { ...original, canPause } satisfies typeof original
})
vi.mock('../../api/answer.ts', async load => {
  const original = await load<typeof answer>()
  const checkKind: typeof original.checkKind = (...call) =>
    current.mutant?.accepts === 'any kind' ? undefined : original.checkKind(...call)
  const checkMatchesPending: typeof original.checkMatchesPending = async (...call) =>
    current.mutant?.accepts === 'any input' ? undefined : original.checkMatchesPending(...call)
  return { ...original, checkKind, checkMatchesPending } satisfies typeof original
})

describe('the schedules with answers detect', () => {
  let record: RunRecord
  let points: number
  beforeAll(async () => {
    const report = await undisturbed(PLANS['death-after'])
    record = report.record
    points = report.points
  })
  afterEach(() => {
    current.mutant = undefined
    vi.restoreAllMocks()
  })

  test.each(APPROVALS_MUTANTS.map(mutant => [mutant.name, mutant] as const))('%s', async (_, mutant) => {
    current.mutant = mutant
    const create = StreamManager.prototype.createWriter
    vi.spyOn(StreamManager.prototype, 'createWriter').mockImplementation(async function (this: StreamManager, ...call) {
      const writer = await create.apply(this, call)
      mutant.writer?.(writer)
      return writer
    })
    if (mutant.forgetsSubAgents) vi.spyOn(Session.prototype, 'hasAgent').mockReturnValue(false)
    const otherViolations = new Set<string>()
    const options = { undisturbed: record, ...(mutant.inject && { mutant: mutant.inject }) }
    const randomPlans = Array.from({ length: SEEDS }, (_, index) => approvalsPlanOf(index + 1))
    const plans = mutant.by ? atEach(points, PLANS[mutant.by], mutant.by) : randomPlans
    for (const plan of knownFirst(plans, mutant.plan)) {
      const { violations } = await playSchedule(plan, options)
      if (violations.some(violation => mutant.violation.test(violation))) return
      for (const violation of violations) otherViolations.add(violation.slice(0, 200))
    }
    expect.unreachable(`${plans.length} schedules found only ${[...otherViolations].join('\n')}`)
  })
})
