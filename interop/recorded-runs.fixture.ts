// Random runs of the runtime, as live and late readers see them. Every dialect must carry them.

import type { Dialect, Encoder } from '@millrace/dialects'
import { memoryStore } from '@millrace/log'
import type { Entry, Pending, RunStatus, View } from '@millrace/protocol'
import { createRuntime, type Run, type Runtime } from '@millrace/runtime'
import * as fc from 'fast-check'
import {
  countingAgent,
  DriverExit,
  type ExtraContent,
  greeter,
  laterWorkflow,
  programOf,
  type Scenario,
  type ScriptedCall,
  type SessionHistory,
  type Step,
  type UserReply,
  workflowOf,
} from './programs.fixture.ts'

export type { Scenario } from './programs.fixture.ts'

const randomText = fc
  .array(fc.constantFrom('rye ', 'oats', ' wheel', '\n', '“é”', '😀 ', '{"a":'), { maxLength: 5 })
  .map(all => all.join(''))
const step: fc.Arbitrary<Step> = fc.record({
  reasoning: randomText,
  text: randomText,
  calls: fc.array(fc.constantFrom<ScriptedCall>('weigh', 'sell', 'locate', 'broken', 'counted', 'nonsense'), {
    maxLength: 3,
  }),
  extras: fc.array(fc.constantFrom<ExtraContent>('url', 'document', 'file', 'provider', 'response'), { maxLength: 2 }),
  failures: fc.constantFrom(0, 0, 0, 1, 2),
})

/** Random scenarios. */
export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  kind: fc.constantFrom('agent', 'agent', 'agent', 'agent', 'object', 'workflow'),
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  replies: fc.array(fc.constantFrom<UserReply>('yes', 'yes', 'claimed', 'no', 'no', 'stop'), {
    minLength: 8,
    maxLength: 8,
  }),
  isLastCallFailing: fc.constantFrom(false, false, false, true),
  history: fc.constantFrom<SessionHistory>('nothing', 'nothing', 'turn', 'retried', 'edited'),
  paceMs: fc.constantFrom(0, 1),
  leavesAt: fc.constantFrom(-1, -1, -1, -1, 0, 1),
})

/** A finished run. */
export interface RecordedRun {
  readonly sessionId: string
  readonly runId: string
  /** Entries of a live reader, including discarded attempts. */
  readonly live: readonly Entry[]
  /** Entries of a late reader. */
  readonly replay: readonly Entry[]
  /** The view before the run, without the turn that it replaced. */
  readonly before: Omit<View, 'internal'>
  readonly view: Omit<View, 'internal'>
  readonly status: RunStatus
}

const SESSION = 'session'
const RUN = 'run-1'
const EARLIER = 'run-0'

const runs = new Map<string, Promise<RecordedRun>>()

/** Plays a scenario, once for all callers in a process. */
export function recordRun(scenario: Scenario): Promise<RecordedRun> {
  const key = JSON.stringify(scenario)
  const run = runs.get(key) ?? play(scenario)
  runs.set(key, run)
  return run
}

async function play(scenario: Scenario): Promise<RecordedRun> {
  const store = memoryStore()
  const exit = new DriverExit()
  const open = () =>
    createRuntime({
      store,
      agents: [programOf(scenario, exit), greeter, countingAgent],
      workflows: [workflowOf(scenario), laterWorkflow],
      engine: { pollMs: 2, graceMs: 0 },
      // Deltas are appended without waiting for others.
      log: { coalesceMs: 0 },
      backoff: { firstMs: 1, longestMs: 2 },
      logger: { warn() {}, error() {} },
    })
  let runtime = open()
  try {
    await playHistory(runtime, scenario)
    let run = await startRun(runtime, scenario)
    exit.isOpen = true
    const replies = [...scenario.replies]
    for (;;) {
      const result = await Promise.race([run.result(), exit.left])
      if (result === 'left') {
        exit.left = new Promise(() => {})
        await runtime.close()
        runtime = open()
        run = runtime.run(SESSION, RUN)
      } else if (result.status === 'paused') {
        await reply(runtime, replies.shift() ?? 'stop')
      } else {
        return await recordOf(runtime, run, result.status)
      }
    }
  } finally {
    await runtime.close()
    await store.close()
  }
}

/** Plays the history of the session. */
async function playHistory(runtime: Runtime, { kind, history }: Scenario): Promise<void> {
  if (history === 'nothing') return
  const request = { session: SESSION, runId: EARLIER, input: 'Hello?', messageId: 'said-0' }
  const isFlow = kind === 'workflow' && history !== 'turn'
  const earlier = isFlow
    ? await runtime.start({ ...request, workflow: 'asking' })
    : await runtime.start({ ...request, agent: history === 'turn' ? 'greeter' : 'program' })
  await earlier.result()
}

/** Starts the run. A paused run is stopped before the one that replaces it. */
function startRun(runtime: Runtime, { kind, history }: Scenario): Promise<Run> {
  if (history === 'retried') return runtime.retry(SESSION, EARLIER, { runId: RUN })
  if (history === 'edited') return runtime.edit(SESSION, 'said-0', 'Well?', { runId: RUN, newMessageId: 'said-1' })
  const request = { session: SESSION, runId: RUN, input: 'Well?', messageId: 'said-1' }
  return kind === 'workflow'
    ? runtime.start({ ...request, workflow: 'asking' })
    : runtime.start({ ...request, agent: 'program' })
}

async function recordOf(runtime: Runtime, run: Run, status: RunStatus): Promise<RecordedRun> {
  const live: Entry[] = []
  for await (const piece of run.pieces({ includeDiscarded: true })) live.push(...piece.entries)
  const replay: Entry[] = []
  for await (const piece of run.pieces({ merge: true, rewound: true })) replay.push(...piece.entries)
  const at = live.find(({ chunk }) => chunk.type === 'run-started')?.sequence ?? 1
  const { internal, ...before } = (await runtime.manager.view(SESSION, at - 1)).view
  const { view } = await runtime.view(SESSION)
  return { sessionId: SESSION, runId: RUN, live, replay, before, view, status }
}

/** Answers all pendings, or stops the run. */
async function reply(runtime: Runtime, reply: UserReply): Promise<void> {
  const { view } = await runtime.view(SESSION)
  if (reply === 'stop') return void (await runtime.stop(SESSION, RUN))
  for (const pending of view.pendings) {
    const { kind, id } = pending
    if (kind === 'client-tool' && reply === 'claimed') await runtime.claim(SESSION, id, { forMs: 60_000, by: 'tab' })
    await runtime.answer(SESSION, answerTo(pending, reply !== 'no'))
  }
}

function answerTo(pending: Pending, isYes: boolean): Parameters<Runtime['answer']>[1] {
  const { kind, id } = pending
  if (kind === 'approval') return { kind, id, approved: isYes, ...(!isYes && { reason: 'not today' }) }
  if (kind === 'interrupt') return { kind, id, response: isYes ? 'rye' : 'oats' }
  return { kind: 'tool-result', id, ...(isYes ? { output: { city: 'Ulm' } } : { error: 'no signal' }) }
}

/** Events per connection of a client that reads to each pause, answers, and continues. */
export function connectionsOf<Event>(
  encoder: Encoder<Event>,
  { live, status }: Pick<RecordedRun, 'live' | 'status'>,
): Event[][] {
  const connections: Event[][] = []
  let events: Event[] = []
  let isWaiting = false
  for (const entry of live) {
    const { chunk, origin } = entry
    // The client's own answer or stop request is not sent back. Later events are sent on its next connection.
    const encoded = encoder.encode(entry)
    // The claim of a call is not sent back to its client either, because it continues nothing.
    if (isWaiting && chunk.type === 'tool-claimed') continue
    if (isWaiting && origin.guest !== undefined) {
      isWaiting = false
      events = [...encoder.resume()]
      connections.push(events)
      continue
    }
    if (connections.length === 0) connections.push(events)
    events.push(...encoded)
    if (chunk.type === 'run-paused') {
      isWaiting = true
      events.push(...encoder.end('paused'))
    }
  }
  events.push(...encoder.end(status))
  return connections
}

/** The events for a reader that connects after the run has finished. */
export function replayOf<Event>(
  dialect: Dialect<Event>,
  { replay, status }: Pick<RecordedRun, 'replay' | 'status'>,
): Event[] {
  const encoder = dialect.encoder()
  return [...replay.flatMap(entry => encoder.encode(entry)), ...encoder.end(status)]
}
