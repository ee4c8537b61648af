// `node bench/main.ts [suite or suite/benchmark ...] [--quick] [--verify] [--json]`: runs and prints the measurements; see README.md.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { judge } from './harness/claim.ts'
import { environment } from './harness/environment.ts'
import { overview } from './harness/overview.ts'
import { type Row, runRounds } from './harness/rounds.ts'
import { Services } from './harness/services.ts'
import { stand } from './harness/standing.ts'
import { table } from './harness/table.ts'
import { choose, UnknownName } from './harness/work.ts'
import { drawGrowth, publish } from './report/draw.ts'
import { RESULTS } from './report/results.ts'
import { standings } from './standings.ts'
import { suites } from './suites/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    verify: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const { quick, verify, json } = values

const chosen = (() => {
  try {
    return choose({ suites, standings, names: positionals, quick, verify })
  } catch (error) {
    if (!(error instanceof UnknownName)) throw error
    console.error(error.message)
    process.exit(2)
  }
})()

const place = environment()
const say = json ? () => {} : console.log
say(
  `node ${place.node}, ${place.cpu}, load ${place.load.join(' ')}, packages from ${place.packages}; ` +
    `every figure is of fresh processes${quick ? ', quick' : ''}\n`,
)
mkdirSync(RESULTS, { recursive: true })
const measured = new Map<string, Row[]>()
const printed: object[] = []
let missed = 0
const services = new Services()
for (const [at, { suite, benchmark, rounds }] of chosen.entries()) {
  await services.need(benchmark.needs ?? [])
  const progress = (text: string) => console.error(`[${at + 1}/${chosen.length}] ${text}`)
  const rows = await runRounds(suite, benchmark, rounds, quick, progress)
  measured.set(`${suite}/${benchmark.name}`, rows)
  const verdicts = benchmark.claims.flatMap(claim => judge(claim, rows) ?? [])
  missed += verdicts.filter(({ met }) => met === false).length
  say(table(suite, benchmark, rows, verdicts))
  const result = { suite, benchmark: benchmark.name, title: benchmark.title, quick, place, rows, verdicts }
  writeFileSync(join(RESULTS, `${suite}-${benchmark.name}.json`), `${JSON.stringify(result, null, 2)}\n`)
  printed.push(result)
}
await services.stop()

const stands = standings
  .map(row => stand(row, measured))
  .filter(({ ours, failed }) => ours !== undefined || failed.length > 0)
const failed = [...measured.values()].flat().filter(row => row.error !== undefined).length
const rulings = stands.flatMap(({ held }) => held.map(({ ruling }) => ruling))
const count = (wanted: string) => rulings.filter(ruling => ruling === wanted).length
if (stands.length > 0) say(`${overview(stands, verify)}\n`)
say(`${chosen.length} benchmarks: ${missed} targets missed, ${failed} contenders failed`)
if (verify) {
  say(`${rulings.length} claims: ${count('pass')} pass, ${count('undecided')} undecided, ${count('fail')} FAIL`)
}
// What was measured in a hurry, or only in part, is not shown to others.
if (!quick) {
  const isWhole = positionals.length === 0 && failed === 0
  const files = [...drawGrowth(measured), ...(isWhole ? publish({ place, stands }) : [])]
  if (files.length > 0) say(`written: ${files.join(', ')}`)
}
if (json) console.log(JSON.stringify({ place, quick, benchmarks: printed, standings: stands }, null, 2))
process.exitCode = failed > 0 || (verify && count('fail') > 0) ? 1 : 0
