import type { Chunk } from '@millrace/protocol'
import type { TicketNotice } from '../../ticket/notice.ts'
import type { Ticket, TicketPending } from '../../ticket/ticket.ts'
import { PROGRAMS, UNKNOWN_PROGRAM } from './driver-actor.fixture.ts'
import type { Actor, ActorMode } from './schedule-actor.fixture.ts'
import { excerptOf, same } from './schedule-world.fixture.ts'

const HOUR = 3_600_000

/** State of a client that survives the death of its process. */
export interface GuestMemory {
  readonly principal: string
  /** The last chunk sent, until its outcome is known. */
  last?: { readonly streamId: string; readonly chunk: Chunk }
}

/** Requests runs, answers, claims and stops, correctly and incorrectly, once and twice. */
export async function guestActor(
  actor: Actor,
  memory: GuestMemory,
  mode: ActorMode,
  names: readonly string[],
): Promise<never> {
  const { random } = actor
  if (memory.last && random.chance(0.7)) await send(actor, memory, memory.last.streamId, memory.last.chunk)
  for (;;) {
    await actor.sleep(5, mode.isFinishing ? 150 : 80)
    const streamId = random.chance(0.3) && actor.streams.length > 0 ? random.pick(actor.streams) : random.pick(names)
    await actor.attempt(() => act(actor, memory, mode, streamId))
  }
}

async function act(actor: Actor, memory: GuestMemory, mode: ActorMode, streamId: string): Promise<void> {
  const { random, manager, world } = actor
  const info = await manager.getInfo(streamId)
  if (info === null) {
    if (mode.isFinishing || streamId.includes('fork')) return
    actor.recordAction(`create ${streamId}`)
    await manager.createStream(streamId)
    return
  }
  const { ticket, clock, floor, head } = info
  if (mode.isFinishing) {
    const pending = random.pick(ticket.pendings)
    const waiting = ticket.requests.at(-1)
    if (pending) await send(actor, memory, streamId, answerChunk(actor, pending, true))
    // Withdraws most waiting requests, so that the schedule ends.
    else if (waiting && random.chance(0.9)) await send(actor, memory, streamId, stopOf(actor, waiting.runId))
    else if (ticket.run && !ticket.run.paused && !ticket.stop && random.chance(0.5)) {
      await send(actor, memory, streamId, stopOf(actor, ticket.run.runId))
    } else if (world.paused.has(streamId)) await manager.resumeStream(streamId)
    return
  }
  const { run, requests, pendings, notices = [] } = ticket
  const chunk = random.weighted<() => Chunk | undefined>([
    [requests.length > 1 ? 0.2 : run || requests[0] ? 1 : 4, () => requestOf(actor, streamId, floor, head)],
    [pendings.length > 0 ? 6 : 0, () => answerChunk(actor, random.pick(pendings), random.chance(0.8))],
    [pendings.some(({ kind }) => kind === 'client-tool') ? 3 : 0, () => claimOf(actor, ticket, clock)],
    [notices.length > 0 ? 2 : 0.05, () => notificationOf(actor, random.pick(notices), clock)],
    [run ? 0.5 : 0.2, () => stopOf(actor, runToStop(actor, ticket))],
    [0.3, () => ({ type: 'session-info', title: world.name('title') })],
    [0.1, () => ({ type: 'interrupt-response', interruptId: 'nothing', response: world.name('a') })],
  ])()
  if (chunk === undefined) return
  await send(actor, memory, streamId, chunk)
  // A double click.
  if (random.chance(0.15)) await send(actor, memory, streamId, chunk)
}

/** Sends a chunk and compares the result with the log. */
async function send(actor: Actor, memory: GuestMemory, streamId: string, chunk: Chunk): Promise<void> {
  const { manager, world } = actor
  memory.last = { streamId, chunk }
  actor.recordAction(`append ${excerptOf(chunk)} to ${streamId}`)
  const outcome = await actor.attempt(() => manager.append(streamId, memory.principal, chunk))
  if (outcome === undefined) return
  world.scheduler.note(`${actor.process.name}: gets ${excerptOf(outcome)}`)
  world.scheduler.count(outcome.outcome)
  const log = world.logs.get(streamId)
  if (outcome.outcome === 'refused') {
    const entry = log?.entries.find(({ sequence, origin, chunk: stored }) => {
      return sequence > log.floor && origin.guest === memory.principal && same(stored, chunk)
    })
    world.check(
      !entry,
      'law 5',
      () => `${excerptOf(chunk)} is at ${entry?.sequence}, but was refused as ${outcome.reason}`,
    )
    return
  }
  const { first, last } = outcome
  const isStored = world.logsOf(streamId).some(({ batches }) =>
    batches.some(batch => {
      const entry = batch.entries[0]
      const isOwn = entry?.origin.guest === memory.principal || chunk.type === 'run-requested'
      return batch.first === first && batch.last === last && isOwn && same(entry?.chunk, chunk)
    }),
  )
  world.check(isStored, 'acknowledged', () => `${excerptOf(chunk)} at ${first} of ${streamId}`)
}

function requestOf(actor: Actor, streamId: string, floor: number, head: number): Chunk {
  const { random, world } = actor
  const runId = world.name('run')
  const text = `say ${runId}`
  const message = { messageId: `m-${runId}`, role: 'user' as const, parts: [{ type: 'text' as const, text }] }
  const whenBusy = random.weighted<'reject' | 'queue' | 'interrupt-previous' | undefined>([
    [0.5, undefined],
    [0.5, 'reject'],
    [4, 'queue'],
    [1, 'interrupt-previous'],
  ])
  const toSequence = random.chance(0.4) && head > 0 ? cutOf(actor, streamId, floor, head) : undefined
  return {
    type: 'run-requested',
    runId,
    program: random.chance(0.03) ? UNKNOWN_PROGRAM : random.pick(PROGRAMS),
    ...(random.chance(0.8) && { message }),
    ...(whenBusy !== undefined && { whenBusy }),
    ...(toSequence !== undefined && { cut: { toSequence, reason: 'edit' } }),
  }
}

/** A sequence to rewind to. Mostly a valid one: before a run, or after a commit of the main lane. */
function cutOf({ random, world }: Actor, streamId: string, floor: number, head: number): number {
  const entries = world.logs.get(streamId)?.entries ?? []
  const sequences = entries.flatMap(({ chunk, sequence, origin }) => {
    if (chunk.type === 'run-started') return [sequence - 1]
    return chunk.type === 'checkpoint-created' && origin.lane === 'main' ? [sequence] : []
  })
  const valid = sequences.filter(sequence => sequence >= floor && sequence < head)
  return random.chance(0.85) && valid.length > 0 ? random.pick(valid) : random.between(floor, head)
}

function answerChunk({ random, world }: Actor, pending: TicketPending, isRight: boolean): Chunk {
  const { kind, id, toolCallId = '' } = pending
  const answerId = world.name('a')
  // Appended to the id.
  const wrong = isRight ? '' : 'x'
  switch (kind) {
    case 'approval': {
      const approved = random.chance(0.75)
      return {
        type: 'tool-approval-response',
        approvalId: id,
        toolCallId: `${toolCallId}${wrong}`,
        approved,
        reason: answerId,
      }
    }
    case 'client-tool':
      if (random.chance(0.2)) return { type: 'tool-output-error', toolCallId: `${id}${wrong}`, errorText: answerId }
      return { type: 'tool-output-available', toolCallId: `${id}${wrong}`, output: answerId }
    case 'interrupt':
      return { type: 'interrupt-response', interruptId: `${id}${wrong}`, response: answerId }
  }
}

function claimOf({ random, process }: Actor, { pendings }: Ticket, clock: number): Chunk | undefined {
  const tools = pendings.filter(({ kind }) => kind === 'client-tool')
  if (tools.length === 0) return undefined
  const until = clock + random.pick([200, 60_000, -5])
  return { type: 'tool-claimed', toolCallId: random.pick(tools).id, until, by: process.name }
}

/** Confirms a notification or claims it, sometimes one that is not pending. */
function notificationOf({ random, world }: Actor, notice: TicketNotice | undefined, clock: number): Chunk {
  const { runId = 'nothing', notifyBy = 0 } = notice ?? {}
  const offset = random.chance(0.1) ? 1 : 0
  const until = random.chance(0.5)
    ? { until: clock + random.pick(world.scheduleStore.clock ? [50, 500, -5] : [HOUR, -5]) }
    : {}
  return { type: 'run-notified', runId, notifyBy: notifyBy + offset, ...until }
}

const stopOf = ({ world }: Actor, runId: string): Chunk => {
  return { type: 'stop-requested', runId, reason: world.name('why') }
}

function runToStop({ random }: Actor, { run, requests, last }: Ticket): string {
  const candidates = [run?.runId, run?.runId, ...requests.map(({ runId }) => runId), last?.runId]
  return random.pick(candidates.filter(runId => runId !== undefined)) ?? 'nothing'
}
