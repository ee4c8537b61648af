// Many paused runs: memory and idle CPU time of the process that drove them, and that they resume.
import { deepStrictEqual, ok } from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Runtime } from '@millrace/runtime'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'
import { inParallel } from './in-parallel.ts'
import { modelOf, textParts, toolCallParts } from './model.ts'

/** Runs that are started or answered at the same time. */
const CONCURRENCY = 64
/** Minimum number of runs that are answered at the end. */
const MIN_ANSWERED = 100
/** Maximum duration of the idle measurement, in ms. */
const IDLE_MS = 5_000
/** Maximum number of resources that may be added while the runs are paused. */
const MAX_ADDED_RESOURCES = 10
const WEEK = 7 * 24 * 3_600_000

const toolCallId = 'call-1'

/** Memory of a process after garbage collection, and its activity while idle. */
interface ProcessState {
  readonly heap: number
  readonly resident: number
  /** Active resources such as timers and sockets. */
  readonly resources: Record<string, number>
  /** CPU time in ms per second. */
  readonly idleCpu: number
}

interface PausedOutcome {
  readonly paused: number
  readonly before: ProcessState
  readonly after: ProcessState
  /** Outcomes of the answered runs, with their counts. */
  readonly ended: Record<string, number>
}

/** Paused runs in one session each. One in ten has a deadline in a week, the others have none. */
export async function pausedRuns(backend: Backend, count: number): Promise<Job> {
  const { runtime, pause } = await openApprovalRuntime(backend)
  const interval = Math.ceil(count / MIN_ANSWERED)
  return job(
    async (): Promise<PausedOutcome> => {
      // Derived names, so that no list of them is retained.
      const name = crypto.randomUUID()
      const idOf = (n: number): string => `${name}-${n}`
      // Opens all connections before the first measurement.
      await inParallel(Math.min(CONCURRENCY, count), CONCURRENCY, n => pause(`first-${idOf(n)}`, n))
      const before = await processState(count)
      let paused = 0
      await inParallel(count, CONCURRENCY, async n => {
        await pause(idOf(n), n)
        paused++
      })
      const after = await processState(count)
      const ended = await inParallel(Math.ceil(count / interval), CONCURRENCY, n => answer(runtime, idOf(n * interval)))
      return { paused, before, after, ended: countOf(ended) }
    },
    ({ paused, before, after, ended }) => {
      const answered = Math.ceil(count / interval)
      deepStrictEqual({ paused, ended }, { paused: count, ended: { 'completed: It is done.': answered } })
      // A poll for due deadlines can be in flight in one of the two measurements.
      ok(sum(after.resources) <= sum(before.resources) + MAX_ADDED_RESOURCES, JSON.stringify({ before, after }))
    },
    ({ before, after }) => [(after.heap - before.heap) / count],
    ({ before, after, ended }) => [
      `${mebibytes(before.heap)} of heap before, ${mebibytes(after.heap)} with ${count.toLocaleString('en')} paused; ` +
        `resident ${mebibytes(before.resident)}, then ${mebibytes(after.resident)}`,
      `holds ${JSON.stringify(after.resources)}, ${JSON.stringify(before.resources)} before; idle ${after.idleCpu.toFixed(1)} ms of CPU time a second, ` +
        `${before.idleCpu.toFixed(1)} before; answered ${JSON.stringify(ended)}`,
    ],
  )
}

/** A runtime with runs that ask for approval. `pause` starts a run in a session of the same name and waits for its pause. */
const openApprovalRuntime = openOnce(
  async (backend: Backend): Promise<{ runtime: Runtime; pause(runId: string, n: number): Promise<void> }> => {
    const { agent, createRuntime, tool } = await import('@millrace/runtime')
    const { z } = await import('zod')
    const input = z.object({ text: z.string() })
    const execute = (echoed: { text: string }) => echoed
    const withoutDeadline = tool({ name: 'no_deadline', inputSchema: input, approval: true, execute })
    const withDeadline = tool({ name: 'with_deadline', inputSchema: input, approval: { timeoutMs: WEEK }, execute })
    const agentWithTool = (toolName: string) =>
      agent({
        name: `asks-${toolName}`,
        model: modelOf(step =>
          step === 0
            ? toolCallParts({ toolCallId, toolName, input: '{"text":"to be approved"}' })
            : textParts(['It is', ' done.']),
        ),
        tools: [withoutDeadline, withDeadline],
      })
    const [agentWithoutDeadline, agentWithDeadline] = [agentWithTool('no_deadline'), agentWithTool('with_deadline')]
    const runtime = createRuntime({
      store: await openStore(backend, OWN_FILE),
      agents: [agentWithoutDeadline, agentWithDeadline],
    })
    onCleanup(() => runtime.close())
    return {
      runtime,
      async pause(runId, n) {
        const run = await runtime.start({
          agent: n % 10 === 0 ? agentWithDeadline : agentWithoutDeadline,
          runId,
          input: 'Go.',
        })
        const { status } = await run.result()
        if (status !== 'paused') throw new Error(`expected a run that waits for approval to be paused, found ${status}`)
      },
    }
  },
)

async function answer(runtime: Runtime, runId: string): Promise<string> {
  await runtime.answer(runId, { kind: 'approval', id: `${runId}::${toolCallId}`, approved: true })
  const { status, text } = await runtime.run(runId, runId).result()
  return `${status}: ${text}`
}

async function processState(count: number): Promise<ProcessState> {
  const idleMs = Math.min(IDLE_MS, count)
  // Work in flight finishes, and its garbage is collected too.
  await setTimeout(Math.min(500, idleMs))
  // Small counts run only in tests, which need no heap figures.
  if (count >= MIN_ANSWERED) {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    for (let turn = 0; turn < 3; turn++) {
      collect()
      await setTimeout(50)
    }
  }
  const { heapUsed, rss } = process.memoryUsage()
  const resources = countOf(process.getActiveResourcesInfo())
  const from = process.cpuUsage()
  await setTimeout(idleMs)
  const { user, system } = process.cpuUsage(from)
  return { heap: heapUsed, resident: rss, resources, idleCpu: (user + system) / idleMs }
}

function countOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((all, count) => all + count, 0)

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`
