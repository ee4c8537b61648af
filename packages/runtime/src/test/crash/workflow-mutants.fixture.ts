// Mutants with one bug each in the execution of workflows. The suite must detect every one.

import type { BatchItem } from '@millrace/log'
import { vi } from 'vitest'
import { NodeExecution } from '../../execute/replay/execution.ts'
import { type HookResult, Journal } from '../../execute/replay/journal.ts'
import { Replay } from '../../execute/replay/replay.ts'
import { batchItemChunk, lanes, MUTANTS, type Mutant, rewriting } from './run-mutants.fixture.ts'
import type { ScenarioName } from './workflow.scenarios.fixture.ts'

export interface FlowMutant extends Mutant {
  /** The scenario that finds it. Without one, random workflows are tried. */
  readonly of?: ScenarioName
  /** Breaks the code. */
  readonly break?: () => void
}

/** Commits that write some records in a separate batch after the rest. */
const apart =
  (isIt: (hookId: string, hook: string) => boolean): NonNullable<Mutant['writer']> =>
  writer =>
    lanes(writer, lane => {
      const commit = lane.commit.bind(lane)
      lane.commit = async (batch, options) => {
        const isApart = (item: BatchItem) => {
          const chunk = batchItemChunk(item)
          return chunk.type === 'hook-completed' && isIt(chunk.hookId, chunk.hook)
        }
        const late = (batch as readonly BatchItem[]).filter(isApart)
        if (late.length === 0) return commit(batch, options)
        const done = await commit(
          (batch as readonly BatchItem[]).filter(item => !isApart(item)) as typeof batch,
          options,
        )
        await commit(late as unknown as typeof batch, options)
        return done
      }
    })

const DONE_AGAIN = /the log had the outcome|it had committed the outcome|was given at|said \d times/

export const FLOW_MUTANTS: readonly FlowMutant[] = [
  {
    name: 'emissions that no commit counts',
    of: 'rounds',
    found: /view\.structured/,
    world: {
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
    name: 'where a workflow stands in another batch than how it came there',
    plan: 13,
    of: 'draft',
    found: DONE_AGAIN,
    writer: apart(hookId => hookId.endsWith('position')),
  },
  {
    name: 'state in another batch than the node that set it',
    plan: 27,
    of: 'branches',
    found: /view\.output/,
    writer: apart((_, hook) => hook === 'state'),
  },
  {
    name: 'records that nobody asks for',
    of: 'draft',
    found: DONE_AGAIN,
    break() {
      vi.spyOn(Journal.prototype, 'recordsOf').mockImplementation(() => new Map())
    },
  },
  {
    name: 'hooks that are answered by their order, not by their ids',
    found: /view\.|another input|nobody calls without a death/,
    break() {
      const { identify } = Replay.prototype
      vi.spyOn(Replay.prototype, 'identify').mockImplementation(function (this: Replay, hook, _, unnamed) {
        return identify.call(this, hook, undefined, unnamed)
      })
    },
  },
  {
    name: 'questions that are asked anew by whoever goes on',
    of: 'rounds',
    found: /"interrupt".* is said \d times, expected 0/,
    break() {
      const { call } = NodeExecution.prototype
      vi.spyOn(NodeExecution.prototype, 'call').mockImplementation(function (this: NodeExecution, hook, id, live) {
        return call.call(this, hook, id, hookCall => live({ ...hookCall, recorded: undefined }))
      })
    },
  },
  {
    name: 'a pause that leaves behind what was shown and no commit holds',
    of: 'consent',
    found: /pauses with a draft/,
    break() {
      vi.spyOn(NodeExecution.prototype, 'commitPending').mockResolvedValue()
    },
  },
  {
    name: 'records that readers see',
    of: 'draft',
    found: /is for no reader/,
    world: {
      store: rewriting(entries => entries.map(entry => ({ ...entry, internal: undefined }))),
    },
  },
  // Steps and models have keys and inputs like tools.
  ...MUTANTS.filter(({ name }) => /another key|another input/.test(name)).map(
    (mutant): FlowMutant => ({ ...mutant, of: 'retry', plan: 0 }),
  ),
]
