import type { Chunk } from '@millrace/protocol'
import { mustStop, type Ticket, type TicketPending } from '../../ticket/ticket.ts'
import type { BatchLike, Lane } from '../../write/lane.ts'
import type { Writer } from '../../write/writer.ts'
import type { ScriptCall, ScriptStep } from './run-script.fixture.ts'
import type { Actor } from './schedule-actor.fixture.ts'
import { callChunks, stepTextChunks } from './script-chunks.fixture.ts'

/** State of a line of work: all done, waiting for an answer, or given up because the run must stop or was taken over. */
type LineState = 'done' | 'blocked' | 'given-up'

/** An agent with its lane and its script. */
interface AgentLine {
  readonly lane: Lane
  readonly steps: readonly ScriptStep[]
}

const SETTLED = /^output-|^answered|^void/

/** One drive of a run, from its state in the log. */
export class RunDriver {
  readonly #actor: Actor
  readonly #writer: Writer
  readonly #runId: string
  readonly #script: readonly ScriptStep[]
  /** States of calls and questions, as last read or as set by this drive. */
  readonly #states = new Map<string, string>()
  readonly #approvals = new Map<string, boolean>()
  readonly #positions = new Map<string, number>()
  /** The tokens that each lane wrote since its last commit or discard. */
  readonly #uncommitted = new Map<string, string[]>()
  /** The lanes that wait in this round. */
  readonly #waiting = new Set<string>()
  #isStale = false
  #isDraining = false

  constructor(actor: Actor, writer: Writer, runId: string, script: readonly ScriptStep[]) {
    this.#actor = actor
    this.#writer = writer
    this.#runId = runId
    this.#script = script
  }

  async run(): Promise<void> {
    const { manager, random } = this.#actor
    const { streamId, ticket } = this.#writer
    const unwatch = manager.watch(streamId, () => {
      this.#isStale = true
    })
    try {
      const root = { lane: this.#writer.main, steps: this.#script }
      if (!mustStop(ticket)) await this.#readState()
      for (;;) {
        if (mustStop(this.#writer.ticket)) return await this.#end(false)
        this.#waiting.clear()
        const state = await this.#work(root)
        if (this.#isDraining) return
        if (state === 'done') return await this.#end(true)
        if (state === 'blocked') {
          if (random.chance(0.4)) await this.#actor.sleep(5, 80)
          else if (await this.#pause()) return
        }
        await this.#readState()
      }
    } finally {
      unwatch()
    }
  }

  /** Reads the state of the run. */
  async #readState(): Promise<void> {
    const { manager } = this.#actor
    this.#isStale = false
    await this.#writer.refresh()
    const { view } = await manager.view(this.#writer.streamId)
    for (const { parts } of view.messages) {
      for (const part of parts) {
        if (!('toolCallId' in part)) continue
        this.#states.set(part.toolCallId, part.state)
        if (part.approval?.approved !== undefined) this.#approvals.set(part.toolCallId, part.approval.approved)
      }
    }
    for (const { interruptId, status } of view.interrupts) this.#states.set(interruptId, status)
    for (const [path, position] of Object.entries((view.state ?? {}) as Record<string, number>)) {
      const current = this.#positions.get(path) ?? 0
      this.#positions.set(path, Math.max(position, current))
    }
  }

  /** Whether to give up: the run must stop, or this process drains. Reads the log first if it may have changed. */
  async #mustGiveUp(): Promise<boolean> {
    // Reads after a wake-up, not always at once.
    if (this.#isStale && this.#actor.random.chance(0.6)) {
      this.#isStale = false
      await this.#writer.refresh()
    }
    this.#writer.signal.throwIfAborted()
    return this.#isDraining || mustStop(this.#writer.ticket)
  }

  async #work(line: AgentLine): Promise<LineState> {
    for (;;) {
      const position = this.#positions.get(this.#pathOf(line)) ?? 0
      const calls = line.steps[position - 1]?.calls ?? []
      const states = await Promise.all(calls.map(call => this.#call(line, call)))
      for (const lineState of ['given-up', 'blocked'] as const) if (states.includes(lineState)) return lineState
      const step = line.steps[position]
      if (step === undefined) return 'done'
      if (!(await this.#step(line, step, position))) return 'given-up'
    }
  }

  #pathOf({ lane }: AgentLine): string {
    return `${this.#runId}:${lane.origin.lane}`
  }

  /** One model call with its attempts. Returns false if it was given up. */
  async #step(line: AgentLine, step: ScriptStep, position: number): Promise<boolean> {
    const { random } = this.#actor
    for (let attempt = 1; ; attempt++) {
      if ((await this.#mustGiveUp()) || !(await this.#discard(line.lane, attempt))) return false
      await this.#writeStep(line, step, position, attempt)
      if (await this.#mustGiveUp()) return false
      if (attempt > 2 || !random.chance(0.25)) break
    }
    const path = this.#pathOf(line)
    const patches = [{ op: 'add' as const, path: `/${path}`, value: position + 1 }]
    const isDone = await this.#commit(
      line.lane,
      () => [
        ...step.calls.flatMap(call => callChunks(call, line.lane.origin, this.#deadline(call.deadline))),
        { type: 'step-finish', usage: { outputTokens: step.deltas } },
        { type: 'state-patch', patches },
        { chunk: { type: 'hook-completed', hookId: `${path}.${position}`, hook: 'useStep' }, internal: true },
      ],
      position + 1,
    )
    if (!isDone) return false
    this.#positions.set(path, position + 1)
    for (const { id, kind } of step.calls) {
      const needsApproval = kind === 'approved' || kind === 'approved-client'
      this.#states.set(id, kind === 'question' ? 'open' : needsApproval ? 'approval-requested' : 'input-available')
    }
    if (random.chance(0.03)) this.#isDraining = true
    return true
  }

  /** Discards the text of a lane before a retry. Returns false if a stop keeps it. */
  async #discard(lane: Lane, attempt: number): Promise<boolean> {
    const { lane: name } = lane.origin
    if (!this.#uncommitted.has(name)) return true
    this.#actor.recordAction(`discard ${name}`)
    const isDone = await lane.discard({ reason: 'tried again', attempt })
    if (!isDone && mustStop(this.#writer.ticket)) return false
    this.#uncommitted.delete(name)
    return true
  }

  async #writeStep({ lane }: AgentLine, step: ScriptStep, position: number, attempt: number): Promise<void> {
    const { world } = this.#actor
    const chunks = stepTextChunks(step, lane.origin, position, attempt, () => `${world.name('~')} `)
    for (const chunk of chunks) await this.#write(lane, chunk, position + 1)
  }

  async #write(lane: Lane, chunk: Chunk, step: number): Promise<void> {
    const { random } = this.#actor
    const { streamId, epoch } = this.#writer
    const [token = ''] = /~\d+ /.exec(JSON.stringify(chunk)) ?? []
    this.#actor.recordAction(`write ${chunk.type} ${token}on ${lane.origin.lane}`)
    const write = lane.write(chunk, { step })
    const { lane: name } = lane.origin
    this.#uncommitted.set(name, [...(this.#uncommitted.get(name) ?? []), token])
    if (random.chance(0.3)) await write
    if (random.chance(0.15)) {
      const written = await write.appended
      if (written.outcome !== 'dropped') this.#actor.checkAcknowledged(streamId, epoch, written, token)
    }
    if (random.chance(0.15)) await this.#actor.sleep(1, 40)
  }

  /** On a store with its own clock, a near deadline is late at once, so that no schedule depends on the machine. */
  #deadline(deadline: ScriptCall['deadline']): { deadline?: number } {
    const { clock, world } = this.#actor
    if (deadline === 'none') return {}
    if (deadline === 'far') return { deadline: clock + 10_000_000 }
    return { deadline: world.scheduleStore.clock ? clock + 150 : clock - 1 }
  }

  /** Commits on the current ticket. Returns false if the run must stop or its line must not continue. */
  async #commit(lane: Lane, build: () => BatchLike | undefined, step = lane.origin.step): Promise<boolean> {
    for (;;) {
      const batch = build()
      if (batch === undefined) return true
      this.#actor.recordAction(`commit on ${lane.origin.lane}`)
      const done = await lane.commit(batch, { step })
      if (done.outcome !== 'moved') {
        const { streamId, epoch } = this.#writer
        const chunks = batch.map(item => ('type' in item ? item : item.chunk))
        this.#actor.checkAcknowledged(streamId, epoch, done, chunks)
        this.#actor.checkCommitted(streamId, epoch, done.last, this.#uncommitted.get(lane.origin.lane) ?? [])
        this.#uncommitted.delete(lane.origin.lane)
        return true
      }
      if (await this.#mustGiveUp()) return false
    }
  }

  async #call(line: AgentLine, call: ScriptCall): Promise<LineState> {
    const { id, kind } = call
    for (;;) {
      if (await this.#mustGiveUp()) return 'given-up'
      const state = this.#states.get(id) ?? ''
      if (SETTLED.test(state)) return 'done'
      const pending = this.#pendingsOf(this.#writer.ticket, call)[0]
      if (pending !== undefined) {
        if (pending.deadline === undefined || pending.deadline > this.#actor.clock) {
          this.#waiting.add(laneOf(pending))
          return 'blocked'
        }
        if (!(await this.#expire(line, call))) return 'given-up'
      } else if (kind === 'server' || (state === 'approval-responded' && kind === 'approved')) {
        const isAllowed = kind === 'server' || this.#approvals.get(id)
        if (!(await (isAllowed ? this.#tool(line, call) : this.#deny(line, call)))) return 'given-up'
      } else if (kind === 'approved-client' && this.#approvals.get(id) === false) {
        if (!(await this.#deny(line, call))) return 'given-up'
      } else if (kind === 'agent') {
        const agentState = await this.#agent(line, call)
        if (agentState !== 'done') return agentState
      } else {
        // Answered: the log has the answer.
        await this.#readState()
      }
    }
  }

  #pendingsOf({ pendings }: Ticket, { id }: ScriptCall): TicketPending[] {
    return pendings.filter(pending => pending.toolCallId === id || pending.id === id)
  }

  /** The lane of a call in progress. */
  #laneOf({ lane }: AgentLine, { id }: ScriptCall): Lane {
    const { agentId, agentType, step } = lane.origin
    return this.#writer.lane({ agentId, agentType, step, lane: `call ${id}` })
  }

  async #tool(line: AgentLine, call: ScriptCall): Promise<boolean> {
    const { random, world } = this.#actor
    const { id: toolCallId } = call
    const lane = this.#laneOf(line, call)
    const { step } = lane.origin
    for (let attempt = 1; ; attempt++) {
      if ((await this.#mustGiveUp()) || !(await this.#discard(lane, attempt))) return false
      for (let i = 0; i < call.progress; i++) {
        if (await this.#mustGiveUp()) return false
        const output = `${world.name('~')} `
        await this.#write(lane, { type: 'tool-output-available', toolCallId, output, preliminary: true }, step)
      }
      if (await this.#mustGiveUp()) return false
      if (attempt > 1 || !random.chance(0.15)) break
    }
    const output = call.isLarge ? `${toolCallId}${'x'.repeat(200)}` : toolCallId
    return this.#settle(lane, call, [{ type: 'tool-output-available', toolCallId, output }], 'output-available')
  }

  #deny(line: AgentLine, call: ScriptCall): Promise<boolean> {
    return this.#settle(
      this.#laneOf(line, call),
      call,
      [{ type: 'tool-output-denied', toolCallId: call.id }],
      'output-denied',
    )
  }

  async #agent(line: AgentLine, call: ScriptCall): Promise<LineState> {
    const { agentType } = line.lane.origin
    const { id } = call
    const lane = this.#writer.lane({ lane: `agent ${id}`, agentId: id, agentType, step: 0 })
    const state = await this.#work({ lane, steps: call.steps })
    if (state !== 'done') return state
    const isDone = await this.#settle(
      this.#laneOf(line, call),
      call,
      [
        { type: 'subagent-end', agentId: id, agentType, toolCallId: id, status: 'completed' },
        { type: 'tool-output-available', toolCallId: id, output: id },
      ],
      'output-available',
    )
    return isDone ? 'done' : 'given-up'
  }

  /** Settles a call whose answer did not arrive in time. */
  #expire(line: AgentLine, call: ScriptCall): Promise<boolean> {
    const { id, kind } = call
    const lane = this.#laneOf(line, call)
    if (kind === 'question') {
      return this.#settle(lane, call, [{ type: 'interrupt-response', interruptId: id, response: null }], 'answered')
    }
    const chunk: Chunk = { type: 'tool-output-error', toolCallId: id, errorText: 'too late', code: 'timeout' }
    return this.#settle(lane, call, [chunk], 'output-error')
  }

  /** Settles a call, unless it is settled already. */
  async #settle(lane: Lane, call: ScriptCall, batch: readonly Chunk[], state: string): Promise<boolean> {
    const { id, kind } = call
    const needsPending = kind !== 'server' && kind !== 'agent' && this.#pendingsOf(this.#writer.ticket, call).length > 0
    let isDone = false
    const mayContinue = await this.#commit(lane, () => {
      if (needsPending && this.#pendingsOf(this.#writer.ticket, call).length === 0) return undefined
      isDone = true
      return batch
    })
    if (mayContinue && isDone) this.#states.set(id, state)
    return mayContinue
  }

  /** Ends the run: as completed, unless it must stop. */
  async #end(isDone: boolean): Promise<void> {
    const { random, manager } = this.#actor
    const { streamId } = this.#writer
    this.#actor.recordAction(`end ${this.#runId}`)
    if (random.chance(0.3)) {
      await manager.endStream(streamId)
      return
    }
    if (isDone && random.chance(0.1)) return manager.failStream(streamId, 'it went wrong')
    const notice = this.#notice()
    await this.#writer.decide(ticket => {
      if (mustStop(ticket)) return [{ type: 'abort' }, { type: 'run-finished', status: 'aborted', ...notice }]
      return isDone ? [{ type: 'finish' }, { type: 'run-finished', status: 'completed', ...notice }] : undefined
    })
  }

  /** The deadline after which other drivers notify the observers, if any. */
  #notice(): { notifyBy?: number } {
    const { random, clock, world } = this.#actor
    if (random.chance(0.5)) return {}
    // Like deadlines: without control of the clock, the time of expiry is unknown.
    return { notifyBy: world.scheduleStore.clock ? clock + random.between(0, 200) : clock - 1 }
  }

  /** Pauses the run, unless a line of it can continue now. Returns whether it did. */
  async #pause(): Promise<boolean> {
    this.#actor.recordAction(`pause ${this.#runId}`)
    const notice = this.#notice()
    const done = await this.#writer.decide(ticket => {
      const waiting = new Set(ticket.pendings.map(laneOf))
      if (mustStop(ticket) || [...this.#waiting].some(lane => !waiting.has(lane))) return undefined
      const awaits = ticket.pendings.map(({ lane, agentId, claim, ...awaited }) => awaited)
      return [{ type: 'run-paused', awaits, ...notice } as Chunk]
    })
    return done !== undefined
  }
}

const laneOf = ({ lane, agentId }: TicketPending): string => `${agentId} ${lane}`
