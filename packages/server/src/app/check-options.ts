// Validates options at construction, for callers without TypeScript.

import { schemeOf } from '@millrace/log/internal'
import { isObject } from '@millrace/protocol/internal'
import type { MillraceOptions } from './options.ts'

const NAMES: Readonly<Record<keyof MillraceOptions, true>> = {
  agents: true,
  authorize: true,
  backoff: true,
  basePath: true,
  blockedAfterMs: true,
  context: true,
  cors: true,
  engine: true,
  limits: true,
  log: true,
  logger: true,
  maxTakeovers: true,
  modelLimits: true,
  observers: true,
  onError: true,
  resolveContext: true,
  retention: true,
  static: true,
  store: true,
  stream: true,
  telemetry: true,
  timers: true,
  workflows: true,
}

/** @throws `TypeError` for invalid or unknown options, which would otherwise be ignored silently */
export function checkOptions(options: MillraceOptions): void {
  checkKnownKeys('', options, NAMES)
  for (const name of ['authorize', 'context', 'onError'] as const) {
    const value = options[name]
    if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name}: expected a function`)
  }
  const { store, cors, static: files } = options
  if (store !== undefined) checkStore(store)
  if (cors !== undefined) checkCors(cors)
  if (files !== undefined) checkFiles(files)
}

function checkStore(store: unknown): void {
  if (typeof store === 'string') {
    schemeOf(store)
    return
  }
  // The result of a promise is checked when it resolves.
  const { append, then } = isObject(store) ? store : {}
  if (typeof append === 'function' || typeof then === 'function') return
  throw new TypeError('store: expected a store, a promise of one, or a store URL')
}

/** An origin as browsers send it. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#@\s*]+$/i

function checkCors(cors: unknown): void {
  if (!isObject(cors)) throw new TypeError('cors: expected { origins, credentials? }')
  checkKnownKeys('cors.', cors, { origins: true, credentials: true })
  const { origins, credentials = false } = cors
  if (typeof credentials !== 'boolean') throw new TypeError('cors.credentials: expected true or false')
  if (typeof origins === 'function') return
  if (!Array.isArray(origins)) throw new TypeError('cors.origins: expected a list of origins, or a function')
  const wrong = origins.findIndex(origin => typeof origin !== 'string' || !ORIGIN.test(origin))
  if (wrong < 0) return
  const found = JSON.stringify(origins[wrong])
  throw new TypeError(`cors.origins.${wrong}: expected an origin such as https://app.example.com, found ${found}`)
}

function checkFiles(files: unknown): void {
  const { folder, headers = {} } = typeof files === 'string' ? { folder: files } : isObject(files) ? files : {}
  if (typeof folder !== 'string' || folder === '')
    throw new TypeError('static: expected a folder, or { folder, headers? }')
  if (isObject(files)) checkKnownKeys('static.', files, { folder: true, headers: true })
  if (isObject(headers) && Object.values(headers).every(value => typeof value === 'string')) return
  throw new TypeError('static.headers: expected an object with string values')
}

function checkKnownKeys(path: string, found: object, known: Readonly<Record<string, true>>): void {
  for (const name of Object.keys(found)) {
    if (!Object.hasOwn(known, name)) throw new TypeError(`${path}${name}: unknown option: remove it`)
  }
}
