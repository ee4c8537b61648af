// `node scripts/worker-sources.ts [--check]`: writes each worker thread as one string. With `--check` it fails if a string is
// stale. A bundled application has no worker file, so it starts the worker from this string.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildSync } from 'esbuild'
import { root } from './command.ts'

/** The files of workers, and what they are the worker of. */
const workers: Readonly<Record<string, string>> = {
  'packages/log/src/stores/sqlite/worker.ts': 'the SQLite store',
  'packages/log/src/stores/sqlite/heartbeat-worker.ts': 'the heartbeat of the SQLite store',
  'packages/log/src/stores/redis/heartbeat-worker.ts': 'the heartbeat of the Redis store',
  'packages/log/src/stores/postgres/heartbeat-worker.ts': 'the heartbeat of the Postgres store',
  'packages/runtime/src/schema/worker.ts': 'the schema checks',
}

for (const [entry, owner] of Object.entries(workers)) {
  const file = entry.replace(/\.ts$/, '-source.ts')
  const { outputFiles } = buildSync({
    entryPoints: [join(root, entry)],
    bundle: true,
    write: false,
    platform: 'node',
    // A worker that is started from text is a script, not a module.
    format: 'cjs',
    target: 'node22',
    conditions: ['@millrace/source'],
    minify: true,
    legalComments: 'none',
    logLevel: 'silent',
  })
  const written = `// Written by scripts/worker-sources.ts from ${basename(entry)}.

/** The worker of ${owner} with all that it imports, as a script. */
export const WORKER_SOURCE: string = ${JSON.stringify(outputFiles[0]?.text.trimEnd())}
`
  if (!process.argv.includes('--check')) {
    writeFileSync(join(root, file), written)
  } else if (!existsSync(join(root, file)) || readFileSync(join(root, file), 'utf8') !== written) {
    console.error(`${file} is stale: run npm run generate and commit it`)
    process.exitCode = 1
  }
}
