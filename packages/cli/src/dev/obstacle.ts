import { LoadError } from './load-app.ts'
import type { Told } from './messages.ts'

/** What stands in the way of a child, in words for who started it. */
export function obstacleOf(error: unknown): Omit<Extract<Told, { type: 'failed' }>, 'type'> {
  if (error instanceof LoadError) return { obstacle: 'file', message: error.message }
  const causes = causesOf(error)
  const taken = causes.find(({ code, port }) => code === 'EADDRINUSE' && port !== undefined)
  if (taken) return { obstacle: 'port', message: messageOf(error), port: Number(taken.port) }
  // The words of the store itself say more than that it cannot be opened: here they are for who started it.
  // But that a package is not there says less than who wants it, and how to get it.
  const inner = causes.findLast(({ code }) => code !== 'ERR_MODULE_NOT_FOUND')
  const isStore = causes.some(({ code }) => code === 'store_unavailable')
  if (isStore) return { obstacle: 'store', message: `The store cannot be opened: ${inner?.message}` }
  return { obstacle: 'file', message: messageOf(error) }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function causesOf(error: unknown): readonly (Error & { readonly code?: unknown; readonly port?: unknown })[] {
  const causes: Error[] = []
  for (let e = error; e instanceof Error && causes.length < 10; e = e.cause) causes.push(e)
  return causes
}
