// One connection to a file of logs, and its prepared statements. It handles transactions and knows nothing of logs.

import { closeSync, openSync, statSync } from 'node:fs'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LogError } from '../../store/log-error.ts'
import { addMissingColumns, addMissingIndex, checkSchema, createSchema } from './schema.ts'

export interface FileOptions {
  readonly path: string
  /**
   * `full`: every commit is on disk before it is answered. `normal`: a power cut may lose the last commits, a process
   * crash none.
   */
  readonly durability: 'normal' | 'full'
  /** Maximum size of the file, in pages of 4096 bytes. */
  readonly maxPages?: number
  /** Size of the write-ahead log at which a checkpoint runs, and to which the next write shrinks it, in bytes. */
  readonly walBytes: number
}

/** An open file of logs. Rows are arrays, which are cheaper than objects. */
export class LogFile {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  /** Opens a file, and creates it if necessary. Waits `busyTimeoutMs` ms while it is locked, here and later. */
  constructor({ path, durability, maxPages, walBytes }: FileOptions, busyTimeoutMs: number) {
    const db = openDatabase(path)
    this.#db = db
    try {
      db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
      const schema = checkSchema(db)
      db.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL')
      // The worker runs checkpoints, so that no append pays for one. On macOS, `fullfsync` makes an fsync reach the
      // disk.
      db.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = ${durability}; PRAGMA fullfsync = ON`)
      // A write-ahead log that readers or a large write have extended shrinks when it restarts.
      db.exec(`PRAGMA journal_size_limit = ${walBytes}`)
      // Deleted text is overwritten with zeros, so that a removed log leaves nothing in the file.
      db.exec('PRAGMA secure_delete = ON')
      if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${maxPages}`)
      if (schema === 'empty') createSchema(db)
      addMissingColumns(db)
      addMissingIndex(db)
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** The first row, if any. */
  row<T extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#prepare(sql).get(...values) as T | undefined
  }

  /** All rows, as an iterator. */
  rows<T extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Iterable<T> {
    return this.#prepare(sql).iterate(...values) as unknown as Iterable<T>
  }

  /** Runs a statement and returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes)
  }

  /** Runs the body as one transaction. */
  transaction<T>(kind: 'read' | 'write', body: () => T): T {
    this.#prepare(kind === 'write' ? 'BEGIN IMMEDIATE' : 'BEGIN').run()
    try {
      const result = body()
      this.#prepare('COMMIT').run()
      return result
    } catch (error) {
      // Some failures (disk full, disk error) have rolled back already.
      if (this.#db.isTransaction) this.#prepare('ROLLBACK').run()
      throw error
    }
  }

  /** A number that changes when another connection, of any process, commits. */
  dataVersion(): number {
    return this.row<[number]>('PRAGMA data_version')?.[0] as number
  }

  close(): void {
    this.#db.close()
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      statement.setReturnArrays(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/** Size of the write-ahead log of a file, in bytes. */
export function walBytesOf(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

/** Loads SQLite on first use: an older Node warns about it, and another runtime may not have it. */
function openDatabase(path: string): DatabaseSync {
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (sqlite === undefined) {
    throw new LogError('unavailable', 'this runtime has no node:sqlite: use Node 22.18 or newer, or another store')
  }
  createPrivateFile(path)
  return new sqlite.DatabaseSync(path)
}

/** Creates the file if it does not exist, readable by its owner alone. SQLite gives its other files the same mode. */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch {
    // It exists, or SQLite reports why it cannot be opened.
  }
}
