import { createHash } from 'node:crypto'
import { LogError } from '../../store/log-error.ts'
import { isMissing } from './failure.ts'
import { functions } from './functions.ts'
import { quoteIdentifier } from './statements.ts'
import { tables } from './tables.ts'

// The schema's version is the number of these that were run. What was released is never changed: append to it. Processes of the version
// before may still be at work, so that tables gain columns with defaults and a function that changes its parameters gets a new name.
const MIGRATIONS: readonly ((schema: string) => string)[] = [schema => tables(schema) + functions(schema)]

/** Runs a statement and gives its rows. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>

/** Whether a schema is as this code needs it; one that is newer is refused. */
export async function isCurrent(run: Run, schema: string): Promise<boolean> {
  try {
    return (await versionOf(run, schema)) === MIGRATIONS.length
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/**
 * Makes a schema what this code needs, within a transaction that the caller opened. The lock lets one process do it and the others, who wait,
 * find it done.
 */
export async function migrate(run: Run, schema: string): Promise<void> {
  const name = quoteIdentifier(schema)
  await run('select pg_advisory_xact_lock($1)', [lockOf(schema)])
  const [[encoding] = []] = await run("select current_setting('server_encoding')")
  if (encoding !== 'UTF8') {
    throw new LogError(
      'invalid',
      `the database's encoding is ${encoding}, logs need UTF8: create it with encoding UTF8`,
    )
  }
  // Not `if not exists`, which asks for the right to create even where there is nothing to do.
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
    const known = MIGRATIONS.length
    throw new LogError(
      'invalid',
      `the schema "${schema}" has version ${version} and this code knows ${known}: upgrade @millrace/log, or name another schema`,
    )
  }
  return version
}

const lockOf = (schema: string): string =>
  createHash('sha256').update(`millrace migrations ${schema}`).digest().readBigInt64BE().toString()
