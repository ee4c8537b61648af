import type { ApiOptions } from './api.ts'
import { createConnection, type PageConnection } from './connection.ts'

const NAMES = ['api', 'headers', 'credentials', 'fetch'] as const

let shared: readonly { readonly options: ApiOptions; readonly connection: PageConnection }[] = []

/** The page's one connection to a server: whoever asks in the same way gets the same. */
export function sharedConnection(options: ApiOptions): PageConnection {
  const known = shared.find(other => NAMES.every(name => other.options[name] === options[name]))
  if (known) return known.connection
  const connection = createConnection(Object.fromEntries(NAMES.map(name => [name, options[name]])))
  // One that nobody follows anything on is as good as a new one.
  shared = [...shared.filter(other => other.connection.size > 0), { options, connection }]
  return connection
}
