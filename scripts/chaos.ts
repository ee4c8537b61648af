// `npm run chaos -- [factor] [--seed n] [filters]`: the property suites with their counts multiplied, 50 times by default.
// `npm run chaos -- --runs n [--seed n] [filters]`: so many schedules of faults on each store, of logs, of runs and of those who follow them, from this seed on; one seed replays one.
import { parseArgs } from 'node:util'
import { command } from './command.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, runs: { type: 'string' } },
})
const factor = /^\d+$/.test(positionals[0] ?? '') ? positionals.shift() : undefined
const { runs } = values
const MILLRACE_RUNS = factor ?? (runs === undefined ? '50' : '1')
const MILLRACE_SEED = values.seed ?? String(Math.trunc(Math.random() * 2 ** 31))
const count = runs === undefined ? MILLRACE_RUNS : `--runs ${runs}`
if (runs !== undefined && positionals.length === 0)
  positionals.push(
    'packages/log/src/chaos',
    'packages/runtime/src/crash/schedules',
    'packages/runtime/src/crash/people.schedules',
    'packages/runtime/src/crash/workflow.schedules',
    'packages/runtime/src/races/races',
    'packages/runtime/src/process',
    'packages/server/src/process',
    'packages/client/src/faults/memory',
    'packages/client/src/faults/sqlite',
  )

const again = `npm run chaos -- ${count} --seed ${MILLRACE_SEED} ${positionals.join(' ')}`.trimEnd()
const what = runs === undefined ? `counts times ${MILLRACE_RUNS}` : `${runs} schedules on each store`
console.log(`chaos: ${what}, seed ${MILLRACE_SEED}; to run it again: ${again}`)
// The tests' own time limits are meant for the small counts.
const vitest = ['run', '--dir', 'packages', '--testTimeout', String(6 * 3600_000), ...positionals]
const env = { MILLRACE_RUNS, MILLRACE_SEED, ...(runs !== undefined && { MILLRACE_SCHEDULES: runs }) }
const { code } = await command('vitest', vitest, { env })
console.log(`chaos: ${code === 0 ? 'passed' : 'FAILED'}, seed ${MILLRACE_SEED}`)
process.exitCode = code
