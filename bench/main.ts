// `node bench/main.ts [suite or suite/benchmark ...] [--quick] [--verify] [--publish] [--json]`: runs and prints the measurements; see README.md.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { environment } from './harness/environment.ts'
import { judge } from './harness/judge.ts'
import { overview } from './harness/overview.ts'
import { failedRows, type Row, runRounds } from './harness/run-rounds.ts'
import { SelectionError, selectBenchmarks } from './harness/select-benchmarks.ts'
import { Services } from './harness/services.ts'
import { evaluateStanding } from './harness/standing.ts'
import { table } from './harness/table.ts'
import { verify } from './harness/verify.ts'
import { drawGrowth, publish } from './report/draw.ts'
import { RESULTS } from './report/results.ts'
import { standings } from './standings.ts'
import { suites } from './suites/index.ts'

const selection = (() => {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        verify: { type: 'boolean', default: false },
        publish: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    })
    return {
      ...values,
      names: positionals,
      selected: selectBenchmarks({ suites, standings, names: positionals, ...values }),
    }
  } catch (error) {
    const isOption = error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
    if (!isOption && !(error instanceof SelectionError)) throw error
    console.error(error.message)
    process.exit(2)
  }
})()
const { quick, json, names, selected: works } = selection

const machine = environment()
const print = json ? () => {} : console.log
print(
  `node ${machine.node}, ${machine.cpu}, load ${machine.load.join(' ')}, packages from ${machine.packages}; ` +
    `each figure is from new processes${quick ? ', quick' : ''}\n`,
)
// Quick and partial results do not overwrite full ones.
const folder = join(RESULTS, quick ? 'quick' : selection.verify ? 'verify' : '')
mkdirSync(folder, { recursive: true })
const measured = new Map<string, Row[]>()
const printed: object[] = []
let [targets, missed] = [0, 0]
const services = new Services()
for (const [at, { suite, benchmark, rounds }] of works.entries()) {
  const progress = (text: string) => console.error(`[${at + 1}/${works.length}] ${text}`)
  const rows = await services.need(benchmark.needs ?? []).then(
    () => runRounds(suite, benchmark, rounds, quick, progress),
    error => failedRows(benchmark, `a required service did not start: ${error}`),
  )
  measured.set(`${suite}/${benchmark.name}`, rows)
  const verdicts = benchmark.claims.flatMap(claim => judge(claim, rows) ?? [])
  targets += verdicts.filter(({ met }) => met !== undefined).length
  missed += verdicts.filter(({ met }) => met === false).length
  print(table(suite, benchmark, rows, verdicts))
  const result = {
    suite,
    benchmark: benchmark.name,
    title: benchmark.title,
    quick,
    environment: machine,
    rows,
    verdicts,
  }
  writeFileSync(join(folder, `${suite}-${benchmark.name}.json`), `${JSON.stringify(result, null, 2)}\n`)
  printed.push(result)
}
await services.stop()

// Claims of the selected benchmarks are reported even if they could not be measured.
const results = standings.filter(({ benchmark }) => measured.has(benchmark)).map(row => evaluateStanding(row, measured))
const measuredRows = results.filter(({ ours }) => ours !== undefined)
if (measuredRows.length > 0) print(`${overview(measuredRows, selection.verify)}\n`)
const failed = [...measured.values()].flat().filter(row => row.error !== undefined).length
print(`${works.length} benchmarks: ${missed} of ${targets} targets missed, ${failed} contenders failed`)
const { claims, passed, undecided, failures } = verify(results)
if (selection.verify) {
  print(`${claims} claims: ${passed} pass, ${undecided} undecided, ${failures.length} FAIL`)
  for (const failure of failures) print(`  FAIL ${failure}`)
}
if (json)
  console.log(
    JSON.stringify({ environment: machine, quick, benchmarks: printed, standings: results, failures }, null, 2),
  )
process.exitCode = failed > 0 || (selection.verify && failures.length > 0) ? 1 : 0

if (!quick && failed === 0) {
  const isComplete = names.length === 0 && (!selection.verify || selection.publish)
  const files = [...drawGrowth(measured), ...(isComplete ? publish({ environment: machine, standings: results }) : [])]
  if (files.length > 0) print(`written: ${files.join(', ')}`)
}
