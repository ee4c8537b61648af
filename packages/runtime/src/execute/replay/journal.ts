// What the log remembers of a workflow's run, read when somebody takes it up: where it stands, its state, and what the hooks of its open executions gave.

import type { Json } from '@millrace/protocol'
import { pieceOf } from '../../session/key.ts'
import type { Session } from '../../session/session.ts'
import type { WorkflowPosition } from './position.ts'
import { type HookRecord, type HookResult, recordIn } from './record.ts'
import { WorkflowState } from './state.ts'

/** The record of where a workflow stands, and how those of its state begin. */
const POSITION = 'position'
const STATE = 'state/'

export const positionIdOf = (scope: string): string => `${scope}${POSITION}`

/** The program of the workflow that a run stands in, if it stands somewhere. */
export async function programAt(session: Session, runId: string): Promise<string | undefined> {
  const id = positionIdOf('')
  const hooks = session.view.internal?.hooks.filter(hook => hook.runId === runId && hook.hookId === id) ?? []
  const [record] = (await session.wholeHooks(hooks)).map(recordIn)
  return (record?.given.value as Partial<WorkflowPosition> | undefined)?.program
}

export class Journal {
  readonly position: WorkflowPosition | undefined
  readonly state = new WorkflowState()
  /** By execution, then by hook. */
  readonly #records = new Map<string, Map<string, HookRecord>>()
  /** What executions gave that have ended. */
  readonly #ends = new Map<string, HookResult>()

  constructor(records: readonly HookRecord[], scope: string) {
    let position: Json | undefined
    for (const record of records) {
      const { hookId, given } = record
      if (!hookId.startsWith(scope)) continue
      const own = hookId.slice(scope.length)
      const [execution = ''] = own.split('/', 1)
      // A workflow at work for a call of this one has a scope of its own.
      if (execution.includes(':')) continue
      if (own === POSITION) position = given.value
      else if (own.startsWith(STATE)) this.state.set(pieceOf(own.slice(STATE.length)), given.value)
      else if (own === execution) this.#ends.set(execution, given)
      else this.recordsOf(execution).set(hookId, record)
    }
    this.position = position as unknown as WorkflowPosition | undefined
  }

  /** Reads what the log holds of a workflow in a run. */
  static async read(session: Session, runId: string, scope: string): Promise<Journal> {
    return new Journal((await session.hooks(runId)).map(recordIn), scope)
  }

  /** What the hooks of an execution gave; what they give from now on is added by who commits it. */
  recordsOf(execution: string): Map<string, HookRecord> {
    const known = this.#records.get(execution)
    if (known) return known
    const records = new Map<string, HookRecord>()
    this.#records.set(execution, records)
    return records
  }

  /** What an execution gave that has ended, and with it the workflow: where a run goes on from there, nothing is left to do. */
  endOf(execution: string): HookResult | undefined {
    return this.#ends.get(execution)
  }

  /** Forgets what the hooks of an execution gave: it has ended. */
  forget(execution: string): void {
    this.#records.delete(execution)
  }
}
