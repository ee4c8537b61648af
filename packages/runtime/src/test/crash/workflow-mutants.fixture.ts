// Mutants with one bug each in the execution of workflows. The suite must detect every one.

import type { BatchItem } from '@millrace/log'
import { vi } from 'vitest'
import { NodeExecution } from '../../execute/replay/execution.ts'
import { type HookResult, Journal } from '../../execute/replay/journal.ts'
import { Replay } from '../../execute/replay/replay.ts'
import { batchItemChunk, breakLanes, MUTANTS, type Mutant, rewriting } from './run-mutants.fixture.ts'
import type { ScenarioName } from './workflow.scenarios.fixture.ts'

export interface FlowMutant extends Mutant {
  /** The scenario that finds it. Without one, random workflows are tried. */
  readonly scenario?: ScenarioName
  /** Breaks the code. */
  readonly break?: () => void
}

/** Commits that write some records in a separate batch after the rest. */
const separately =
  (isMeant: (hookId: string, hook: string) => boolean): NonNullable<Mutant['writer']> =>
  writer =>
    breakLanes(writer, lane => {
      const commit = lane.commit.bind(lane)
      lane.commit = async (batch, options) => {
        const isSeparate = (item: BatchItem) => {
          const chunk = batchItemChunk(item)
          return chunk.type === 'hook-completed' && isMeant(chunk.hookId, chunk.hook)
        }
        const separate = (batch as readonly BatchItem[]).filter(isSeparate)
        if (separate.length === 0) return commit(batch, options)
        const done = await commit(
          (batch as readonly BatchItem[]).filter(item => !isSeparate(item)) as typeof batch,
          options,
        )
        await commit(separate as unknown as typeof batch, options)
        return done
      }
    })

const EXECUTED_AGAIN = /the log had the outcome|it had committed the outcome|was recorded at|in the log \d times/

export const FLOW_MUTANTS: readonly FlowMutant[] = [
  {
    name: 'emissions that no commit counts',
    scenario: 'rounds',
    violation: /view\.structured/,
    inject: {
      store: rewriting(entries =>
        entries.map(entry => {
          const { chunk } = entry
          if (chunk.type !== 'hook-completed') return entry
          const { shown, ...result } = (chunk.result ?? {}) as HookResult
          return { ...entry, chunk: { ...chunk, result } }
        }),
      ),
    },
  },
  {
    name: 'the position of a workflow in another batch than the result that led to it',
    plan: 13,
    scenario: 'draft',
    violation: EXECUTED_AGAIN,
    writer: separately(hookId => hookId.endsWith('position')),
  },
  {
    name: 'state in another batch than the node that set it',
    plan: 27,
    scenario: 'branches',
    violation: /view\.output/,
    writer: separately((_, hook) => hook === 'state'),
  },
  {
    name: 'recorded hooks that are executed again',
    scenario: 'draft',
    violation: EXECUTED_AGAIN,
    break() {
      vi.spyOn(Journal.prototype, 'recordsOf').mockImplementation(() => new Map())
    },
  },
  {
    name: 'hooks that are matched by order instead of by id',
    violation: /view\.|another input|is not called without crashes/,
    break() {
      const { identify } = Replay.prototype
      vi.spyOn(Replay.prototype, 'identify').mockImplementation(function (this: Replay, hook, _, unnamed) {
        return identify.call(this, hook, undefined, unnamed)
      })
    },
  },
  {
    name: 'interrupts that the next driver requests again',
    scenario: 'rounds',
    violation: /"interrupt".* is in the log \d times, expected 0/,
    break() {
      const { call } = NodeExecution.prototype
      vi.spyOn(NodeExecution.prototype, 'call').mockImplementation(function (this: NodeExecution, hook, id, live) {
        return call.call(this, hook, id, hookCall => live({ ...hookCall, recorded: undefined }))
      })
    },
  },
  {
    name: 'a pause that leaves an uncommitted draft',
    scenario: 'consent',
    violation: /pauses with a draft/,
    break() {
      vi.spyOn(NodeExecution.prototype, 'commitPending').mockResolvedValue()
    },
  },
  {
    name: 'records that readers see',
    scenario: 'draft',
    violation: /is not internal/,
    inject: {
      store: rewriting(entries => entries.map(entry => ({ ...entry, internal: undefined }))),
    },
  },
  // Steps and models have keys and inputs like tools.
  ...MUTANTS.filter(({ name }) => /another key|another input/.test(name)).map(
    (mutant): FlowMutant => ({ ...mutant, scenario: 'retry', plan: 0 }),
  ),
]
