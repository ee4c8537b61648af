import { createHash } from 'node:crypto'
import { LogError } from '../../store/log-error.ts'
import { isMissing } from './failure.ts'
import { functions } from './functions.ts'
import { quoteIdentifier } from './statements.ts'
import { tables } from './tables.ts'

// The schema's version is the number of migrations that were run. Released migrations never change: append new ones.
// Processes of the version before may still run, so new columns need defaults, and a function with changed parameters
// needs a new name. They refuse to start on a newer version. So what they can ignore is no migration, but an index below.
const MIGRATIONS: readonly ((schema: string) => string)[] = [schema => tables(schema) + functions(schema)]

/**
 * Indexes that earlier releases of the same version lack, by name. They are no new version: processes of those releases
 * start and write on such a schema, and Postgres keeps the indexes up to date.
 */
const ADDED_INDEXES: Readonly<Record<string, string>> = {
  // For `listOldest`.
  streams_touched: 'streams (touched_at, id)',
}

/** Runs a statement and returns its rows. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>

/**
 * Whether a schema has the version and the indexes of this code.
 *
 * @throws LogError `invalid` if it is newer.
 */
export async function isCurrent(run: Run, schema: string): Promise<boolean> {
  try {
    return (await versionOf(run, schema)) === MIGRATIONS.length && (await missingIndexes(run, schema)).length === 0
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/**
 * Migrates a schema to the version of this code, in the caller's transaction. The lock lets one process do it while
 * the others wait and find it done.
 */
export async function migrate(run: Run, schema: string): Promise<void> {
  const name = quoteIdentifier(schema)
  await run('select pg_advisory_xact_lock($1)', [lockOf(schema)])
  const [[encoding] = []] = await run("select current_setting('server_encoding')")
  if (encoding !== 'UTF8') {
    throw new LogError('invalid', `encoding: expected UTF8, found ${encoding}: create the database with encoding UTF8`)
  }
  // Not `if not exists`, which needs the right to create even if the schema exists.
  const [[exists] = []] = await run('select exists (select from pg_namespace where nspname = $1)', [schema])
  if (!exists) await run(`create schema ${name}`)
  await run(
    `create table if not exists ${name}.migrations (version integer primary key, at timestamptz not null default now())`,
  )
  for (let version = await versionOf(run, schema); version < MIGRATIONS.length; version++) {
    await run((MIGRATIONS[version] as (schema: string) => string)(name))
    await run(`insert into ${name}.migrations (version) values ($1)`, [version + 1])
  }
  for (const index of await missingIndexes(run, schema)) {
    await run(`create index ${index} on ${name}.${ADDED_INDEXES[index]}`)
  }
}

/** The names of the indexes that a schema lacks. */
async function missingIndexes(run: Run, schema: string): Promise<readonly string[]> {
  const names = Object.keys(ADDED_INDEXES)
  const found = await run('select indexname from pg_indexes where schemaname = $1 and indexname = any($2)', [
    schema,
    names,
  ])
  const present = new Set(found.map(([name]) => name))
  return names.filter(name => !present.has(name))
}

async function versionOf(run: Run, schema: string): Promise<number> {
  const [[found] = []] = await run(`select coalesce(max(version), 0) from ${quoteIdentifier(schema)}.migrations`)
  const version = Number(found)
  if (version > MIGRATIONS.length) {
    const current = MIGRATIONS.length
    throw new LogError(
      'invalid',
      `schema "${schema}": expected version ${current} or older, found ${version}: upgrade @millrace/log, or use another schema`,
    )
  }
  return version
}

const lockOf = (schema: string): string =>
  createHash('sha256').update(`millrace migrations ${schema}`).digest().readBigInt64BE().toString()
