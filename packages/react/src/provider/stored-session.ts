// Stores the session id of an unnamed chat per tab, so that a reload finds it.

/** Number of mounted providers by storage key. */
const providers = new Map<string, number>()

/** The storage key of an unnamed chat. */
export const storageKeyOf = (api = '/api', program = ''): string => `millrace ${api} ${program}`

/** The stored session id. Undefined on a server, without storage, or if another provider on the page uses the key. */
export function restoreSession(storageKey: string): string | undefined {
  if (providers.has(storageKey)) return undefined
  try {
    return globalThis.sessionStorage?.getItem(storageKey) ?? undefined
  } catch {
    return undefined
  }
}

/** Stores a session id, or removes it. With several providers of one key, none is stored. */
export function storeSession(storageKey: string, session?: string): void {
  try {
    if (session === undefined || isShared(storageKey)) globalThis.sessionStorage?.removeItem(storageKey)
    else globalThis.sessionStorage?.setItem(storageKey, session)
  } catch {
    // Without storage, a reload starts a new session.
  }
}

/** Whether several mounted providers use this key. */
export const isShared = (storageKey: string): boolean => (providers.get(storageKey) ?? 0) > 1

/** Registers a mounted provider. Returns a function that unregisters it. */
export function registerProvider(storageKey: string): () => void {
  providers.set(storageKey, (providers.get(storageKey) ?? 0) + 1)
  return () => {
    const count = (providers.get(storageKey) ?? 0) - 1
    if (count > 0) providers.set(storageKey, count)
    else providers.delete(storageKey)
  }
}
