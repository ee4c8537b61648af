import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../command.ts'
import { type BatchResult, playBatch } from './batch.ts'
import { CAMPAIGNS, type Campaign } from './campaigns.ts'
import { type CampaignProgress, Progress } from './progress.ts'

/** Above the seeds that `npm test` plays. */
const FIRST_SEED = 100_000

/** How long one batch of schedules should take. */
const BATCH_MS = 30_000
/** A batch that takes longer is stuck. */
const MAX_BATCH_MS = 1_200_000
/** How many seeds the first batch plays, when their speed is not known yet. */
const FIRST_BATCH = 2
/** With less time left, no other batch is begun. */
const LAST_BATCH_MS = 15_000
/** A batch is killed when it exceeds the remaining time by this. */
const OVERTIME_MS = 60_000
/** A campaign with this many broken batches is skipped for the rest of the run. */
const MAX_BROKEN = 2

export type NightlyOptions = {
  /** When to end, in minutes. Without it, the run ends when every campaign has reached its number of schedules. */
  readonly minutes?: number
  /** Forgets the progress of earlier runs. @default false */
  readonly fresh?: boolean
  readonly campaigns?: readonly Campaign[]
  /** Folder of the progress (`nightly.json`) and the report (`nightly.md`). @default '.cache/chaos' */
  readonly folder?: string
  readonly play?: typeof playBatch
  readonly now?: () => number
}

/**
 * Plays all campaigns in turns, a batch each, until each has reached its number of schedules or the time is over. Continues where the
 * last run stopped. Returns whether this run passed.
 */
export async function nightly(options: NightlyOptions = {}): Promise<boolean> {
  const { minutes = Infinity, fresh = false, campaigns = CAMPAIGNS, play = playBatch, now = Date.now } = options
  const folder = options.folder ?? join(root, '.cache', 'chaos')
  const reportFile = join(folder, 'nightly.md')
  mkdirSync(folder, { recursive: true })
  const progress = new Progress(join(folder, 'nightly.json'), fresh)
  const from = now()
  const leftMs = () => from + minutes * 60_000 - now()
  const broken = new Map<string, number>()
  const isDone = ({ name, schedules }: Campaign) =>
    progress.of(name).schedules >= schedules || (broken.get(name) ?? 0) >= MAX_BROKEN
  const failuresBefore = progress.failures
  for (let turn = 0; campaigns.some(campaign => !isDone(campaign)) && leftMs() > LAST_BATCH_MS; turn++) {
    const campaign = campaigns[turn % campaigns.length] as Campaign
    if (isDone(campaign)) continue
    const state = progress.of(campaign.name)
    const count = batchSize(campaign, state, leftMs())
    const begun = now()
    const timeoutMs = Math.min(MAX_BATCH_MS, leftMs() + OVERTIME_MS)
    const seed = FIRST_SEED + state.seeds
    const result = await play(campaign.file, seed, count, timeoutMs)
    if (result.broken !== undefined) broken.set(campaign.name, (broken.get(campaign.name) ?? 0) + 1)
    progress.add(campaign.name, { ...result, seeds: seedsOf(result, seed, count), ms: now() - begun })
    writeFileSync(reportFile, reportOf(campaigns, progress))
    console.log(lineOf(campaign, state, now() - from))
  }
  writeFileSync(reportFile, reportOf(campaigns, progress))
  console.log(`\n${reportOf(campaigns, progress)}\nreport: ${reportFile}`)
  return progress.failures === failuresBefore
}

/** Number of seeds for the next batch, by the speed so far and the remaining time. Some suites play several schedules per seed. */
function batchSize(
  { schedules }: Campaign,
  { seeds, ms, schedules: played }: CampaignProgress,
  leftMs: number,
): number {
  if (played === 0) return FIRST_BATCH
  const missing = Math.ceil(((schedules - played) * seeds) / played)
  const fitting = Math.floor((Math.min(BATCH_MS, leftMs / 2) * seeds) / ms)
  return Math.max(1, Math.min(missing, fitting))
}

/** Number of seeds of a batch that count as played. A suite stops at a failure, and a broken batch proves nothing. */
function seedsOf({ failed, broken }: BatchResult, seed: number, count: number): number {
  if (broken !== undefined) return 0
  const seeds = failed.map(each => Number(each.seed)).filter(Number.isInteger)
  return seeds.length === 0 ? count : Math.max(...seeds) - seed + 1
}

function lineOf({ name, schedules }: Campaign, state: CampaignProgress, ms: number): string {
  const minutes = `${(ms / 60_000).toFixed(1)} min`.padStart(9)
  const share = `${grouped(state.schedules)} of ${grouped(schedules)}`
  const failed = state.failed.length + state.broken.length
  return `${minutes}  ${name.padEnd(20)} ${share.padStart(16)} schedules, ${grouped(state.faults)} faults, ${grouped(state.deaths)} deaths, ${failed} failed`
}

/** The state of all campaigns as a Markdown table, and the failures below it. */
function reportOf(campaigns: readonly Campaign[], progress: Progress): string {
  const rows = campaigns.map(({ name, schedules }) => {
    const { failed, broken, ms, ...played } = progress.of(name)
    const values = [played.schedules, schedules, played.faults, played.deaths, failed.length + broken.length, ms]
    return { name, values }
  })
  const total = rows.reduce<number[]>((sums, { values }) => values.map((value, i) => value + (sums[i] ?? 0)), [])
  const table = [...rows, { name: '**all**', values: total }].map(({ name, values }) => {
    const [ms = 0] = values.slice(-1)
    return `| ${[name, ...values.slice(0, -1).map(grouped), (ms / 60_000).toFixed(1)].join(' | ')} |`
  })
  const failures = campaigns.flatMap(({ name }) => [
    ...progress.of(name).failed.map(({ seed, again, output }) => {
      const details = output === undefined ? '' : `\n\n${indented(output)}\n`
      return `- ${name}, seed ${seed}: \`${again}\`${details}`
    }),
    ...progress.of(name).broken.map(output => `- ${name}, no seed:\n\n${indented(output)}`),
  ])
  return [
    '| campaign | schedules | aim | faults injected | deaths | failed | minutes |',
    '|---|--:|--:|--:|--:|--:|--:|',
    ...table,
    '',
    ...(failures.length === 0 ? ['No schedule failed.'] : ['Failed:', '', ...failures]),
    '',
  ].join('\n')
}

const indented = (text: string): string => text.replaceAll(/^/gm, '      ')

function grouped(value: number): string {
  return value.toLocaleString('en')
}
