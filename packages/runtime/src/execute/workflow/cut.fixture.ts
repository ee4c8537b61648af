// A run that is cut off after each of its appends in turn: another process goes on from the log each time, and what came of the run is the same.

import type { Json, Pending, View } from '@millrace/protocol'
import { expect } from 'vitest'
import type { Answer } from '../../api/answer.ts'
import type { StartOptions, StartWorkflowOptions } from '../../api/runtime.ts'
import type { Agent } from '../../define/agent.ts'
import type { Workflow } from '../../define/workflow.ts'
import { isEndOf, type Process, VirtualCluster } from '../../drive/virtual-processes.fixture.ts'
import { reportsOf } from '../agent/play.fixture.ts'

const SESSION = 's'
const RUN = 'r'

export interface Cuts {
  /** What each process has; made anew for each run. */
  programs(): { readonly agents?: readonly Agent[]; readonly workflows?: readonly Workflow[] }
  readonly start: Partial<StartOptions> | Partial<StartWorkflowOptions>
  /** What somebody answers; an approval, if nothing is said. */
  answer?(pending: Pending): Answer
  /** What of the shape has to be the same; all of it, if nothing is said. */
  compared?(shape: Shape): unknown
}

const approved = ({ id }: Pending): Answer => ({ kind: 'approval', id, approved: true })

/** Plays a run undisturbed, and then killed after its first append, its second, and so on; gives what came of it undisturbed, and how often it was killed. */
export async function cutEverywhere(cuts: Cuts): Promise<{ shape: Shape; kills: number }> {
  const { compared = all => all } = cuts
  const { shape } = await playCut(cuts, Number.POSITIVE_INFINITY)
  for (let n = 1; ; n++) {
    const played = await playCut(cuts, n)
    expect([n, compared(played.shape)]).toEqual([n, compared(shape)])
    if (!played.isKilled) return { shape, kills: n - 1 }
  }
}

async function playCut({ programs, start, answer = approved }: Cuts, n: number) {
  const stage = new VirtualCluster()
  const { agents = [], workflows = [] } = programs()
  const process = (): Process => stage.process(() => agents, { workflows })
  const desk = stage.process(() => [], { engine: false })
  await desk.runtime.start({ session: SESSION, runId: RUN, messageId: 'm', input: 'Go.', ...start } as StartOptions)
  const first = process()
  let appends = 0
  first.wire.after = ({ method }) => {
    if (method !== 'append' || ++appends !== n) return
    first.kill()
    process()
  }
  for (let after = 0; ; ) {
    const next = await stage.seen(
      SESSION,
      entry => entry.sequence > after && (entry.chunk.type === 'run-paused' || isEndOf(RUN)(entry)),
    )
    after = next.sequence
    if (next.chunk.type === 'run-finished') break
    const { pendings } = await stage.view(SESSION)
    for (const pending of pendings) await stage.clock.until(desk.runtime.answer(SESSION, answer(pending)))
  }
  expect([n, reportsOf(await stage.entries(SESSION))]).toEqual([n, []])
  return { shape: shapeOf(await stage.view(SESSION)), isKilled: appends >= n }
}

export interface Shape {
  readonly run: unknown
  readonly output: Json | undefined
  readonly state: Json | undefined
  readonly messages: readonly unknown[]
  readonly agents: readonly unknown[]
  readonly structured: readonly unknown[]
}

/** What a run came to, whoever drove it. */
function shapeOf({ runs, output, state, messages, agents, structured, pendings, drafts }: View): Shape {
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
