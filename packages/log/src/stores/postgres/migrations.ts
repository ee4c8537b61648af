import { createHash } from 'node:crypto'
import { LogError } from '../../store/log-error.ts'
import { isMissing } from './failure.ts'
import { functions } from './functions.ts'
import { quoteIdentifier } from './statements.ts'
import { tables } from './tables.ts'

// The schema's version is the number of migrations that were run. Released migrations never change: append new ones.
// Processes of the version before may still run, so new columns need defaults, and a function with changed parameters
// needs a new name.
const MIGRATIONS: readonly ((schema: string) => string)[] = [
  schema => tables(schema) + functions(schema),
  // The index of `listOldest`.
  schema => `create index streams_touched on ${schema}.streams (touched_at, id)`,
]

/** Runs a statement and returns its rows. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>

/**
 * Whether a schema has the version of this code.
 *
 * @throws LogError `invalid` if it is newer.
 */
export async function isCurrent(run: Run, schema: string): Promise<boolean> {
  try {
    return (await versionOf(run, schema)) === MIGRATIONS.length
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
