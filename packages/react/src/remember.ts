/** What a tab remembers of a conversation that was given no name: enough to find it after a reload. */
interface Place {
  readonly api?: string
  readonly agent?: string | undefined
  readonly workflow?: string | undefined
}

const nameOf = ({ api = '/api', agent, workflow }: Place): string => `millrace ${api} ${agent ?? workflow ?? ''}`

/** The session that this tab had last; none on a server, and none where a page may keep nothing. */
export function recall(place: Place): string | undefined {
  try {
    return globalThis.sessionStorage?.getItem(nameOf(place)) ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a session for this tab, or forgets it. */
export function remember(place: Place, session: string | undefined): void {
  try {
    if (session === undefined) globalThis.sessionStorage?.removeItem(nameOf(place))
    else globalThis.sessionStorage?.setItem(nameOf(place), session)
  } catch {
    // A page that may keep nothing begins anew when it is loaded again.
  }
}
