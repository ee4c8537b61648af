import type { LogStore, Page } from './log-store.ts'

/** Reads a log's state without its entries. Returns undefined if the log does not exist. */
export const readHead = (store: LogStore, streamId: string): Promise<Page | undefined> =>
  store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
