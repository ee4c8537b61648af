// A log with a text in every place that a store has, and a search for that text in the files of the store.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogStore } from '../store/log-store.ts'

const REMOVED_TEXT = 'a secret of Ann'

/** Writes a text into entries, a key, a snapshot, a blob, the ticket and the names of a new log. */
export async function writeEverywhere(store: LogStore, streamId: string, text = REMOVED_TEXT): Promise<void> {
  await store.create(streamId, text)
  const { version: ifVersion = '' } = (await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })) ?? {}
  const move = { ifVersion, next: { state: text, due: { at: null, program: text } } }
  const batch = { body: JSON.stringify([text, text.repeat(1000)]), count: 2 }
  await store.append(streamId, batch, { key: text, keep: false, nonce: 'guest' }, move)
  await store.putSnapshot(streamId, { sequence: 2, mark: 'guest', version: 1, body: text.repeat(500) }, 2)
  await store.putBlob(streamId, text, Buffer.from(text.repeat(2000)))
}

/** The files in a folder, and below it, that contain a text. */
export function filesWith(folder: string, text = REMOVED_TEXT): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(file => file.isFile())
    .map(file => join(file.parentPath, file.name))
    .filter(file => readFileSync(file).includes(text))
}
