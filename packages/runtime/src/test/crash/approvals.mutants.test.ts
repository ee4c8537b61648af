import { StreamManager } from '@millrace/log'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type * as answer from '../../api/answer.ts'
import type * as pause from '../../drive/pause.ts'
import type * as position from '../../execute/agent-position.ts'
import type * as need from '../../execute/tool/call-need.ts'
import type * as execution from '../../execute/tool/execute-call.ts'
import { Session } from '../../session/session.ts'
import { APPROVALS_MUTANTS, type ApprovalsMutant } from './approvals-mutants.fixture.ts'
import { approvalsPlanOf, atEach, FAST, PROMPT } from './fault-plan.fixture.ts'
import { undisturbed } from './play-plans.fixture.ts'
import { knownFirst } from './run-mutants.fixture.ts'
import type { RunRecord } from './run-verdict.fixture.ts'
import { schedule } from './simulated-schedule.fixture.ts'

/** How many random plans are tried. */
const SEEDS = 30

const PLANS = {
  'death-after': { ...FAST, clients: PROMPT },
  answer: { ...FAST, clients: { ...PROMPT, when: 'told' } },
} as const

const now = vi.hoisted(() => ({ mutant: undefined as ApprovalsMutant | undefined }))

vi.mock('../../execute/agent-position.ts', async load => {
  const original = await load<typeof position>()
  const positionOf: typeof original.positionOf = (...call) => {
    const found = original.positionOf(...call)
    return now.mutant?.position?.(found) ?? found
  }
  return { ...original, positionOf } satisfies typeof original
})
vi.mock('../../execute/tool/call-need.ts', async load => {
  const original = await load<typeof need>()
  const callNeedOf: typeof original.callNeedOf = call =>
    now.mutant?.need?.(original.callNeedOf(call), call) ?? original.callNeedOf(call)
  return { ...original, callNeedOf } satisfies typeof original
})
vi.mock('../../execute/tool/execute-call.ts', async load => {
  const original = await load<typeof execution>()
  const executeCall: typeof original.executeCall = settings =>
    original.executeCall({ ...settings, call: now.mutant?.call?.(settings.call) ?? settings.call })
  return { ...original, executeCall } satisfies typeof original
})
vi.mock('../../drive/pause.ts', async load => {
  const original = await load<typeof pause>()
  const canPause: typeof original.canPause = (...call) => now.mutant?.pauses || original.canPause(...call)
  return { ...original, canPause } satisfies typeof original
})
vi.mock('../../api/answer.ts', async load => {
  const original = await load<typeof answer>()
  const checkKind: typeof original.checkKind = (...call) =>
    now.mutant?.takes === 'any kind' ? undefined : original.checkKind(...call)
  const checkMatchesPending: typeof original.checkMatchesPending = async (...call) =>
    now.mutant?.takes === 'any input' ? undefined : original.checkMatchesPending(...call)
  return { ...original, checkKind, checkMatchesPending } satisfies typeof original
})

describe('the schedules with answers find', () => {
  let happened: RunRecord
  let points: number
  beforeAll(async () => {
    const report = await undisturbed(PLANS['death-after'])
    happened = report.happened
    points = report.points
  })
  afterEach(() => {
    now.mutant = undefined
    vi.restoreAllMocks()
  })

  test.each(APPROVALS_MUTANTS.map(mutant => [mutant.name, mutant] as const))('%s', async (_, mutant) => {
    now.mutant = mutant
    const create = StreamManager.prototype.createWriter
    vi.spyOn(StreamManager.prototype, 'createWriter').mockImplementation(async function (this: StreamManager, ...call) {
      const writer = await create.apply(this, call)
      mutant.writer?.(writer)
      return writer
    })
    if (mutant.forgets) vi.spyOn(Session.prototype, 'hasAgent').mockReturnValue(false)
    const seen = new Set<string>()
    const options = { undisturbed: happened, ...(mutant.world && { mutant: mutant.world }) }
    const chances = Array.from({ length: SEEDS }, (_, index) => approvalsPlanOf(index + 1))
    const plans = mutant.by ? atEach(points, PLANS[mutant.by], mutant.by) : chances
    for (const plan of knownFirst(plans, mutant.plan)) {
      const { violations } = await schedule(plan, options)
      if (violations.some(violation => mutant.found.test(violation))) return
      for (const violation of violations) seen.add(violation.slice(0, 200))
    }
    expect.unreachable(`${plans.length} schedules found nothing but ${[...seen].join('\n')}`)
  })
})
