// Where sessions are: behind a server, or in a store that this process opens itself.

import { existsSync } from 'node:fs'
import type { ApiOptions } from '@millrace/client'
import { schemeOf } from '@millrace/log/internal'
import type { View } from '@millrace/protocol'
import type { App } from '@millrace/server'
import type { Call, Option } from '../command/command.ts'
import { stringOption } from '../command/parse-call.ts'
import { CommandError } from '../error/command-error.ts'

/** The server, if nothing is said: where `millrace dev` is. */
const DEFAULT_SERVER = 'http://127.0.0.1:4400'

/** The options by which a command is told where sessions are. */
export const sourceOptions: Readonly<Record<string, Option>> = {
  server: { value: 'URL', about: `the server that has the sessions: MILLRACE_SERVER, or ${DEFAULT_SERVER}` },
  store: { value: 'URL', about: 'the store itself, without a server: sqlite:.millrace/millrace.db' },
  principal: { value: 'NAME', about: 'with --store: whose sessions; those of nobody, if nothing is said' },
}

/** Where sessions are. */
export interface Source {
  /** What it is called, without what is secret in it. */
  readonly name: string
  /** How it is asked: a store speaks as a server does. */
  readonly options: ApiOptions
  /** What a session amounted to at a sequence; a server tells that only of the present. */
  viewAt?(sessionId: string, sequence: number): Promise<View>
  close(): Promise<void>
}

/** Opens what the options name; the environment may have a bearer token for the server, in `MILLRACE_TOKEN`. */
export async function openSource(call: Call): Promise<Source> {
  const server = stringOption(call, 'server')
  const store = stringOption(call, 'store')
  if (server !== undefined && store !== undefined) {
    throw new CommandError('usage', '--server, --store: expected one of them, not both')
  }
  if (store !== undefined) return storeSource(store, stringOption(call, 'principal'))
  if (stringOption(call, 'principal') !== undefined) {
    throw new CommandError('usage', '--principal: expected with --store; a server knows by MILLRACE_TOKEN who asks')
  }
  return serverSource(server ?? (process.env['MILLRACE_SERVER'] || DEFAULT_SERVER))
}

function serverSource(server: string): Source {
  const url = URL.parse(server)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandError('usage', `--server: expected a URL such as ${DEFAULT_SERVER}`)
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
  mustBeThere(store)
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
      // What is internal is in no recording.
      const { internal, ...view } = (await manager.view(sessionId, sequence)).view
      return view
    },
    close: () => app.close(),
  }
}

/** Throws where a URL names no store, or a file that would only be made now. */
function mustBeThere(store: string): void {
  let scheme: string
  try {
    scheme = schemeOf(store)
  } catch (error) {
    throw new CommandError('usage', `--store: ${error instanceof Error ? error.message : error}`)
  }
  if (!isPlain(store)) throw new CommandError('usage', `--store: its address cannot be read: ${WRITE_PLAINLY}`)
  if (scheme === 'memory') throw new CommandError('usage', '--store: a memory has no sessions but its own process’s')
  const path = store.slice('sqlite:'.length)
  if (scheme === 'sqlite' && !existsSync(path)) {
    throw new CommandError('not-found', `There is no file ${path}: is it the folder where the server was started?`)
  }
}

/** Whether it is beyond doubt where in a store's URL its credentials end: an `@` or `/` of a password may stand in it as it is. */
export function isPlain(store: string): boolean {
  if (isFile(store)) return true
  const url = URL.parse(store)
  return url !== null && !`${url.pathname}${url.search}${url.hash}`.includes('@')
}

/** What to do about a URL of which that cannot be told. */
export const WRITE_PLAINLY = 'write what is special in it in the way of URLs: %40 for @, %2F for /, %23 for #'

/** What a store is called: its URL without anything that may be secret; its scheme alone, where that cannot be told. */
export function nameOf(store: string): string {
  if (isFile(store)) return store
  const url = isPlain(store) ? URL.parse(store) : null
  if (url === null) return `${schemeOf(store)}:`
  return `${url.protocol}//${url.host}${/^\/[\w.-]*$/.test(url.pathname) ? url.pathname : ''}`
}

const isFile = (store: string): boolean => /^(sqlite|memory):/i.test(store)
