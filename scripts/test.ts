// `npm test`: the check, the core suites, then the wide ones. All of them run, even if one fails. CONTRIBUTING.md says which form fits which change.
//
//   npm test                          everything
//   npm test -- log studio            the types and these suites; also paths of folders or files
//   npm test -- --watch log           these suites again after every change
//   npm test -- --changed [commit]    the types and what a change since a commit affects, HEAD by default
//   npm test -- --core | --wide       one half of everything
//   npm test -- -t <text>             only tests with a matching title; with any of the above
//   npm test -- --load                while two busy processes per core compete for the CPU; with any of the above
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { command, root, seconds } from './command.ts'
import { affectedBy, changedFiles } from './testing/changed.ts'
import { startCpuLoad } from './testing/load.ts'
import { isWithin, resolveNames, suites, WIDE } from './testing/suites.ts'

type Step = { name: string; program: string; args: string[] }
/** A step that runs vitest. */
type Run = (...args: string[]) => Step

const OPTIONS = {
  watch: { type: 'boolean' },
  changed: { type: 'boolean' },
  core: { type: 'boolean' },
  wide: { type: 'boolean' },
  load: { type: 'boolean' },
  title: { type: 'string', short: 't' },
} as const

/** These need neither Redis nor Postgres nor Chromium. */
const WITHOUT_SERVICES = ['packages/protocol', 'packages/dialects']

const CHECK: Step = { name: 'check', program: 'node', args: ['scripts/check.ts'] }
const TYPES: Step = { name: 'types', program: 'node', args: ['scripts/check.ts', 'types'] }
const SERVICES: Step = { name: 'services', program: 'node', args: ['scripts/services/install.ts'] }

process.exitCode = await main().catch(error => {
  console.error(`test: ${error instanceof Error ? error.message : error}`)
  return 2
})

async function main(): Promise<number> {
  const { values, positionals: names } = parseArgs({ allowPositionals: true, options: OPTIONS })
  const { watch = false, changed = false, core = false, wide = false } = values
  if (core && wide) throw new Error('--core and --wide are the two halves of everything: leave out both')
  if ((core || wide) && (changed || watch || names.length > 0))
    throw new Error('--core and --wide accept no other arguments')
  if (watch && (changed || names.length === 0)) throw new Error('--watch needs the name of a suite, a folder or a file')
  if (changed && names.length > 1) throw new Error('--changed takes one commit')
  const title = values.title === undefined ? [] : ['-t', values.title]
  const run: Run = (...args) => ({ name: 'tests', program: 'vitest', args: [...args, ...title] })
  const wideStep: Step = { name: WIDE, program: 'node', args: ['scripts/wide.ts', ...title] }
  // npm runs this in the root, wherever it was called.
  const cwd = process.env['INIT_CWD'] ?? root
  const steps = changed
    ? await changedSteps(names[0], run, wideStep)
    : names.length > 0
      ? namedSteps(resolveNames(root, names, cwd), watch ? 'watch' : 'run', run)
      : [...(wide ? [] : coreSteps(run)), ...(core ? [] : [wideStep])]
  const busy = values.load ? startCpuLoad() : undefined
  if (busy) console.log(`test: ${busy.pids.length} busy processes compete for the CPU`)
  try {
    return await runAll(steps)
  } finally {
    busy?.stop()
  }
}

function coreSteps(run: Run): Step[] {
  const folders = suites(root).flatMap(({ name, folder }) => (name === WIDE ? [] : [folder]))
  return [CHECK, SERVICES, run('run', ...folders.map(filterOf))]
}

function namedSteps(paths: readonly string[], mode: 'run' | 'watch', run: Run): Step[] {
  if (paths.some(path => isWithin(path, WIDE))) throw new Error(`run the wide suites by: npm test -- --wide`)
  const needsServices = !paths.every(path => WITHOUT_SERVICES.some(folder => isWithin(path, folder)))
  const before = [...(mode === 'watch' ? [] : [TYPES]), ...(needsServices ? [SERVICES] : [])]
  return [...before, run(mode, ...paths.map(filterOf))]
}

async function changedSteps(commit: string | undefined, run: Run, wideStep: Step): Promise<Step[]> {
  const changed = await changedFiles(commit)
  console.log(`test: ${changed.length} changed ${changed.length === 1 ? 'file' : 'files'}`)
  const wideSteps = changed.some(file => isWithin(file, WIDE)) ? [wideStep] : []
  const affected = affectedBy(root, changed)
  if (affected === 'everything') return [...coreSteps(run), ...wideSteps]
  // `related` takes the files for modules, and runs the tests that import them.
  const tests = affected.length === 0 ? [] : [SERVICES, run('related', '--run', ...affected)]
  return [TYPES, ...tests, ...wideSteps]
}

/** Vitest selects test files by a part of their absolute path. */
function filterOf(path: string): string {
  return /\.tsx?$/.test(path) ? join(root, path) : join(root, path, '/')
}

async function runAll(steps: readonly Step[]): Promise<number> {
  const from = performance.now()
  const temporary = mkdtempSync(join(tmpdir(), 'millrace-compiled-'))
  // Child processes of the tests share what V8 has compiled: most are short.
  const env = { NODE_COMPILE_CACHE: join(temporary, 'compiled') }
  const lines: string[] = []
  let hasFailed = false
  const line = (name: string, passed: boolean, ms: number) =>
    `${passed ? 'passed' : 'FAILED'}  ${name.padEnd(10)} ${seconds(ms).padStart(9)}`
  for (const { name, program, args } of steps) {
    console.log(`\n=== ${name}`)
    const { code, ms } = await command(program, args, { env })
    hasFailed ||= code !== 0
    lines.push(line(name, code === 0, ms))
  }
  rmSync(temporary, { recursive: true, force: true })
  console.log(`\n${lines.join('\n')}\n${line('all', !hasFailed, performance.now() - from)}`)
  return hasFailed ? 1 : 0
}
