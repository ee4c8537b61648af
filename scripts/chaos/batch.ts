import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { command, root } from '../command.ts'
import { CAMPAIGN_VARIABLES, type FailedSchedule, type ScheduleCounts } from '../faults/campaign.ts'

/** Result of a batch. `broken` is the end of the output of a batch that failed without naming a schedule. */
export type BatchResult = ScheduleCounts & { failed: FailedSchedule[]; broken?: string }

/** A test that takes longer is stuck: vitest fails it and names it. */
const STUCK_MS = 600_000
const OUTPUT_CHARACTERS = 6_000

/** Plays `count` seeds of one suite from `seed` on, in a vitest of its own, which is killed after `timeoutMs`. */
export async function playBatch(file: string, seed: number, count: number, timeoutMs: number): Promise<BatchResult> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'))
  const report = join(folder, 'report.jsonl')
  const env = {
    [CAMPAIGN_VARIABLES.schedules]: String(count),
    [CAMPAIGN_VARIABLES.seed]: String(seed),
    [CAMPAIGN_VARIABLES.factor]: '0',
    [CAMPAIGN_VARIABLES.report]: report,
  }
  const args = ['run', join(root, file), '--testTimeout', String(STUCK_MS)]
  try {
    const { code, output } = await command('vitest', args, { quiet: true, env, timeoutMs })
    const result = readReport(report)
    const end = stripVTControlCharacters(output).slice(-OUTPUT_CHARACTERS)
    const isBroken = code !== 0 && result.failed.length === 0
    const failed = result.failed.map(schedule => ({ ...schedule, output: end }))
    return { ...result, failed, ...(isBroken && { broken: end }) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readReport(file: string): BatchResult {
  const result: BatchResult = { schedules: 0, faults: 0, deaths: 0, failed: [] }
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  for (const line of lines) {
    const {
      schedules = 0,
      faults = 0,
      deaths = 0,
      failed,
    } = JSON.parse(line) as Partial<ScheduleCounts> & {
      failed?: FailedSchedule
    }
    result.schedules += schedules
    result.faults += faults
    result.deaths += deaths
    if (failed) result.failed.push(failed)
  }
  return result
}
