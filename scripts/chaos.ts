// Looks for failures that are not known yet, with new seeds and larger counts than `npm test`.
//
//   npm run chaos -- [factor] [--seed n] [files]       all properties and schedules, their counts multiplied by 50 or the factor
//   npm run chaos -- --runs n [--seed n] [files]       n schedules of faults per suite; one seed replays one schedule
//   npm run chaos -- --nightly [--minutes n] [--fresh] large counts in batches; continues where the last run stopped
import { parseArgs } from 'node:util'
import { CAMPAIGNS } from './chaos/campaigns.ts'
import { nightly } from './chaos/nightly.ts'
import { command } from './command.ts'
import { VARIABLES } from './faults/campaign.ts'

const FACTOR = '50'
/** The tests' own limits are meant for the default counts. */
const TEST_MS = 6 * 3600_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    nightly: { type: 'boolean' },
    minutes: { type: 'string' },
    fresh: { type: 'boolean' },
  },
})

if (values.nightly) {
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
  if (minutes !== undefined && !(minutes > 0))
    throw new Error(`--minutes expects a positive number, not '${values.minutes}'`)
  process.exitCode = (await nightly({ ...(minutes !== undefined && { minutes }), fresh: values.fresh ?? false }))
    ? 0
    : 1
} else await once()

async function once(): Promise<void> {
  const factor = /^\d+$/.test(positionals[0] ?? '') ? positionals.shift() : undefined
  const { runs } = values
  const seed = values.seed ?? String(Math.trunc(Math.random() * 2 ** 31))
  const count = runs === undefined ? (factor ?? FACTOR) : `--runs ${runs}`
  const files = runs !== undefined && positionals.length === 0 ? CAMPAIGNS.map(({ file }) => file) : positionals
  const again = `npm run chaos -- ${count} --seed ${seed} ${positionals.join(' ')}`.trimEnd()
  console.log(
    `chaos: ${runs === undefined ? `counts times ${count}` : `${runs} schedules per suite`}, seed ${seed}; to repeat: ${again}`,
  )
  const env = {
    [VARIABLES.factor]: runs === undefined ? count : '0',
    [VARIABLES.seed]: seed,
    ...(runs !== undefined && { [VARIABLES.schedules]: runs }),
  }
  const { code } = await command(
    'vitest',
    ['run', '--testTimeout', String(TEST_MS), ...(files.length > 0 ? files : ['packages/'])],
    { env },
  )
  console.log(`chaos: ${code === 0 ? 'passed' : 'FAILED'}, seed ${seed}`)
  process.exitCode = code
}
