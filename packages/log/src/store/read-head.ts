import type { LogStore, Page } from './log-store.ts'

/** Reads what a log is, without its entries; undefined where there is no such log. */
export const readHead = (store: LogStore, streamId: string): Promise<Page | undefined> =>
  store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
