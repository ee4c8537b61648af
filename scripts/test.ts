// `npm test`: the check, the core suites, then the wide ones. CONTRIBUTING.md says which form fits which change.
//
//   npm test                          everything
//   npm test -- log studio            the types and these suites; also paths of folders or files
//   npm test -- --watch log           these suites again after every change
//   npm test -- --changed [commit]    the types and what differs from a commit, HEAD by default
//   npm test -- --core | --wide       one half of everything
//   npm test -- --load                while two busy processes per core compete for the CPU
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { command, root, seconds } from './command.ts'
import { affectedBy, changedFiles } from './testing/changed.ts'
import { load } from './testing/load.ts'
import { isWithin, resolveNames, suites, WIDE } from './testing/suites.ts'

/** These need neither Redis nor Postgres nor Chromium. */
const WITHOUT_SERVICES = ['packages/protocol', 'packages/dialects']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    watch: { type: 'boolean' },
    changed: { type: 'boolean' },
    core: { type: 'boolean' },
    wide: { type: 'boolean' },
    load: { type: 'boolean' },
    name: { type: 'string', short: 't' },
  },
})

const from = performance.now()
const rows: { name: string; code: number; ms: number }[] = []
const temporary = mkdtempSync(join(tmpdir(), 'millrace-test-'))
// Child processes of the tests share what V8 compiled: most are short.
const env = { NODE_COMPILE_CACHE: join(temporary, 'compiled') }
const busy = values.load ? load() : undefined
if (busy) console.log(`test: ${busy.count} busy processes compete for the CPU`)
try {
  await main()
} finally {
  busy?.stop()
  rmSync(temporary, { recursive: true, force: true })
}

async function main(): Promise<void> {
  if (values.changed) return runChanged(positionals[0])
  if (positionals.length > 0) return runNamed(resolveNames(root, positionals))
  if (!values.wide) {
    await step('check', 'node', ['scripts/check.ts'])
    await step('services', 'node', ['scripts/services/install.ts'])
    await vitest(
      'core',
      suites(root).flatMap(({ name, folder }) => (name === WIDE ? [] : [folder])),
    )
  }
  if (!values.core) await step('wide', 'node', ['scripts/wide.ts'])
  finish()
}

async function runNamed(places: readonly string[]): Promise<void> {
  if (places.some(place => isWithin(place, WIDE))) throw new Error(`the suite '${WIDE}' runs by: npm test -- --wide`)
  if (!values.watch) await types()
  if (!places.every(place => WITHOUT_SERVICES.some(folder => isWithin(place, folder)))) await services()
  await vitest('tests', places)
  finish()
}

async function runChanged(commit: string | undefined): Promise<void> {
  const changed = await changedFiles(commit)
  const affected = affectedBy(root, changed)
  if (affected === 'everything') {
    console.log(`test: ${changed.find(file => !file.includes('/')) ?? 'scripts/'} changed, which all tests depend on`)
    values.core = true
    values.changed = false
    return main()
  }
  await types()
  if (affected.length === 0) console.log('test: nothing changed that a test depends on')
  else {
    await services()
    await vitest('tests', [], ['related', ...affected])
  }
  finish()
}

/** The types of the packages were checked by the build that runs before every task, and are repeated here for their result. */
async function types(): Promise<void> {
  await step('types', 'node', ['scripts/check.ts', 'types'])
}

async function services(): Promise<void> {
  await step('services', 'node', ['scripts/services/install.ts'])
}

async function vitest(name: string, places: readonly string[], verb?: string[]): Promise<void> {
  const filters = places.map(place => (/\.tsx?$/.test(place) ? join(root, place) : join(root, place, '/')))
  const mode = verb ? [...verb, '--run'] : [values.watch ? 'watch' : 'run', ...filters]
  await step(name, 'vitest', [...mode, ...(values.name === undefined ? [] : ['-t', values.name])])
}

async function step(name: string, ...[program, args]: Parameters<typeof command>): Promise<void> {
  console.log(`\n=== ${name}`)
  const { code, ms } = await command(program, args, { env })
  rows.push({ name, code, ms })
}

function finish(): void {
  console.log('')
  for (const { name, code, ms } of rows)
    console.log(`${code === 0 ? 'passed' : 'FAILED'}  ${name.padEnd(10)} ${seconds(ms).padStart(9)}`)
  const failed = rows.some(row => row.code !== 0)
  console.log(`${failed ? 'FAILED' : 'passed'}  ${'all'.padEnd(10)} ${seconds(performance.now() - from).padStart(9)}`)
  process.exitCode = failed ? 1 : 0
}
