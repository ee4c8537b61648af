// `npm run chaos -- [factor] [--seed n] [filters]`: the property suites with their counts multiplied, 50 times by default.
import { parseArgs } from 'node:util'
import { command } from './command.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { seed: { type: 'string' } } })
const factor = /^\d+$/.test(positionals[0] ?? '') ? positionals.shift() : undefined
const MILLRACE_RUNS = factor ?? '50'
const MILLRACE_SEED = values.seed ?? String(Math.trunc(Math.random() * 2 ** 31))

const again = `npm run chaos -- ${MILLRACE_RUNS} --seed ${MILLRACE_SEED} ${positionals.join(' ')}`.trimEnd()
console.log(`chaos: counts times ${MILLRACE_RUNS}, seed ${MILLRACE_SEED}; to run it again: ${again}`)
// The tests' own time limits are meant for the small counts.
const vitest = ['run', '--dir', 'packages', '--testTimeout', String(6 * 3600_000), ...positionals]
const { code } = await command('vitest', vitest, { env: { MILLRACE_RUNS, MILLRACE_SEED } })
console.log(`chaos: ${code === 0 ? 'passed' : 'FAILED'}, seed ${MILLRACE_SEED}`)
process.exitCode = code
