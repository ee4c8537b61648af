// The internal records of a workflow in the log: hook results, state and position, with the checkpoints that end their commits. Readers never see them.

import type { BatchItem, Lane } from '@millrace/log'
import type { Chunk, Hook, Json } from '@millrace/protocol'
import { partOfKey } from '../../session/key.ts'
import type { Session } from '../../session/session.ts'
import { checkpointId } from '../program-execution.ts'
import type { WorkflowPosition } from './position.ts'
import { WorkflowState } from './state.ts'

/** The outcome of a hook, as the log stores it: a return value or an error. */
export interface HookResult {
  readonly value?: Json
  readonly error?: {
    readonly code: string
    readonly message: string
    /** How often the execution had failed before this error. */
    readonly failures: number
    /** The error's class and the fields that code may branch on. */
    readonly class?: string
    readonly retryable?: boolean
    readonly statusCode?: number
    readonly retryAfterMs?: number
  }
  /** The interrupts that the hook has created. Absent once the hook is completed. */
  readonly asked?: readonly string[]
  /** How often the execution had failed when the last interrupt was created. */
  readonly askedAfter?: number
  /** Set if other hooks of the node were active at the same time: their order may differ on replay. */
  readonly beside?: true
  /** The place in the order in which the execution's hooks are answered. */
  readonly place?: number
  /** Committed emissions of the execution, by subject: the subjects that changed since the previous commit. */
  readonly shown?: { readonly [subject: string]: number }
  /** For a read of state: the section that has set another value since, which is `value` then. */
  readonly section?: string
  /** For a section: how often the execution had used the names of its reads and objects. */
  readonly uses?: { readonly [name: string]: number }
}

export interface HookRecord {
  readonly hookId: string
  readonly hook: string
  readonly result: HookResult
  /** How many emissions of the execution are committed with this record. */
  readonly emissions?: number
}

/** The log entry of a record. */
export function hookRecordEntry({ hookId, hook, result, emissions }: HookRecord, lane: Lane): BatchItem {
  return {
    chunk: {
      type: 'hook-completed',
      hookId,
      hook,
      result: result as unknown as Json,
      ...(emissions !== undefined && { emissions }),
    },
    lane,
    internal: true,
  }
}

/** Reads a record from its log entry. */
export const parseHookRecord = ({ hookId, hook, result, emissions }: Omit<Hook, 'runId'>): HookRecord => ({
  hookId,
  hook,
  result: (result ?? {}) as HookResult,
  ...(emissions !== undefined && { emissions }),
})

const POSITION = 'position'
const STATE_PREFIX = 'state/'
const FIRST_PASS_SUFFIX = '/first'

/** The id of the record of a workflow's position. */
export const positionIdOf = (scope: string): string => `${scope}${POSITION}`

/** The id of the record of a state value, by its encoded key. */
export const stateIdOf = (scope: string, encodedKey: string): string => `${scope}${STATE_PREFIX}${encodedKey}`

/** The id of the record of a hook's first model pass, after which the hook asks a person. */
export const firstPassId = (hookId: string): string => `${hookId}${FIRST_PASS_SUFFIX}`

/** The hook of a first-pass record; undefined for other records. */
export const hookOfFirstPass = (recordId: string): string | undefined =>
  recordId.endsWith(FIRST_PASS_SUFFIX) ? recordId.slice(0, -FIRST_PASS_SUFFIX.length) : undefined

/** The id of the record of a section. `prefix` is that of the hooks of its execution. */
export const sectionId = (prefix: string, name: string): string => `${prefix}section/${name}`

const READS: ReadonlySet<string> = new Set(['useNodeState', 'useWorkflowState', 'tokenUsage'])

/** Whether a hook only reads. */
export const isRead = ({ hook }: Pick<HookRecord, 'hook'>): boolean => READS.has(hook)

/** Whether a record belongs to a part of a hook or of the code, and not to a call of a hook. */
export const isPartOfHook = (hookId: string): boolean => hookId.split('/').length > 2

/** The structured stream that shows a hook's model output. The same id on every attempt. */
export const hookStreamId = (runId: string, hookId: string): string => `${runId}:${hookId.replace('/', ':')}`

/** The part of a hook's id that is unique within its execution. */
export const localHookId = (hookId: string): string => hookId.slice(hookId.indexOf('/') + 1)

/** The checkpoint that ends a commit within the execution of a node. `suffix` tells commits of one step apart. */
export function checkpointOf(
  { origin }: Lane,
  closesStep = false,
  suffix = '',
): Extract<Chunk, { type: 'checkpoint-created' }> {
  const { step } = origin
  return {
    type: 'checkpoint-created',
    checkpointId: `${checkpointId(origin, step, closesStep)}${suffix}`,
    stepCount: step,
    closesStep,
  }
}

/** The checkpoint suffix of a record's commit: the hook, and how many interrupts it has created. */
export const commitSuffix = ({ hookId, result: { asked } }: HookRecord): string =>
  `${localHookId(hookId)}${asked === undefined ? '' : `?${asked.length}`}`

/** The program of a run's current workflow; undefined if the run has no position yet. */
export async function programAt(session: Session, runId: string): Promise<string | undefined> {
  const id = positionIdOf('')
  const hooks = session.view.internal?.hooks.filter(hook => hook.runId === runId && hook.hookId === id) ?? []
  const [record] = (await session.hooksWithLargeValues(hooks)).map(parseHookRecord)
  return (record?.result.value as Partial<WorkflowPosition> | undefined)?.program
}

/** The records of one workflow in a run: its position, its state, and the hook results of its open executions. */
export class Journal {
  readonly position: WorkflowPosition | undefined
  readonly state = new WorkflowState()
  /** By execution, then by hook. */
  readonly #records = new Map<string, Map<string, HookRecord>>()
  /** Results of ended executions. */
  readonly #ends = new Map<string, HookResult>()

  constructor(records: readonly HookRecord[], scope: string) {
    let position: Json | undefined
    for (const record of records) {
      const { hookId, result } = record
      if (!hookId.startsWith(scope)) continue
      const localId = hookId.slice(scope.length)
      const [execution = ''] = localId.split('/', 1)
      // A workflow that runs as a tool call of this one has its own scope.
      if (execution.includes(':')) continue
      if (localId === POSITION) position = result.value
      else if (localId.startsWith(STATE_PREFIX)) {
        this.state.set(partOfKey(localId.slice(STATE_PREFIX.length)), result.value)
      } else if (localId === execution) this.#ends.set(execution, result)
      else this.recordsOf(execution).set(hookId, record)
    }
    this.position = position as unknown as WorkflowPosition | undefined
  }

  /** Reads the records of a workflow from the log. */
  static async read(session: Session, runId: string, scope: string): Promise<Journal> {
    return new Journal((await session.hooks(runId)).map(parseHookRecord), scope)
  }

  /** The records of an execution, by hook id. The execution adds to this map what it commits. */
  recordsOf(execution: string): Map<string, HookRecord> {
    const records = this.#records.get(execution) ?? new Map<string, HookRecord>()
    this.#records.set(execution, records)
    return records
  }

  /** The result of an execution that ended the workflow; a run that resumes there has nothing left to do. */
  endOf(execution: string): HookResult | undefined {
    return this.#ends.get(execution)
  }

  /** Removes the records of an ended execution. */
  forget(execution: string): void {
    this.#records.delete(execution)
  }
}
