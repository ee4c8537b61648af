// What a tab remembers of a conversation that was given no name: enough to find it after a reload.

/** How many are on the page of each place. */
const providers = new Map<string, number>()

/** Where the session of a chat without a name is remembered. */
export const storageKeyOf = (api = '/api', who = ''): string => `millrace ${api} ${who}`

/** The session that this tab had last; none on a server, where a page may keep nothing, or where somebody on the page has it. */
export function recall(place: string): string | undefined {
  if (providers.has(place)) return undefined
  try {
    return globalThis.sessionStorage?.getItem(place) ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a session for this tab, or forgets it. Of several on a page nobody could tell which is whose: none is kept. */
export function remember(place: string, session?: string): void {
  try {
    if (session === undefined || isShared(place)) globalThis.sessionStorage?.removeItem(place)
    else globalThis.sessionStorage?.setItem(place, session)
  } catch {
    // A page that may keep nothing begins anew when it is loaded again.
  }
}

/** Whether there are several of a place on the page. */
export const isShared = (place: string): boolean => (providers.get(place) ?? 0) > 1

/** One of a place is on the page, until the returned function is called. */
export function enter(place: string): () => void {
  providers.set(place, (providers.get(place) ?? 0) + 1)
  return () => {
    const left = (providers.get(place) ?? 0) - 1
    if (left > 0) providers.set(place, left)
    else providers.delete(place)
  }
}
