// Plays a workflow that is interrupted after one of its appends: its process is killed, or the run is stopped and another one resumes it.

import type { Entry, View } from '@millrace/protocol'
import { expect } from 'vitest'
import type { Workflow } from '../../define/workflow.ts'
import type { ProcessTimers } from '../../drive/clock.fixture.ts'
import { VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { reportsOf } from '../agent/run-to-end.fixture.ts'

export const SESSION = 's'
export const RUN = 'r'

/** One process: its timers, its number, and the side effects of all processes so far. */
export interface Life {
  readonly timers: ProcessTimers
  readonly nth: number
  readonly effects: string[]
}

export interface InterruptedProgram {
  /** The workflow as a process runs it. */
  workflow(life: Life): Workflow
  /** The effects that must not happen again once these entries are in the log. */
  effectsIn(entries: readonly Entry[]): readonly string[]
}

/** Kind of interruption of a run. */
export type Interruption = 'killed' | 'stopped'

export interface Played {
  readonly shape: unknown
  readonly effects: readonly string[]
  readonly isCut: boolean
  /** Effects that happened again although the log had their result when the run was interrupted. */
  readonly repeated: readonly string[]
}

/** Plays a program that is interrupted after its nth append and again after some more, with immediate answers. */
export async function playInterrupted(
  program: InterruptedProgram,
  n: number,
  more: number,
  how: Interruption,
): Promise<Played> {
  const cluster = new VirtualCluster()
  const effects: string[] = []
  const left = [n, more]
  let isCut = false
  let runId = RUN
  const deaths: { readonly kept: readonly string[]; readonly done: number }[] = []
  const died = async () => {
    const entries = await cluster.entries(SESSION)
    deaths.push({ done: effects.length, kept: program.effectsIn(entries) })
  }
  const process = () => {
    const nth = 2 - left.length
    const to = left.shift()
    const life = { timers: cluster.clock.timers(), nth, effects }
    const driverProcess = cluster.process(() => [], { workflows: [program.workflow(life)] })
    let appends = 0
    driverProcess.connection.after = async ({ method }) => {
      if (method !== 'append' || ++appends !== to) return
      isCut = true
      if (how === 'stopped') return void (await apiProcess.runtime.stop(SESSION, runId))
      driverProcess.kill()
      await died()
      process()
    }
  }
  const apiProcess = cluster.process(() => [], { engine: false })
  await apiProcess.runtime.start({ session: SESSION, runId: RUN, workflow: 'workflow:own@1', input: 'Go.' })
  process()
  for (let after = 0; ; ) {
    const isNext = ({ sequence, chunk }: Entry) =>
      sequence > after && (chunk.type === 'interrupt' || chunk.type === 'run-finished')
    const next = await cluster.waitForEntry(SESSION, isNext)
    after = next.sequence
    if (next.chunk.type === 'run-finished') {
      if (next.chunk.status !== 'interrupted') break
      await died()
      const last = runId
      runId = `${RUN}${deaths.length}`
      await cluster.clock.until(apiProcess.runtime.resume(SESSION, last, { runId }))
      continue
    }
    if (next.chunk.type !== 'interrupt') continue
    const { interruptId: id } = next.chunk
    const response = id.slice(id.indexOf('::'))
    // A run that was stopped meanwhile asks again.
    const answer = apiProcess.runtime.answer(SESSION, { kind: 'interrupt', id, response })
    await cluster.clock.until(how === 'stopped' ? answer.catch(() => {}) : answer)
  }
  expect(reportsOf(await cluster.entries(SESSION))).toEqual([])
  const repeated = deaths.flatMap(({ kept, done }) => effects.slice(done).filter(key => kept.includes(key)))
  return { shape: shapeOf(await cluster.view(SESSION)), effects, isCut, repeated }
}

const shapeOf = ({ runs, output, structured, interrupts, pendings, drafts }: View) => ({
  run: runs.slice(-1).map(({ status, error }) => ({ status, code: error?.code, message: error?.message })),
  output,
  // Generated ids begin with the run, and end with the order of parallel code.
  structured: structured
    .map(({ streamId, data }) => JSON.stringify([streamId.replace(/^r\d*:.*/, 'generated'), data]))
    .sort(),
  answered: interrupts.flatMap(({ status, response }) => (status === 'answered' ? [response] : [])).sort(),
  open: [pendings, drafts],
})
