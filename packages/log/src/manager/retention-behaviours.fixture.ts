// Retention, removal, forks and rewinds, with their readers, on every store.

import { encodeCursor, foldLog } from '@millrace/protocol'
import fc from 'fast-check'
import { expect } from 'vitest'
import { StreamTruncatedError } from '../store/log-error.ts'
import { runs } from '../ticket/ticket-entries.fixture.ts'
import { delta, entriesOf, failure, lineOf, request } from './manager-world.fixture.ts'
import { type Behaviour, define, Watcher } from './managers-on-store.fixture.ts'
import { RandomSession, sessionActions } from './random-session.fixture.ts'
import type { StreamManager } from './stream-manager.ts'
import { expectTicketFromEntries } from './writer-behaviours.fixture.ts'

/** A run with this many steps, each with some text and a commit. */
async function run(manager: StreamManager, id: string, runId: string, steps: number): Promise<void> {
  const writer = await manager.createWriter(id, { runId, agentType: 'assistant' })
  for (let step = 1; step <= steps; step++) {
    writer.write(delta(`${runId} step ${step}`, `${step}`), { step })
    await writer.commit([], { step, closesStep: true })
  }
  await manager.endStream(id)
  await writer.close()
}

const headOf = async (manager: StreamManager, id: string): Promise<number> => (await manager.getInfo(id))?.head ?? 0
const textsOf = (lines: string[]) => lines.flatMap(line => /^text-delta \S+ (.*)/.exec(line)?.[1] ?? [])
const readAll = async (manager: StreamManager, id: string, options: object = {}): Promise<string[]> => {
  const watcher = new Watcher(await manager.createResumableReader(id, options))
  await watcher.done
  return watcher.items.map(lineOf)
}

export const retentionBehaviours: Behaviour[] = [
  define(
    'G4: a reader that has read past a discard gets it, by option as an error; a later reader gets the remaining entries',
    async harness => {
      const id = harness.id()
      const [here, there] = [await harness.process(), await harness.process()]
      const writer = await here.createWriter(id, { runId: 'r1', agentType: 'assistant' })
      writer.write(delta('step 1', '1'), { step: 1 })
      await writer.commit([], { step: 1, closesStep: true })
      await writer.write(delta('draft', '2'), { step: 2 }).appended
      const follower = new Watcher(await there.createResumableReader(id, { follow: true }))
      const thrown = new Watcher(await there.createResumableReader(id, { follow: true, onRetraction: 'throw' }))
      const head = writer.cursor.sequence
      const hasAll = (items: readonly { sequence: number }[]) => items.at(-1)?.sequence === head
      await Promise.all([follower.until(hasAll), thrown.until(hasAll)])
      expect(await here.cleanupToStep(id, 1, { minSequence: 0 })).toBe(1)
      await follower.until(items => items.some(({ chunk }) => chunk.type === 'step-discarded'))
      const error = await thrown.done.catch((error: unknown) => error)
      expect(error).toBeInstanceOf(StreamTruncatedError)
      expect(error).toMatchObject({ truncatedAtStep: 1, atSequence: head + 1 })
      await here.endStream(id)
      for (const manager of [here, there]) {
        for (const onRetraction of ['entry', 'throw'] as const) {
          const lines = await readAll(manager, id, { onRetraction })
          expect(textsOf(lines)).toEqual(['step 1'])
          expect(lines.join()).not.toContain('discard')
        }
      }
    },
  ),

  define('G4: a rewind keeps earlier turns and removes later runs', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process(), await harness.process()]
    await run(here, id, 'r0', 2)
    await run(here, id, 'r1', 3)
    await run(here, id, 'r2', 1)
    const head = await headOf(here, id)
    const follower = new Watcher(await there.createResumableReader(id, { follow: true }))
    const thrown = new Watcher(await there.createResumableReader(id, { follow: true, onRetraction: 'throw' }))
    const hasAll = (items: readonly { sequence: number }[]) => items.at(-1)?.sequence === head
    await Promise.all([follower.until(hasAll), thrown.until(hasAll)])
    expect(await there.cleanupToStep(id, 2, { runId: 'r1', nextRunId: 'r3' })).toMatchObject({ runId: 'r3' })
    await run(here, id, 'r3', 1)
    await follower.until(items => items.some(({ chunk }) => chunk.type === 'rewind'))
    const error = await thrown.done.catch((error: unknown) => error)
    expect(error).toMatchObject({ name: 'StreamTruncatedError', truncatedAtStep: 2, atSequence: head + 2 })
    const left = ['r0 step 1', 'r0 step 2', 'r1 step 1', 'r1 step 2', 'r3 step 1']
    for (const onRetraction of ['entry', 'throw'] as const) {
      expect(textsOf(await readAll(there, id, { onRetraction }))).toEqual(left)
    }
    const { view } = await there.view(id)
    expect(view.messages.flatMap(({ parts }) => parts.map(part => (part as { text: string }).text))).toEqual(left)
    await expectTicketFromEntries(there, id)
  }),

  define('discarding drafts after a step keeps earlier turns, whatever their step numbers', async harness => {
    const id = harness.id()
    const manager = await harness.process()
    await run(manager, id, 'r1', 3)
    const minSequence = await headOf(manager, id)
    const writer = await manager.createWriter(id, { runId: 'r2', agentType: 'assistant' })
    await writer.write(delta('half', '1'), { step: 1 }).appended
    await writer.close()
    const other = await harness.process()
    expect(await other.cleanupToStep(id, 0, { minSequence })).toBe(1)
    await other.endStream(id)
    expect(textsOf(await readAll(other, id))).toEqual(['r1 step 1', 'r1 step 2', 'r1 step 3'])
    await expectTicketFromEntries(other, id)
  }),

  define('a fork continues independently and survives the removal of its source', async harness => {
    const [id, copy] = [harness.id(), harness.id('copy')]
    const [here, there] = [await harness.process({ blobBytes: 100 }), await harness.process()]
    const writer = await here.createWriter(id, { runId: 'r1', agentType: 'assistant' })
    writer.write(delta('shared'))
    await writer.commit([{ type: 'run-context', context: 'x'.repeat(500) }])
    await here.snapshot(id)
    await there.append(id, 'ada', request('q', { whenBusy: 'queue' }))
    const head = await headOf(here, id)
    await there.forkStream(id, head, copy, 'ada')
    expect((await harness.lines(there, copy)).slice(head)).toEqual(['fork: stop-requested', 'abort', 'run-finished'])
    await expectTicketFromEntries(there, copy)
    await here.endStream(id)
    await there.deleteStream(id)
    expect(await here.getInfo(copy)).toMatchObject({ status: 'ended', principal: 'ada', lease: null })
    const context = (await entriesOf(here.store, copy)).find(({ blobs }) => blobs)
    expect((await here.resolve(copy, context as NonNullable<typeof context>)).chunk).toMatchObject({
      context: 'x'.repeat(500),
    })
    await run(here, copy, 'r2', 1)
    expect(textsOf(await readAll(there, copy))).toEqual(['shared', 'r2 step 1'])
    expect(await failure(here.forkStream(copy, 1, copy))).toBe('exists')
  }),

  define('law 7: no run is open in a fork made at any sequence', async harness => {
    const [id, manager] = [harness.id(), await harness.process()]
    await manager.createStream(id)
    for (const runId of ['r1', 'r2']) await manager.append(id, 'ada', request(runId, { whenBusy: 'queue' }))
    for (const runId of ['r1', 'r2']) await run(manager, id, runId, 1)
    await manager.append(id, 'ada', request('r3', { cut: { toSequence: 2, reason: 'edit' } }))
    await run(manager, id, 'r3', 1)
    const head = await headOf(manager, id)
    for (let at = 0; at <= head; at++) {
      const copy = harness.id(`copy${at}`)
      await manager.forkStream(id, at, copy)
      const { view, ticket } = await manager.view(copy)
      expect(view.runs.filter(({ status }) => status === 'running' || status === 'paused')).toEqual([])
      expect(view.requests.filter(({ status }) => status === 'waiting')).toEqual([])
      expect(view.runs.map(({ runId }) => runId)).toEqual(['r1', 'r2', 'r3'].slice(0, view.runs.length))
      expect(ticket).toMatchObject({ run: null, requests: [] })
      await expectTicketFromEntries(manager, copy)
    }
  }),

  define(
    'law 2: a cursor into a restored, removed or recreated log is rejected and reads no foreign entries',
    async harness => {
      for (const end of ['restored', 'removed', 'again'] as const) {
        const id = harness.id(end)
        const [here, there] = [await harness.process(), await harness.process()]
        await run(here, id, 'r1', 2)
        const { cursor } = await here.view(id, 3)
        const waiting = new Watcher(await there.createResumableReader(id, { follow: true }))
        const head = await headOf(here, id)
        await waiting.until(items => items.at(-1)?.sequence === head)
        if (end === 'restored') await here.store.restored()
        else await here.deleteStream(id)
        if (end === 'again') await run(here, id, 'stranger', 3)
        expect(await waiting.done.catch((error: unknown) => error)).toMatchObject({ code: 'truncated' })
        expect(waiting.items.at(-1)?.sequence).toBe(head)
        const back = await there.createResumableReader(id, { after: encodeCursor(cursor) })
        expect(await back.next().catch((error: unknown) => error)).toMatchObject({
          code: 'truncated',
          reason: 'incarnation',
        })
      }
    },
  ),

  define('law 12: a trim keeps needed entries, and rejects readers below the floor', async harness => {
    const id = harness.id()
    const [here, there] = [await harness.process(), await harness.process()]
    await there.createStream(id)
    await there.append(id, 'ada', request('r1'))
    await run(here, id, 'r1', 2)
    const { view, cursor } = await here.view(id)
    const { cursor: early } = await here.view(id, 3)
    const floor = await there.trimStream(id, { maxEntries: 0 })
    expect(floor).toBe(cursor.sequence)
    expect(await failure((await here.createResumableReader(id)).next())).toBe('truncated')
    const below = await here.createResumableReader(id, { after: encodeCursor(early) })
    expect(await below.next().catch((error: unknown) => error)).toMatchObject({ reason: 'below-floor', floor })
    expect((await here.view(id)).view).toEqual(view)
    // The key of a request survives its entry.
    expect(await here.append(id, 'bob', request('r1'))).toMatchObject({ outcome: 'duplicate', first: 1 })
    const writer = await here.createWriter(id, { runId: 'r2', agentType: 'assistant' })
    await writer.write(delta('open')).appended
    expect(await there.trimStream(id, { maxEntries: 0, maxAgeMs: 0 })).toBe(floor)
    const rest = new Watcher(await there.createResumableReader(id, { after: encodeCursor(cursor) }))
    await here.endStream(id)
    await rest.done
    expect(rest.items.map(lineOf)).toEqual(['run-started', 'text-delta 1 open', 'finish', 'run-finished'])
  }),

  define(
    'lists the logs of a principal page by page, last touched first; a deletion removes everything of a log',
    async harness => {
      const [here, there] = [await harness.process(), await harness.process()]
      const principal = harness.id('principal')
      const ids = Array.from({ length: 5 }, (_, i) => harness.id(`s${i}`))
      for (const id of ids) await here.createStream(id, principal)
      const last = await here.getInfo(ids[4] as string)
      await harness.until(async () => ((await here.getInfo(ids[4] as string))?.clock ?? 0) > (last?.clock ?? 0))
      await run(here, ids[1] as string, 'r1', 1)
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await there.listStreams(principal, { limit: 2, ...(after !== undefined && { after }) })
        expect(page.streams.length).toBeLessThanOrEqual(2)
        seen.push(...page.streams.map(({ streamId, status }) => `${streamId} ${status}`))
        after = page.next ?? undefined
      } while (after !== undefined)
      expect(seen[0]).toBe(`${ids[1]} ended`)
      expect([...seen].sort()).toEqual(ids.map((id, i) => `${id} ${i === 1 ? 'ended' : 'active'}`).sort())
      expect(await there.expireStream(ids[1] as string, 3_600_000)).toBe(false)
      expect(await there.expireStream(ids[1] as string, 0)).toBe(true)
      expect(await here.deleteStream(ids[1] as string)).toBe(false)
      expect(await here.getInfo(ids[1] as string)).toBeNull()
      expect((await here.listStreams(principal)).streams).toHaveLength(4)
    },
  ),

  define('laws 5 and 12: the ticket and the view follow from the entries after any operations', async harness => {
    let count = 0
    await fc.assert(
      fc.asyncProperty(sessionActions, async actions => {
        const id = harness.id(`session${count++}`)
        const manager = await harness.process({ coalesceMs: 0 })
        const session = new RandomSession(manager, id)
        await session.apply(actions.slice(0, 30))
        await expectTicketFromEntries(manager, id)
        const log = await entriesOf(manager.store, id)
        const { view } = await manager.view(id)
        expect(JSON.stringify(view)).toBe(JSON.stringify(foldLog(log).view()))
        await session.release()
      }),
      { numRuns: runs(3) },
    )
  }),
]
