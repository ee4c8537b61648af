// `node bench/main.ts [suite or suite/benchmark ...] [--quick] [--json]`: runs and prints the measurements; see README.md.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { judge } from './harness/claim.ts'
import { environment } from './harness/environment.ts'
import { runRounds } from './harness/rounds.ts'
import { Services } from './harness/services.ts'
import { table } from './harness/table.ts'
import { suites } from './suites/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
})
const { quick, json } = values

const all = suites.flatMap(suite => suite.benchmarks(quick).map(benchmark => ({ suite: suite.name, benchmark })))
const asks = (name: string) => (work: (typeof all)[number]) =>
  work.suite === name || `${work.suite}/${work.benchmark.name}` === name
const stranger = positionals.find(name => !all.some(asks(name)))
if (stranger !== undefined) {
  console.error(
    `no benchmark '${stranger}', there are: ${all.map(work => `${work.suite}/${work.benchmark.name}`).join(', ')}`,
  )
  process.exit(2)
}
const chosen = positionals.length === 0 ? all : all.filter(work => positionals.some(name => asks(name)(work)))

const place = environment()
const say = json ? () => {} : console.log
say(
  `node ${place.node}, ${place.cpu}, load ${place.load.join(' ')}, packages from ${place.packages}; ` +
    `every figure is of fresh processes${quick ? ', quick' : ''}\n`,
)
const results = join(import.meta.dirname, 'results')
mkdirSync(results, { recursive: true })
const printed: object[] = []
let failed = 0
let missed = 0
const services = new Services()
for (const { suite, benchmark } of chosen) {
  await services.need(benchmark.needs ?? [])
  const { rounds = quick ? 3 : 5 } = benchmark
  const rows = await runRounds(suite, benchmark, rounds, quick, text => console.error(text))
  const verdicts = benchmark.claims.flatMap(claim => judge(claim, rows) ?? [])
  failed += rows.filter(row => row.error).length
  missed += verdicts.filter(({ met }) => met === false).length
  say(table(suite, benchmark, rows, verdicts))
  const result = { suite, benchmark: benchmark.name, title: benchmark.title, quick, place, rows, verdicts }
  writeFileSync(join(results, `${suite}-${benchmark.name}.json`), `${JSON.stringify(result, null, 2)}\n`)
  printed.push(result)
}
await services.stop()
if (json) console.log(JSON.stringify(printed, null, 2))
say(`${chosen.length} benchmarks: ${missed} targets missed, ${failed} contenders failed`)
process.exitCode = failed ? 1 : 0
