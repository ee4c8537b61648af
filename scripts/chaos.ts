// Looks for new failures, with new seeds and larger counts than `npm test`.
//
//   npm run chaos -- [factor] [--seed n] [files]       all properties and schedules, their counts multiplied by 50 or the factor
//   npm run chaos -- --runs n [--seed n] [files]       n schedules of faults per suite; one seed replays one schedule
//   npm run chaos -- --nightly [--minutes n] [--fresh] large counts in batches; continues where the last run stopped
import { parseArgs } from 'node:util'
import { CAMPAIGNS } from './chaos/campaigns.ts'
import { nightly } from './chaos/nightly.ts'
import { command } from './command.ts'
import { CAMPAIGN_VARIABLES } from './faults/campaign.ts'

const FACTOR = '50'
/** The files whose properties are played by default. Other suites in `interop` play whole runs, which takes hours with these counts. */
const PROPERTIES = ['packages/', 'interop/round-trips.test.ts']
/** The tests' own limits are meant for the default counts. */
const TEST_MS = 6 * 3600_000

const OPTIONS = {
  seed: { type: 'string' },
  runs: { type: 'string' },
  nightly: { type: 'boolean' },
  minutes: { type: 'string' },
  fresh: { type: 'boolean' },
} as const

process.exitCode = await main().catch(error => {
  console.error(`chaos: ${error instanceof Error ? error.message : error}`)
  return 2
})

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: OPTIONS })
  const { nightly: isNightly = false, fresh = false } = values
  const [minutes, runs, seed] = [positive('minutes', values), positive('runs', values), positive('seed', values)]
  if (!isNightly && (minutes !== undefined || fresh)) throw new Error('--minutes and --fresh need --nightly')
  if (!isNightly) return once(positionals, runs, seed)
  if (positionals.length > 0 || runs !== undefined || seed !== undefined)
    throw new Error('--nightly takes no files, --runs or --seed: it plays all campaigns')
  return (await nightly({ ...(minutes !== undefined && { minutes }), fresh })) ? 0 : 1
}

/** @throws Error for an option that is not a positive integer. */
function positive<Name extends string>(
  name: Name,
  values: { readonly [name in Name]?: string | undefined },
): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`--${name} expects a positive integer, not '${text}'`)
  return Number(text)
}

/** Plays the schedules and properties of these files once, with larger counts. */
async function once(names: string[], runs: number | undefined, chosenSeed: number | undefined): Promise<number> {
  const [first = ''] = names
  const factor = /^\d+$/.test(first) ? first : undefined
  const chosen = factor === undefined ? names : names.slice(1)
  const seed = String(chosenSeed ?? Math.trunc(Math.random() * 2 ** 31))
  const count = runs === undefined ? (factor ?? FACTOR) : `--runs ${runs}`
  const files = chosen.length > 0 ? chosen : runs === undefined ? PROPERTIES : CAMPAIGNS.map(({ file }) => file)
  const again = `npm run chaos -- ${count} --seed ${seed} ${chosen.join(' ')}`.trimEnd()
  const scale = runs === undefined ? `counts times ${count}` : `${runs} schedules per suite`
  console.log(`chaos: ${scale}, seed ${seed}; to repeat: ${again}`)
  const env = {
    [CAMPAIGN_VARIABLES.factor]: runs === undefined ? count : '0',
    [CAMPAIGN_VARIABLES.seed]: seed,
    ...(runs !== undefined && { [CAMPAIGN_VARIABLES.schedules]: String(runs) }),
  }
  const { code } = await command('vitest', ['run', '--testTimeout', String(TEST_MS), ...files], { env })
  console.log(`chaos: ${code === 0 ? 'passed' : 'FAILED'}, seed ${seed}`)
  return code
}
