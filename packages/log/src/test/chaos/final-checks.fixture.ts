// Checks of all logs at the end of a schedule.

import { type Entry, foldLog, type View } from '@millrace/protocol'
import { StreamManager } from '../../manager/stream-manager.ts'
import { LogError } from '../../store/log-error.ts'
import type { LogStore } from '../../store/log-store.ts'
import { dueOf } from '../../ticket/ticket.ts'
import { UNKNOWN_PROGRAM } from './driver-actor.fixture.ts'
import { canonical, contentOf, contentOfView } from './log-model.fixture.ts'
import type { LogRecord } from './log-record.fixture.ts'
import { checkContent, type ReaderMemory } from './reader-actor.fixture.ts'
import { excerptOf, same, type World } from './schedule-world.fixture.ts'

export async function finalChecks(world: World, store: LogStore, readers: readonly ReaderMemory[]): Promise<void> {
  const manager = new StreamManager({ store, blobBytes: 128 })
  for (const log of world.logs.values()) {
    await log.verify(store)
    checkNoWorkLeft(world, log)
    await checkViews(world, manager, log)
    await checkBlobs(world, manager, log)
  }
  for (const log of [...world.removed, ...world.logs.values()]) {
    checkFold(world, log)
    checkEnds(world, log)
    checkStopsKeepText(world, log)
  }
  for (const memory of readers) checkReadAll(world, memory)
}

/** No work is left: runs wait only for answers, or for a program that no driver has. */
function checkNoWorkLeft(world: World, { streamId, ticket }: LogRecord): void {
  const { run, requests, pendings } = ticket
  const { at, program } = dueOf(ticket)
  const isBlocked = program === UNKNOWN_PROGRAM
  world.check(at !== 'now' || isBlocked, 'quiet', () => `${streamId} stays due: ${excerptOf(ticket)}`)
  const isWaiting = run?.paused && pendings.length > 0
  world.check(
    run === null || isWaiting || isBlocked,
    'quiet',
    () => `no driver continues the run of ${streamId}: ${excerptOf(ticket)}`,
  )
  const waits = run === null && requests.length > 0
  world.check(!waits || isBlocked, 'quiet', () => `no driver starts the requests of ${streamId}: ${excerptOf(ticket)}`)
}

/** The view of the manager, from snapshots or not, equals the fold of the whole log. */
async function checkViews(world: World, manager: StreamManager, log: LogRecord): Promise<void> {
  const { streamId, floor, head } = log
  for (const at of new Set([head, floor, Math.floor((floor + head) / 2)])) {
    let storedView: View
    try {
      storedView = (await manager.view(streamId, at)).view
    } catch (error) {
      // A rewind may lead to a sequence before the oldest snapshot of a trimmed log.
      const isExpected = error instanceof LogError && error.code === 'truncated' && at < head && floor > 0
      world.check(isExpected, 'law 12', () => `no view of ${streamId} at ${at}, floor ${floor}: ${error}`)
      continue
    }
    const foldedView = foldLog(log.entries.slice(0, at)).view()
    world.check(same(storedView, foldedView), 'law 12', () => {
      return `the view of ${streamId} at ${at} differs from its fold: ${difference(storedView, foldedView)}`
    })
  }
}

/** Every blob that the entries name exists. */
async function checkBlobs(world: World, manager: StreamManager, log: LogRecord): Promise<void> {
  for (const entry of log.entries) {
    if (!entry.blobs || entry.sequence <= log.floor) continue
    const { chunk } = await manager.resolve(log.streamId, entry as Entry)
    const { toolCallId, output } = chunk as { toolCallId?: string; output?: unknown }
    const isRight = typeof output === 'string' && output.startsWith(toolCallId as string)
    world.check(isRight, 'law 6', () => `the blob of ${entry.sequence} in ${log.streamId} is ${excerptOf(output)}`)
  }
}

/** The fold equals the simple model, which has no drafts and no inverses. */
function checkFold(world: World, log: LogRecord): void {
  const view = foldLog(log.entries).view()
  const [fold, naive] = [contentOfView(view), contentOf(log.entries)]
  world.check(canonical(fold) === canonical(naive), 'law 3', () => {
    return `${log.streamId} shows ${difference(fold, naive)}`
  })
}

/** Each started run has ended or is open. */
function checkEnds(world: World, log: LogRecord): void {
  for (const runId of log.laws.started.keys()) {
    const isEndedOrOpen = log.laws.finished.has(runId) || log.ticket.run?.runId === runId
    world.check(isEndedOrOpen, 'law 7', () => `run ${runId} of ${log.streamId} has not ended and is not open`)
  }
}

/** A stop keeps the text that was shown. */
function checkStopsKeepText(world: World, log: LogRecord): void {
  for (const { runId, at } of log.laws.lastingStops) {
    const end = log.laws.finished.get(runId)
    if (end === undefined) continue
    const before = foldLog(log.entries.slice(0, at)).view()
    const after = foldLog(log.entries.slice(0, end)).view()
    for (const { id, parts } of before.messages.filter(message => message.runId === runId)) {
      const kept = after.messages.find(message => message.id === id)?.parts ?? []
      for (const part of parts) {
        if (part.type !== 'text' && part.type !== 'reasoning') continue
        const { text = '' } = (kept.find(({ key }) => key === part.key) ?? {}) as { text?: string }
        world.check(text.startsWith(part.text), 'law 5', () => {
          return `${excerptOf(part)} was shown when ${runId} was stopped at ${at}, and is missing at the end`
        })
      }
    }
  }
}

/** Every live reader has read to the head. */
function checkReadAll(world: World, memory: ReaderMemory): void {
  const { kind, streamId, sequence, cursor } = memory
  const log = world.logs.get(streamId)
  if (log === undefined || kind === 'run' || kind === 'entries' || cursor === undefined) return
  world.check(sequence === log.head, 'law 2', () => `a ${kind} reader of ${streamId} is at ${sequence} of ${log.head}`)
  checkContent(world, memory, log.entries.slice(0, sequence))
}

/** The first fields in which two values differ. */
function difference(a: unknown, b: unknown, path = ''): string {
  if (canonical(a) === canonical(b)) return `${path}: only the order of fields`
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
  if (isObject(a) && isObject(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    const key = keys.find(key => canonical(a[key] ?? null) !== canonical(b[key] ?? null))
    if (key !== undefined) return difference(a[key], b[key], `${path}/${key}`)
  }
  return `${path}: ${excerptOf(a)}, expected ${excerptOf(b)}`
}
