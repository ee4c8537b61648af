import type { ApiOptions } from './api.ts'
import { createConnection, type PageConnection } from './page-connection.ts'

/** By which options two who ask are the same: values by what they say, functions by which they are. */
const keyOf = ({ api = '/api', headers, credentials = 'same-origin', fetch }: ApiOptions): readonly unknown[] => [
  api.replace(/\/+$/, ''),
  typeof headers === 'function' ? headers : JSON.stringify([...new Headers(headers)]),
  credentials,
  fetch,
]

let shared: { readonly key: readonly unknown[]; readonly connection: WeakRef<PageConnection> }[] = []

/** The page's one connection to a server: whoever asks in the same way gets the same, for as long as anybody has it. */
export function sharedConnection(options: ApiOptions): PageConnection {
  const key = keyOf(options)
  shared = shared.filter(({ connection }) => connection.deref())
  const known = shared.find(other => other.key.every((value, n) => value === key[n]))?.connection.deref()
  if (known) return known
  const { api, headers, credentials, fetch } = options
  const connection = createConnection({ api, headers, credentials, fetch } as ApiOptions)
  shared.push({ key, connection: new WeakRef(connection) })
  return connection
}
