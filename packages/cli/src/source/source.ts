// The source of sessions: a server, or a store that this process opens.

import { existsSync } from 'node:fs'
import type { ApiOptions } from '@millrace/client'
import { schemeOf } from '@millrace/log/internal'
import type { View } from '@millrace/protocol'
import type { App } from '@millrace/server'
import type { Option, ParsedArguments } from '../command/command.ts'
import { stringOption } from '../command/parse-arguments.ts'
import { CommandError } from '../error/command-error.ts'

/** The default server: `millrace dev`. */
const DEFAULT_SERVER = 'http://127.0.0.1:4400'

/** The options that select the source. */
export const sourceOptions: Readonly<Record<string, Option>> = {
  server: { value: 'URL', about: `server (default: MILLRACE_SERVER, or ${DEFAULT_SERVER})` },
  store: { value: 'URL', about: 'store to read without a server, such as sqlite:.millrace/millrace.db' },
  principal: { value: 'NAME', about: 'with --store: owner of the sessions (default: sessions without an owner)' },
}

/** A source of sessions. */
export interface Source {
  /** Its display name, without secrets. */
  readonly name: string
  /** The request options. A store is used through an in-process server. */
  readonly options: ApiOptions
  /** The view of a session at a sequence. A server has only the current view. */
  viewAt?(sessionId: string, sequence: number): Promise<View>
  close(): Promise<void>
}

/** Opens the source of the options. `MILLRACE_TOKEN` is the bearer token for a server. */
export async function openSource(args: ParsedArguments): Promise<Source> {
  const server = stringOption(args, 'server')
  const store = stringOption(args, 'store')
  if (server !== undefined && store !== undefined) {
    throw new CommandError('usage', 'expected --server or --store, found both')
  }
  if (store !== undefined) return storeSource(store, stringOption(args, 'principal'))
  if (stringOption(args, 'principal') !== undefined) {
    throw new CommandError(
      'usage',
      '--principal: expected only with --store; with a server, MILLRACE_TOKEN identifies the user',
    )
  }
  return serverSource(server ?? (process.env['MILLRACE_SERVER'] || DEFAULT_SERVER))
}

function serverSource(server: string): Source {
  const url = URL.parse(server)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandError('usage', `--server: expected an http or https URL such as ${DEFAULT_SERVER}`)
  }
  const token = process.env['MILLRACE_TOKEN']
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api$/, '')}`
  return {
    name: base,
    options: { api: `${base}/api`, ...(token && { headers: { authorization: `Bearer ${token}` } }) },
    close: async () => {},
  }
}

async function storeSource(store: string, principal: string | undefined): Promise<Source> {
  assertStoreExists(store)
  const { millrace } = await import('@millrace/server')
  const app: App = millrace({
    store,
    engine: false,
    logger: { warn() {}, error() {} },
    ...(principal !== undefined && { authorize: () => principal }),
  })
  return {
    name: nameOf(store),
    options: {
      api: 'http://localhost/api',
      fetch: (input, init) => app.fetch(new Request(input, init)),
    },
    async viewAt(sessionId, sequence) {
      const { manager } = await app.runtime()
      const { streamId = sessionId } = (await manager.findSession(principal ?? null, sessionId)) ?? {}
      // Recordings have no internal entries.
      const { internal, ...view } = (await manager.view(streamId, sequence)).view
      return view
    },
    close: () => app.close(),
  }
}

/** @throws CommandError if a URL is not that of a store, or of a file that does not exist. */
function assertStoreExists(store: string): void {
  let scheme: string
  try {
    scheme = schemeOf(store)
  } catch (error) {
    throw new CommandError('usage', `--store: ${error instanceof Error ? error.message : error}`)
  }
  if (!hasPlainCredentials(store)) throw new CommandError('usage', `--store: expected a valid URL: ${CREDENTIALS_HINT}`)
  if (scheme === 'memory')
    throw new CommandError('usage', '--store: a memory store cannot be read from another process: use --server')
  const path = store.slice('sqlite:'.length)
  if (scheme === 'sqlite' && !existsSync(path)) {
    throw new CommandError(
      'not-found',
      `There is no file ${path}: run this in the folder where the server was started.`,
    )
  }
}

/** Whether the credentials in a store URL are unambiguous: a password may contain an unescaped `@` or `/`. */
export function hasPlainCredentials(store: string): boolean {
  if (isFile(store)) return true
  const url = URL.parse(store)
  return url !== null && !`${url.pathname}${url.search}${url.hash}`.includes('@')
}

/** The hint for a URL with ambiguous credentials. */
export const CREDENTIALS_HINT = 'percent-encode special characters in the credentials: %40 for @, %2F for /, %23 for #'

/** The display name of a store: its URL without secrets, or only its scheme if the credentials are ambiguous. */
export function nameOf(store: string): string {
  if (isFile(store)) return store
  const url = hasPlainCredentials(store) ? URL.parse(store) : null
  if (url === null) return `${schemeOf(store)}:`
  return `${url.protocol}//${url.host}${/^\/[\w.-]*$/.test(url.pathname) ? url.pathname : ''}`
}

const isFile = (store: string): boolean => /^(sqlite|memory):/i.test(store)
