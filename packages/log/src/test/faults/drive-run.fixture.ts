// Writes a run step by step: streamed text, lanes, discards, commits of several outputs and questions to guests, until the test
// ends it. A takeover continues after the last complete step.

import { setTimeout as pause } from 'node:timers/promises'
import type { Chunk } from '@millrace/protocol'
import type { StreamManager } from '../../manager/stream-manager.ts'
import { LogError } from '../../store/log-error.ts'
import { mustStop } from '../../ticket/ticket.ts'
import type { Lane } from '../../write/lane.ts'
import type { Writer } from '../../write/writer.ts'
import { Random } from '../chaos/random.fixture.ts'
import type { ReportMessage, Run, RunPlan } from './store-process-messages.fixture.ts'
import { tokenOf, tokensIn } from './token.fixture.ts'

/** The time of a step, in ms. */
const PACE_MS = 5
/** The number of steps that a process may be ahead of the test. Without it a log would have thousands before a fault can happen. */
const MAX_STEPS_AHEAD = 8

type Awaited = Extract<Chunk, { type: 'run-paused' }>['awaits']

/** State that the drivers of a process share. */
export class SharedDriverState {
  readonly manager: StreamManager
  readonly report: ReportMessage
  readonly tag: string
  readonly plan: RunPlan
  readonly #finishing = new Set<string>()
  readonly #wakes = new Set<() => void>()
  #tokens = 0
  #steps = 0
  #granted = 0
  /** Resumes the runs that wait: one process may drive several. */
  readonly #waiters = new Set<() => void>()

  constructor(manager: StreamManager, tag: string, plan: RunPlan, report: ReportMessage) {
    this.manager = manager
    this.tag = tag
    this.plan = plan
    this.report = report
  }

  /** Lets runs end. */
  finish(streamIds: readonly string[]): void {
    for (const streamId of streamIds) this.#finishing.add(streamId)
    for (const wake of this.#wakes) wake()
  }

  isFinishing(streamId: string): boolean {
    return this.#finishing.has(streamId)
  }

  onFinish(wake: () => void): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  /** Reports a step, and waits until the test has received enough of the earlier ones. */
  async waitForGrant(): Promise<void> {
    await pause(PACE_MS)
    const n = ++this.#steps
    await this.report({ kind: 'step', n })
    while (n > this.#granted + MAX_STEPS_AHEAD) {
      await new Promise<void>(resolve => this.#waiters.add(resolve))
    }
  }

  /** The test has received this step. */
  grant(n: number): void {
    this.#granted = n
    for (const resume of this.#waiters) resume()
    this.#waiters.clear()
  }

  /** A unique token. */
  token(line: string): string {
    return tokenOf(this.tag, line, ++this.#tokens)
  }
}

/** Claims the log and writes the run until it ends or waits for an answer. Rejects if the writer is lost. */
export async function driveRun(shared: SharedDriverState, run: Run, takeover: boolean): Promise<'ended' | 'released'> {
  const { streamId, runId, program } = run
  const writer = await shared.manager.createWriter(streamId, { runId, agentType: 'mill', program, takeover })
  try {
    await shared.report({ kind: 'claimed', streamId, epoch: writer.epoch })
    return await new Driver(shared, run, writer).run()
  } finally {
    await writer.close().catch(() => {})
  }
}

class Driver {
  readonly #shared: SharedDriverState
  readonly #run: Run
  readonly #writer: Writer

  constructor(shared: SharedDriverState, run: Run, writer: Writer) {
    this.#shared = shared
    this.#run = run
    this.#writer = writer
  }

  async run(): Promise<'ended' | 'released'> {
    const { streamId, runId } = this.#run
    if (this.#writer.ticket.last?.runId === runId) throw new LogError('refused', `run ${runId} has ended`)
    for (let step = (await this.#committedSteps()) + 1; ; step++) {
      if (!(await this.#waitForAnswers())) break
      await this.#shared.waitForGrant()
      if (this.#shared.isFinishing(streamId)) break
      const hasQuestion = await this.#step(step)
      if (hasQuestion && this.#shared.plan.releasesWhileWaiting && (await this.#pause())) return 'released'
    }
    const token = this.#shared.token('end')
    const status = await this.#shared.manager.endStream(streamId, token)
    await this.#shared.report({ kind: 'ended', streamId, status, token })
    return 'ended'
  }

  /** The number of steps in the log, from the last commit. */
  async #committedSteps(): Promise<number> {
    const { view } = await this.#shared.manager.view(this.#run.streamId)
    const state = (view.state ?? {}) as { runId?: string; step?: number }
    return state.runId === this.#run.runId ? (state.step ?? 0) : 0
  }

  /** Waits until no question is open. Returns false if the run must end. */
  async #waitForAnswers(): Promise<boolean> {
    const { streamId } = this.#run
    const { signal } = this.#writer
    for (;;) {
      let wake = () => {}
      const changed = new Promise<void>(resolve => {
        wake = resolve
      })
      const unsubscribers = [this.#shared.manager.watch(streamId, wake), this.#shared.onFinish(wake)]
      signal.addEventListener('abort', wake, { once: true })
      try {
        const ticket = await this.#writer.refresh()
        if (mustStop(ticket) || this.#shared.isFinishing(streamId)) return false
        if (ticket.pendings.length === 0) return true
        await changed
      } finally {
        for (const unsubscribe of unsubscribers) unsubscribe()
        signal.removeEventListener('abort', wake)
      }
    }
  }

  /** Pauses the run. Returns false if it was answered meanwhile. */
  async #pause(): Promise<boolean> {
    const paused = await this.#writer.decide(({ pendings }) => {
      const awaits = pendings.map(({ lane, agentId, claim, ...awaited }) => awaited) as Awaited
      return awaits.length > 0 ? [{ type: 'run-paused', awaits }] : undefined
    })
    return paused !== undefined
  }

  /** Writes a step. Returns whether it ends with a question. */
  async #step(step: number): Promise<boolean> {
    const { runId } = this.#run
    const { plan, tag } = this.#shared
    const random = new Random(plan.seed).fork(`${runId}/${step}`)
    const { main } = this.#writer
    if (random.chance(0.25)) {
      await this.#writeText(main, `${tag}-${step}-first`, random.between(1, 3))
      await main.discard({ reason: 'said better' })
    }
    await this.#writeText(main, `${tag}-${step}`, random.between(1, 4))
    if (random.chance(0.4)) {
      const side = this.#writer.lane({ lane: `side-${step}` })
      await this.#writeText(side, `${tag}-${step}-side`, random.between(1, 2))
      // Text that is not committed here stays an open draft until the run ends or is taken over.
      if (random.chance(0.7)) await this.#commit(side, this.#outputs(random, `side-${step}`))
    }
    const question = random.chance(plan.questionRate) ? this.#question(random, `${runId}-${step}`) : []
    const state: Chunk = { type: 'state-snapshot', state: { runId, step, token: this.#shared.token('main') } }
    await this.#commit(main, [state, ...this.#outputs(random, 'main'), ...question], { closesStep: true })
    return question.length > 0
  }

  async #writeText(lane: Lane, id: string, count: number): Promise<void> {
    const { streamId } = this.#run
    for (let i = 0; i < count; i++) {
      const token = this.#shared.token(lane.origin.lane)
      const write = lane.write({ type: 'text-delta', id, delta: token })
      write.appended.then(
        written => {
          if (written.outcome === 'dropped') return
          const { outcome, first, last } = written
          void this.#shared.report({ kind: 'acked', streamId, outcome, tokens: [token], first, last })
        },
        () => {},
      )
      await write
    }
  }

  /** Some outputs. A large one, stored as a blob, names its token without brackets. */
  #outputs(random: Random, line: string): Chunk[] {
    return Array.from({ length: random.between(1, 3) }, (): Chunk => {
      const token = this.#shared.token(line)
      const text = `${token.slice(1, -1)} ${'x'.repeat(random.chance(0.1) ? 5000 : this.#shared.plan.outputLength)}`
      if (random.chance(0.3)) return { type: 'hook-completed', hookId: token, hook: 'useStep', result: text }
      return { type: 'tool-output-available', toolCallId: token, output: text }
    })
  }

  #question(random: Random, id: string): Chunk[] {
    const kind = random.pick(['interrupt', 'client-tool', 'approval'] as const)
    if (kind === 'interrupt')
      return [{ type: 'interrupt', interruptId: id, input: { kind: 'text', question: 'Go on?' } }]
    if (kind === 'client-tool') {
      return [{ type: 'tool-input-available', toolCallId: id, toolName: 'look', input: null, executor: 'client' }]
    }
    return [{ type: 'tool-approval-request', toolCallId: id, approvalId: id, input: null }]
  }

  /** Commits a batch, also while guests append. */
  async #commit(lane: Lane, batch: readonly Chunk[], options: { closesStep?: boolean } = {}): Promise<void> {
    const { streamId } = this.#run
    const tokens = batch.flatMap(chunk => tokensIn(chunk).map(({ text }) => text))
    await this.#shared.report({ kind: 'sent', streamId, tokens })
    for (;;) {
      const done = await lane.commit(batch, options)
      if (done.outcome === 'moved') continue
      const { outcome, first, last } = done
      await this.#shared.report({ kind: 'acked', streamId, outcome, tokens, first, last })
      return
    }
  }
}
