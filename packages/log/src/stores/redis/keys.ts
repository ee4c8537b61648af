// Names from callers (stream ids, owners, principals) are any text. In keys and records here they are encoded with
// safe characters only, so that no brace ends a hash tag, no space ends a field, and no lone surrogate becomes the
// same bytes as another.

import { createHash } from 'node:crypto'
import { LogError } from '../../store/log-error.ts'

const SAFE = /^[\w.:@/-]+$/
const UNSAFE = /[^\w.:@/-]/g
const ESCAPED = /%([0-9a-f]{4})/g
/**
 * The encoding of the empty string. It is not empty: an empty hash tag does not count, and an empty field means null.
 */
const EMPTY = '%'

/** Encodes any text with safe characters. Injective, and never empty. */
export function encodeName(text: string): string {
  if (SAFE.test(text)) return text
  return text === '' ? EMPTY : text.replace(UNSAFE, unit => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Decodes a name. */
export function decodeName(name: string): string {
  if (name === EMPTY) return ''
  return name.includes('%') ? name.replace(ESCAPED, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))) : name
}

/** Encodes a name or null as a field. */
export const encodeOptional = (text: string | null): string => (text === null ? '' : encodeName(text))

/** Decodes a field as a name or null. */
export const decodeOptional = (field: string): string | null => (field === '' ? null : decodeName(field))

/** Whether a cursor can contain it. */
const isMark = (text: string): boolean => /^[\w-]+$/.test(text)

/** The text if it is a mark, otherwise the empty string, which matches no epoch. */
export const markOr = (text: string): string => (isMark(text) ? text : '')

/** @throws LogError `invalid` for a nonce that no cursor can contain. */
export function checkNonce(nonce: string): void {
  if (isMark(nonce)) return
  const found = JSON.stringify(nonce.slice(0, 40))
  throw new LogError('invalid', `nonce: expected letters, digits, _ and -, found ${found}`)
}

/** The keys of one log, in one slot. `record` is also its channel. */
export interface LogKeys {
  /** A string: the fields that every append changes (head.ts). A log exists if its record does. */
  readonly record: string
  /** A hash: the other fields of the log (head.ts). */
  readonly head: string
  /** A stream: one batch each, as `mark count body` under the id `last-timestamp`. */
  readonly batches: string
  /** A hash: a guest's key to `first last keep`. */
  readonly keys: string
  /** A sorted set: the keys that are dropped when their entries are trimmed, by last sequence. */
  readonly trimmed: string
  /** A sorted set of the sequences with a snapshot. */
  readonly snapshotIndex: string
  /** A hash: a sequence to `version mark body`. */
  readonly snapshots: string
  /** A hash: a blob's hash to its bytes. */
  readonly blobs: string
}

const SUFFIXES: LogKeys = {
  record: 'w',
  head: 'h',
  batches: 's',
  keys: 'k',
  trimmed: 'q',
  snapshotIndex: 'p',
  snapshots: 'n',
  blobs: 'b',
}

/** The names of keys under one prefix. */
export class Keys {
  readonly #prefix: string
  /** Pattern of the records of all logs, for SCAN. */
  readonly pattern: string

  constructor(prefix: string) {
    if (/[{}]/.test(prefix)) throw new LogError('invalid', 'prefix: expected no braces, which mark a hash slot')
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

  /** The keys of a log. With `copyName`, the temporary keys of a copy that becomes this log. */
  log(streamId: string, copyName?: string): LogKeys {
    const tag = encodeName(streamId)
    const key = (suffix: string) => this.#key(tag, copyName === undefined ? suffix : `${suffix}:${copyName}`)
    const { record, head, batches, keys, trimmed, snapshotIndex, snapshots, blobs } = SUFFIXES
    return {
      record: key(record),
      head: key(head),
      batches: key(batches),
      keys: key(keys),
      trimmed: key(trimmed),
      snapshotIndex: key(snapshotIndex),
      snapshots: key(snapshots),
      blobs: key(blobs),
    }
  }

  /** The stream of a record's key. */
  streamOf(record: string): string {
    return decodeName(record.slice(this.#prefix.length + 1, -`}:${SUFFIXES.record}`.length))
  }

  /** A key of the indexes, which share one slot. */
  index(name: string): string {
    return this.#key('index', name)
  }

  #key(tag: string, name: string): string {
    return `${this.#prefix}{${tag}}:${name}`
  }
}

/** First line of a script that may run when memory is full: it frees memory, or keeps a log's lease. */
export const ALLOW_OOM = '#!lua flags=allow-oom\n'

/** A Lua script, sent by its hash once the server knows it. */
export class Script {
  readonly text: string
  readonly sha: string

  constructor(text: string) {
    this.text = text
    this.sha = createHash('sha1').update(text).digest('hex')
  }
}
