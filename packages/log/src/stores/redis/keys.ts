// Names of others (stream ids, owners, principals) are any text; what stands in a key or a record here is of safe letters alone, so that no brace
// can end a hash tag, no space can end a field, and no half of a surrogate pair can become the same bytes as another.

import { createHash } from 'node:crypto'
import { LogError } from '../../store/log-error.ts'

const SAFE = /^[\w.:@/-]+$/
const UNSAFE = /[^\w.:@/-]/g
const ESCAPED = /%([0-9a-f]{4})/g
/** What no other text is written as, and not empty: an empty hash tag is none, and an empty field says "nobody". */
const EMPTY = '%'

/** Writes any text with safe letters, each text its own way, never as the empty string. */
export function encodeName(text: string): string {
  if (SAFE.test(text)) return text
  return text === '' ? EMPTY : text.replace(UNSAFE, unit => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The text that was written. */
export function decodeName(name: string): string {
  if (name === EMPTY) return ''
  return name.includes('%') ? name.replace(ESCAPED, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))) : name
}

/** A name or nobody, as a field. */
export const encodeOptional = (text: string | null): string => (text === null ? '' : encodeName(text))

/** A field as a name or nobody. */
export const decodeOptional = (field: string): string | null => (field === '' ? null : decodeName(field))

/** Whether a cursor may name it. */
const isMark = (text: string): boolean => /^[\w-]+$/.test(text)

/** A mark, or what is nobody's. */
export const markOr = (text: string): string => (isMark(text) ? text : '')

/** Refuses a nonce that no cursor could name. */
export function checkNonce(nonce: string): void {
  if (isMark(nonce)) return
  const found = JSON.stringify(nonce.slice(0, 40))
  throw new LogError('invalid', `append: a nonce must be of letters, digits, _ and -, found ${found}`)
}

/** The keys of one log, in one slot. `record` is its channel, too. */
export interface LogKeys {
  /** A string: what every append changes (head.ts). A log that has none is not there. */
  readonly record: string
  /** A hash: what else the log is (head.ts). */
  readonly head: string
  /** A stream: a batch each, as `mark count body` under the id `last-timestamp`. */
  readonly batches: string
  /** A hash: a guest's key to `first last keep`. */
  readonly keys: string
  /** A sorted set: the keys that go when their entries are trimmed, by last sequence. */
  readonly trimmed: string
  /** A sorted set of the sequences that have a snapshot. */
  readonly places: string
  /** A hash: a sequence to `version mark body`. */
  readonly snapshots: string
  /** A hash: a hash to bytes. */
  readonly blobs: string
}

const SUFFIXES: LogKeys = {
  record: 'w',
  head: 'h',
  batches: 's',
  keys: 'k',
  trimmed: 'q',
  places: 'p',
  snapshots: 'n',
  blobs: 'b',
}

/** How keys are named under one prefix. */
export class Keys {
  readonly #prefix: string
  /** What the records of all logs match, for SCAN. */
  readonly pattern: string

  constructor(prefix: string) {
    if (/[{}]/.test(prefix))
      throw new LogError('invalid', 'redisStore: the prefix must hold no brace, which marks a slot')
    this.#prefix = prefix
    this.pattern = `${prefix.replace(/[*?[\]\\^]/g, '\\$&')}{*}:${SUFFIXES.record}`
  }

  record(streamId: string): string {
    return this.#key(encodeName(streamId), SUFFIXES.record)
  }

  batches(streamId: string): string {
    return this.#key(encodeName(streamId), SUFFIXES.batches)
  }

  head(streamId: string): string {
    return this.#key(encodeName(streamId), SUFFIXES.head)
  }

  /** The keys of a log, or of one that is being made apart under a name. */
  log(streamId: string, apart?: string): LogKeys {
    const tag = encodeName(streamId)
    const key = (suffix: string) => this.#key(tag, apart === undefined ? suffix : `${suffix}:${apart}`)
    const { record, head, batches, keys, trimmed, places, snapshots, blobs } = SUFFIXES
    return {
      record: key(record),
      head: key(head),
      batches: key(batches),
      keys: key(keys),
      trimmed: key(trimmed),
      places: key(places),
      snapshots: key(snapshots),
      blobs: key(blobs),
    }
  }

  /** The stream whose record is under this key. */
  streamOf(record: string): string {
    return decodeName(record.slice(this.#prefix.length + 1, -`}:${SUFFIXES.record}`.length))
  }

  /** A key of the indexes, which share a slot of their own. */
  index(name: string): string {
    return this.#key('index', name)
  }

  #key(tag: string, name: string): string {
    return `${this.#prefix}{${tag}}:${name}`
  }
}

/** How a program begins that goes on where memory has run out: it frees some, or lets who holds a log keep it. */
export const EVEN_FULL = '#!lua flags=allow-oom\n'

/** A Lua program, sent by its hash once the server knows it. */
export class Script {
  readonly text: string
  readonly sha: string

  constructor(text: string) {
    this.text = text
    this.sha = createHash('sha1').update(text).digest('hex')
  }
}
