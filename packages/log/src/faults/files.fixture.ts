// Schedules of one SQLite file that several processes share: killed in the midst of transactions, locked out by another, out of room.

import { DatabaseSync } from 'node:sqlite'
import type { Random } from '../chaos/random.fixture.ts'
import type { Actor } from './actor.fixture.ts'
import type { StoreSpec } from './spec.fixture.ts'
import type { Stage } from './stage.fixture.ts'
import type { Run } from './told.fixture.ts'

const pathOf = (stage: Stage): string => (stage.ground.spec as { path: string }).path

/** Asks the file for one number, beside the stores. */
function ask(stage: Stage, sql: string): number {
  const file = new DatabaseSync(pathOf(stage), { readOnly: true })
  try {
    return Object.values(file.prepare(sql).get() ?? {})[0] as number
  } finally {
    file.close()
  }
}

/** Whether somebody has the right to write to the file. */
export function isLocked(path: string): boolean {
  const file = new DatabaseSync(path, { timeout: 0 })
  try {
    file.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch {
    return true
  } finally {
    file.close()
  }
}

/** Several processes write large batches to one file; they are killed as they write, and the file is whole each time. */
export async function shared(stage: Stage, random: Random): Promise<void> {
  const runs = ['a', 'b', 'c'].map(name => stage.run(name))
  const writers = new Map<Run, Actor>()
  const hire = async (run: Run) => {
    const writer = await stage.actor({ plan: { bulk: random.pick([500, 20_000, 60_000]) } })
    await writer.order({ do: 'write', run, takeover: writers.has(run) })
    writers.set(run, writer)
  }
  const reading = await stage.actor()
  for (const run of runs) {
    await stage.read(run)
    await stage.read(run, reading)
    await hire(run)
  }
  for (let deaths = random.between(3, 4); deaths > 0; deaths--) {
    const run = random.pick(runs)
    const { sent } = stage.record(run)
    const to = sent.length + random.between(1, 12)
    await stage.until(`batch ${to} of ${run.streamId} is on its way`, () => sent.length >= to)
    const writer = writers.get(run) as Actor
    await writer.kill()
    stage.note(`${writer.tag} killed at batch ${to} of ${run.streamId}`)
    const checked = ask(stage, 'PRAGMA quick_check') as unknown
    if (checked !== 'ok') throw new Error(`the file is damaged: ${checked}`)
    await hire(run)
  }
  for (const run of runs) await stage.acked(run, 3)
}

/** Another process keeps the file locked, in the midst of a change, and lets it go or dies; the writers wait. */
export async function locked(stage: Stage, random: Random): Promise<void> {
  const runs = ['a', 'b'].map(name => stage.run(name))
  for (const run of runs) {
    const writer = await stage.actor()
    await stage.read(run)
    await stage.read(run, writer)
    await writer.order({ do: 'write', run, takeover: false })
    await stage.acked(run, 1)
  }
  // So long that the store itself gives up, and those who write try again.
  let isLong = random.chance(0.4)
  for (let locks = random.between(2, 3); locks > 0; locks--) {
    await stage.acked(random.pick(runs), random.between(1, 15))
    const locker = await stage.actor()
    const { length } = stage.events
    await locker.order({ do: 'lock', path: pathOf(stage) })
    await stage.until('the file is locked', () => stage.events.length > length)
    if (isLong) await stage.until('somebody gives up', () => stage.events.length > length + 1)
    const dies = random.chance(0.5)
    stage.note(`locked, ${isLong ? 'until somebody gave up' : 'for a moment'}, ${dies ? 'killed' : 'let go'}`)
    if (dies) await locker.kill()
    else await locker.order({ do: 'unlock' })
    isLong = false
    for (const run of runs) await stage.acked(run, 2)
  }
}

/** The file may not grow any more: who writes is told so, nothing is half there, and it goes on when there is room. */
export async function full(stage: Stage, random: Random): Promise<void> {
  const { store } = await stage.here()
  await store.create('ballast', null)
  await store.putBlob('ballast', 'hash', new Uint8Array(2 * 1024 * 1024))
  const run = stage.run()
  const maxPages = ask(stage, 'PRAGMA page_count') + random.between(5, 60)
  await stage.read(run)
  await stage.read(run, await stage.actor())
  const spec = { ...stage.ground.spec, maxPages } as StoreSpec
  const plan = { bulk: random.pick([200, 1500, 100_000]) }
  const writer = await stage.actor({ spec, plan })
  await writer.order({ do: 'write', run, takeover: false })
  await stage.until('the file is full', () => stage.events.length > 0)
  const [trouble] = stage.events
  if (trouble?.kind !== 'trouble' || !/no room left/.test(trouble.message)) {
    throw new Error(`a full file is told as ${JSON.stringify(trouble)}`)
  }
  if (ask(stage, 'PRAGMA page_count') > maxPages) throw new Error(`the file has more than ${maxPages} pages`)
  const how = random.pick(['freed', 'taken over', 'raised'] as const)
  stage.note(`full at ${maxPages} pages, then ${how}`)
  if (how === 'freed') {
    // What is free in the file can be used by everybody.
    await store.remove('ballast')
  } else if (how === 'taken over') {
    stage.allow(writer, 'fenced')
    const next = await stage.actor({ plan })
    await next.order({ do: 'write', run, takeover: true })
  } else {
    await writer.kill()
    const next = await stage.actor({ spec: { ...spec, maxPages: maxPages + 4096 } as StoreSpec, plan })
    await next.order({ do: 'write', run, takeover: true })
  }
  await stage.acked(run, 10)
  // It may not have noticed yet: what goes beside the log is not fenced, and finds no room.
  if (how === 'taken over') await writer.kill()
}
