// Crashes a run after each of its appends in turn. Another process continues from the log, and the result must be the
// same.

import type { Json, Pending, View } from '@millrace/protocol'
import { expect } from 'vitest'
import type { Answer } from '../../api/answer.ts'
import type { StartOptions, StartWorkflowOptions } from '../../api/runtime.ts'
import type { Agent } from '../../define/agent.ts'
import type { Workflow } from '../../define/workflow.ts'
import { isEndOf, type Process, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { reportsOf } from '../agent/run-to-end.fixture.ts'

const SESSION = 's'
const RUN = 'r'

export interface CrashSetup {
  /** The programs of each process, created for each run. */
  programs(): { readonly agents?: readonly Agent[]; readonly workflows?: readonly Workflow[] }
  readonly start: Partial<StartOptions> | Partial<StartWorkflowOptions>
  /** Answers a pending. @default approval */
  answer?(pending: Pending): Answer
  /** The part of the result to compare. @default all of it */
  compared?(shape: RunShape): unknown
}

const approved = ({ id }: Pending): Answer => ({ kind: 'approval', id, approved: true })

/**
 * Plays a run undisturbed, then crashed after each append. Returns the undisturbed result and the number of crashes.
 */
export async function crashAtEveryAppend(cuts: CrashSetup): Promise<{ shape: RunShape; kills: number }> {
  const { compared = all => all } = cuts
  const { shape } = await playWithCrash(cuts, Number.POSITIVE_INFINITY)
  for (let n = 1; ; n++) {
    const played = await playWithCrash(cuts, n)
    expect([n, compared(played.shape)]).toEqual([n, compared(shape)])
    if (!played.isKilled) return { shape, kills: n - 1 }
  }
}

async function playWithCrash({ programs, start, answer = approved }: CrashSetup, n: number) {
  const cluster = new VirtualCluster()
  const { agents = [], workflows = [] } = programs()
  const process = (): Process => cluster.process(() => agents, { workflows })
  const apiProcess = cluster.process(() => [], { engine: false })
  await apiProcess.runtime.start({
    session: SESSION,
    runId: RUN,
    messageId: 'm',
    input: 'Go.',
    ...start,
  } as StartOptions)
  const first = process()
  let appends = 0
  first.connection.after = ({ method }) => {
    if (method !== 'append' || ++appends !== n) return
    first.kill()
    process()
  }
  for (let after = 0; ; ) {
    const next = await cluster.waitForEntry(
      SESSION,
      entry => entry.sequence > after && (entry.chunk.type === 'run-paused' || isEndOf(RUN)(entry)),
    )
    after = next.sequence
    if (next.chunk.type === 'run-finished') break
    const { pendings } = await cluster.view(SESSION)
    for (const pending of pendings) await cluster.clock.until(apiProcess.runtime.answer(SESSION, answer(pending)))
  }
  expect([n, reportsOf(await cluster.entries(SESSION))]).toEqual([n, []])
  return { shape: shapeOf(await cluster.view(SESSION)), isKilled: appends >= n }
}

export interface RunShape {
  readonly run: unknown
  readonly output: Json | undefined
  readonly state: Json | undefined
  readonly messages: readonly unknown[]
  readonly agents: readonly unknown[]
  readonly structured: readonly unknown[]
}

/** The result of a run, independent of its drivers. */
function shapeOf({ runs, output, state, messages, agents, structured, pendings, drafts }: View): RunShape {
  expect([pendings, drafts]).toEqual([[], []])
  return {
    run: runs.map(({ status, error, reason }) => ({ status, code: error?.code, reason })),
    output,
    state,
    messages: messages.map(({ id, role, parts }) => ({
      id,
      role,
      parts: parts.map(part => {
        const { type, text, toolCallId, output, errorText, data } = part as unknown as { [name: string]: unknown }
        return { type, state: 'state' in part ? part.state : undefined, text, toolCallId, output, errorText, data }
      }),
    })),
    agents: agents.map(({ agentId, parentId, status, result, reason, toolCallId }) => ({
      agentId,
      parentId,
      toolCallId,
      status,
      result,
      reason,
    })),
    structured: structured.map(({ streamId, dataType, status, data }) => ({ streamId, dataType, status, data })),
  }
}
