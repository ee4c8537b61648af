// `npm test`: the check, each suite, and the packing. All of them run, whatever fails.
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command, root, seconds } from './command.ts'
import { FAILED_FILE, shortened } from './failed.ts'

// Two files at a time in these: most are one thread that computes, or that waits for a server. Nothing in them may depend on how busy the machine is.
const BESIDE = new Set([
  'bench',
  'examples',
  'packages/cli',
  'packages/client',
  'packages/log',
  'packages/protocol',
  'packages/runtime',
  'packages/server',
  'interop',
  'studio',
])
// But for what keeps all cores busy by itself, and for processes and races that go by real leases and deadlines: one after the other.
const ALONE = ['src/process/', 'src/faults/', 'src/scale/', 'src/workers/', 'src/races/stores']
/** Where there is any of that. */
const HAS_ALONE = new Set(['packages/client', 'packages/log', 'packages/runtime', 'packages/server'])

// What a person sees in a browser goes by how soon it is drawn: what fails there is tried once more, and told as such at the end.
const DRAWN = new Set(['packages/react', 'studio'])

// What is published stands at the end: it needs all the rest.
const PACK = 'scripts/pack.test.ts'

const CONFIG = fileURLToPath(import.meta.resolve('./failed.config.ts'))

const temporary = mkdtempSync(join(tmpdir(), 'millrace-failed-'))
const failures = join(temporary, 'failures.txt')
writeFileSync(failures, '')
// What one process has stripped of its types and compiled, those that come after it need not: most are short, and some start hundreds of threads.
const compiled = join(temporary, 'compiled')
const rows: { name: string; code: number; ms: number }[] = []

await step('check', 'node', ['scripts/check.ts'])
await step('services', 'node', ['scripts/services/install.ts'])
for (const [name, folder] of suites()) {
  // A pattern counts from the folder.
  const without = dirname(PACK) === folder ? ['--exclude', basename(PACK)] : []
  const run = ['run', '--config', CONFIG, '--dir', folder, ...(DRAWN.has(folder) ? ['--retry', '1'] : [])]
  if (BESIDE.has(folder)) {
    const others = ALONE.flatMap(part => ['--exclude', `${part}**`])
    await step(name, 'vitest', [...run, '--maxWorkers', '2', ...others])
    if (HAS_ALONE.has(folder)) await step(`${name} alone`, 'vitest', [...run, ...ALONE])
  } else await step(name, 'vitest', [...run, ...without])
}
await step('pack', 'vitest', ['run', '--config', CONFIG, PACK])

console.log('\nsuite              time  result')
for (const { name, code, ms } of rows) {
  console.log(`${name.padEnd(14)} ${seconds(ms).padStart(8)}  ${code === 0 ? 'passed' : 'FAILED'}`)
}
const failed = readFileSync(failures, 'utf8')
if (failed) console.log(`\n${shortened(failed).trimEnd()}`)
rmSync(temporary, { recursive: true })
process.exitCode = rows.some(row => row.code !== 0) ? 1 : 0

async function step(name: string, ...[program, args]: Parameters<typeof command>): Promise<void> {
  console.log(`\n=== ${name}`)
  const { code, ms } = await command(program, args, { env: { [FAILED_FILE]: failures, NODE_COMPILE_CACHE: compiled } })
  rows.push({ name, code, ms })
  console.log(`=== ${name}: ${code === 0 ? 'passed' : 'FAILED'} in ${seconds(ms)}`)
}

/** Each folder that has tests, with the name it goes by. */
function suites(): [name: string, folder: string][] {
  const tests = globSync('**/*.test.{ts,tsx}', { cwd: root, exclude: ['**/node_modules', '**/dist', '**/.*'] })
  const folders = new Set(tests.map(file => file.match(/^packages\/[^/]+|^[^/]+/)?.[0] ?? ''))
  return [...folders].sort().map(folder => [folder === 'scripts' ? 'ground' : folder.replace('packages/', ''), folder])
}
