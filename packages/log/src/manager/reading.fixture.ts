import { type Entry, Fold, type View } from '@millrace/protocol'
import type { Reading } from '../read/reading.ts'
import { ID, lineOf, type World } from './manager-world.fixture.ts'
import type { ReadEntry, ReadFrom } from './stream-manager.ts'

/** Collects the batches of a reader until it ends. */
export function collect<T>(reading: AsyncIterable<T>): { items: T[]; done: Promise<void> } {
  const items: T[] = []
  const done = (async () => {
    for await (const item of reading) items.push(item)
  })()
  done.catch(() => {})
  return { items, done }
}

export const open = (world: World, options?: ReadFrom): Promise<Reading<ReadEntry>> =>
  world.manager.createResumableReader(ID, options)

export const read = async (world: World, options?: ReadFrom): Promise<string[]> => {
  const { items, done } = collect(await open(world, options))
  await done
  return items.map(lineOf)
}

/** An ended run with some text. */
export async function ended(world: World, runId = 'r1', text = 'hello') {
  const writer = await world.writer(runId)
  for (const letter of text) await writer.write({ type: 'data-letter', data: letter }).appended
  await world.manager.endStream(ID)
  await writer.close()
}

/** The view of some entries, folded by a client. */
export function foldOf(entries: readonly Entry[], through?: number): View {
  const fold = new Fold()
  fold.apply(entries, through)
  return fold.view()
}
