import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command, root } from '../command.ts'
import { type FailedSchedule, type Played, VARIABLES } from '../faults/campaign.ts'
import { CAMPAIGNS, type Campaign } from './campaigns.ts'
import { type CampaignProgress, Progress } from './progress.ts'

/** How long one batch of schedules should take, without the start of vitest. */
const BATCH_MS = 30_000
const FIRST_BATCH = 10
/** With less time left, no other batch is begun. */
const LAST_BATCH_MS = 15_000
const OUTPUT_CHARACTERS = 2_000

/** Where a nightly run keeps its progress and writes its report. */
const FOLDER = join(root, '.cache', 'chaos')
const PROGRESS = join(FOLDER, 'nightly.json')
const REPORT = join(FOLDER, 'nightly.md')

export type NightlyOptions = {
  /** When to end, in minutes. Without it the run ends when every campaign has reached its number of schedules. */
  readonly minutes?: number
  /** Forgets the progress of earlier runs. */
  readonly fresh?: boolean
  readonly campaigns?: readonly Campaign[]
}

/**
 * Plays all campaigns in turns, a batch each, until each has reached its number of schedules or the time is over. Continues where the
 * last run stopped. Returns whether nothing failed.
 */
export async function nightly({
  minutes = Infinity,
  fresh = false,
  campaigns = CAMPAIGNS,
}: NightlyOptions): Promise<boolean> {
  if (fresh) rmSync(PROGRESS, { force: true })
  const progress = new Progress(PROGRESS)
  const from = Date.now()
  const end = from + minutes * 60_000
  const isDone = ({ name, schedules }: Campaign) => progress.of(name).schedules >= schedules
  let hasFailed = false
  for (let turn = 0; campaigns.some(campaign => !isDone(campaign)) && left() > LAST_BATCH_MS; turn++) {
    const campaign = campaigns[turn % campaigns.length] as Campaign
    if (isDone(campaign)) continue
    const state = progress.of(campaign.name)
    const before = state.failed.length + state.broken.length
    await playBatch(campaign, state, left())
    hasFailed ||= state.failed.length + state.broken.length > before
    progress.save()
    writeReport(campaigns, progress)
    console.log(lineOf(campaign, state, Date.now() - from))
  }
  writeReport(campaigns, progress)
  console.log(`\n${reportOf(campaigns, progress)}\nwritten to ${REPORT}`)
  return !hasFailed

  function left(): number {
    return end - Date.now()
  }
}

async function playBatch(campaign: Campaign, state: CampaignProgress, leftMs: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'))
  const file = join(folder, 'report.jsonl')
  const count = batchSize(campaign, state, leftMs)
  const env = {
    [VARIABLES.schedules]: String(count),
    [VARIABLES.seed]: String(state.nextSeed),
    [VARIABLES.factor]: '0',
    [VARIABLES.report]: file,
  }
  // A run that exceeds its batch by far is stuck: vitest ends it and names the test.
  const limit = String(20 * BATCH_MS)
  const args = ['run', join(root, campaign.file), '--testTimeout', limit, '--reporter', 'dot']
  const { code, ms, output } = await command('vitest', args, { quiet: true, env })
  const { played, failed } = readBatch(file)
  rmSync(folder, { recursive: true, force: true })
  state.nextSeed += count
  state.ms += ms
  state.schedules += played.schedules
  state.faults += played.faults
  state.deaths += played.deaths
  state.failed.push(...failed)
  if (code !== 0 && failed.length === 0) state.broken.push(output.slice(-OUTPUT_CHARACTERS))
}

/** As many schedules as fit into a batch by the rate so far, and into the time that is left. */
function batchSize(campaign: Campaign, state: CampaignProgress, leftMs: number): number {
  const missing = campaign.schedules - state.schedules
  if (state.schedules === 0) return Math.min(FIRST_BATCH, missing)
  const perSchedule = state.ms / state.schedules
  return Math.max(1, Math.min(missing, Math.floor(Math.min(BATCH_MS, leftMs / 2) / perSchedule)))
}

function readBatch(file: string): { played: Played; failed: FailedSchedule[] } {
  const played: Played = { schedules: 0, faults: 0, deaths: 0 }
  const failed: FailedSchedule[] = []
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  for (const line of lines) {
    const report = JSON.parse(line) as Partial<Played> & { failed?: FailedSchedule }
    if (report.failed) failed.push(report.failed)
    played.schedules += report.schedules ?? 0
    played.faults += report.faults ?? 0
    played.deaths += report.deaths ?? 0
  }
  return { played, failed }
}

function lineOf({ name, schedules }: Campaign, state: CampaignProgress, ms: number): string {
  const minutes = `${(ms / 60_000).toFixed(1)} min`.padStart(9)
  const share = `${state.schedules.toLocaleString('en')} of ${schedules.toLocaleString('en')}`
  const failures = state.failed.length + state.broken.length
  return `${minutes}  ${name.padEnd(22)} ${share.padStart(16)} schedules, ${state.deaths} deaths, ${failures} failed`
}

function writeReport(campaigns: readonly Campaign[], progress: Progress): void {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(REPORT, `${reportOf(campaigns, progress)}\n`)
}

/** The state of all campaigns as a Markdown table, and the failures below it. */
function reportOf(campaigns: readonly Campaign[], progress: Progress): string {
  const rows = campaigns.map(({ name, schedules }) => ({ name, aim: schedules, ...progress.of(name) }))
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0)
  const number = (value: number) => value.toLocaleString('en')
  const line = (name: string, ...values: string[]) => `| ${[name, ...values].join(' | ')} |`
  const table = [
    '| campaign | schedules | aim | faults injected | deaths | failed | minutes |',
    '|---|--:|--:|--:|--:|--:|--:|',
    ...rows.map(row =>
      line(
        row.name,
        ...[row.schedules, row.aim, row.faults, row.deaths, row.failed.length + row.broken.length].map(number),
        (row.ms / 60_000).toFixed(1),
      ),
    ),
    line(
      'all',
      ...[sum(row => row.schedules), sum(row => row.aim), sum(row => row.faults), sum(row => row.deaths)].map(number),
      number(sum(row => row.failed.length + row.broken.length)),
      (sum(row => row.ms) / 60_000).toFixed(1),
    ),
  ]
  const failures = rows.flatMap(({ name, failed, broken }) => [
    ...failed.map(({ seed, again }) => `- ${name}, seed ${seed}: \`${again}\``),
    ...broken.map(output => `- ${name}, without a seed:\n\n${output.replaceAll(/^/gm, '      ')}`),
  ])
  return [...table, '', failures.length === 0 ? 'No schedule failed.' : '## Failed\n', ...failures].join('\n')
}
