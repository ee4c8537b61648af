import type { LogStore } from '@millrace/log'
import type { MillraceOptions } from '@millrace/server'

/** Whether a store is the memory of one process, which no other sees. */
export async function isMemory(store: MillraceOptions['store']): Promise<boolean> {
  if (store === undefined) return false
  if (typeof store === 'string') return /^memory:/i.test(store)
  // Of whichever copy of the package: its class says nothing here, but its name does.
  const opened: LogStore = await store
  return opened.constructor.name === 'MemoryStore'
}
