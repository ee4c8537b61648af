import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { root } from '../command.ts'
import { folder } from '../folder.fixture.ts'
import { playBatch } from './batch.ts'
import { CAMPAIGNS } from './campaigns.ts'
import { nightly } from './nightly.ts'

const BATCH = { faults: 3, deaths: 1, failed: [] }

function quiet(): void {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  onTestFinished(() => log.mockRestore())
}

/** A clock that a batch moves on, and the batches that were played. */
function player(batchMs: number) {
  const played: [file: string, seed: number, count: number][] = []
  let time = 0
  const play: typeof playBatch = async (file, seed, count) => {
    played.push([file, seed, count])
    time += batchMs * count
    return { ...BATCH, schedules: count }
  }
  return { played, options: { play, now: () => time } }
}

const report = (home: string) => readFileSync(join(home, 'nightly.md'), 'utf8')

test('plays campaigns in turns until each has reached its number of schedules', async () => {
  quiet()
  const home = folder({})
  const { played, options } = player(100)
  const campaigns = [
    { name: 'one', file: 'one.test.ts', schedules: 25 },
    { name: 'two', file: 'two.test.ts', schedules: 5 },
  ]
  expect(await nightly({ ...options, campaigns, folder: home })).toBe(true)
  expect(played).toEqual([
    ['one.test.ts', 100_000, 2],
    ['two.test.ts', 100_000, 2],
    ['one.test.ts', 100_002, 23],
    ['two.test.ts', 100_002, 3],
  ])
  expect(report(home)).toContain('| one | 25 | 25 | 6 | 2 | 0 | 0.0 |')
  expect(report(home)).toContain('| **all** | 30 | 30 | 12 | 4 | 0 | 0.1 |')
  expect(report(home)).toContain('No schedule failed.')
})

test('ends when the time is over, and continues with the next seed in the next run', async () => {
  quiet()
  const home = folder({})
  const campaigns = [{ name: 'one', file: 'one.test.ts', schedules: 1000 }]
  const first = player(1_000)
  await nightly({ ...first.options, campaigns, folder: home, minutes: 1 })
  const count = first.played.reduce((sum, [, , schedules]) => sum + schedules, 0)
  expect(count).toBeGreaterThanOrEqual(40)
  expect(count).toBeLessThanOrEqual(60)
  const second = player(1_000)
  await nightly({ ...second.options, campaigns, folder: home, minutes: 1 })
  expect(second.played[0]?.[1]).toBe(100_000 + count)
  const fresh = player(1_000)
  await nightly({ ...fresh.options, campaigns, folder: home, minutes: 1, fresh: true })
  expect(fresh.played[0]?.[1]).toBe(100_000)
})

test('reports failed seeds with the command that replays them and their output, and fails', async () => {
  quiet()
  const home = folder({})
  const campaigns = [{ name: 'one', file: 'one.test.ts', schedules: 5 }]
  const replayCommand = 'npm run chaos -- --runs 1 --seed 100003 one'
  const failed = [{ seed: 100_003, again: replayCommand, output: 'gave up waiting' }]
  const play: typeof playBatch = async () => ({ ...BATCH, schedules: 5, failed })
  expect(await nightly({ play, campaigns, folder: home })).toBe(false)
  expect(report(home)).toContain(`- one, seed 100003: \`${replayCommand}\``)
  expect(report(home)).toContain('      gave up waiting')
})

test('reports a batch that fails without a seed by its output', async () => {
  quiet()
  const home = folder({})
  const campaigns = [{ name: 'one', file: 'one.test.ts', schedules: 5 }]
  const play: typeof playBatch = async () => ({ ...BATCH, schedules: 5, broken: 'Redis is not installed' })
  expect(await nightly({ play, campaigns, folder: home })).toBe(false)
  expect(report(home)).toContain('Redis is not installed')
})

test('leaves a campaign out after two broken batches, and plays its seeds again in the next run', async () => {
  quiet()
  const home = folder({})
  const campaigns = [{ name: 'one', file: 'one.test.ts', schedules: 5 }]
  const seeds: number[] = []
  const play: typeof playBatch = async (_, seed) => {
    seeds.push(seed)
    return { ...BATCH, schedules: 0, broken: 'Redis is not installed' }
  }
  expect(await nightly({ play, campaigns, folder: home })).toBe(false)
  expect(seeds).toEqual([100_000, 100_000])
})

test('continues after a failed seed, at which a suite stops', async () => {
  quiet()
  const home = folder({})
  const campaigns = [{ name: 'one', file: 'one.test.ts', schedules: 3 }]
  const seeds: number[] = []
  const play: typeof playBatch = async (_, seed) => {
    seeds.push(seed)
    return { ...BATCH, schedules: 1, failed: seed === 100_000 ? [{ seed, again: 'again' }] : [] }
  }
  expect(await nightly({ play, campaigns, folder: home })).toBe(false)
  expect(seeds.slice(0, 2)).toEqual([100_000, 100_001])
})

test('a batch plays the asked number of real schedules and counts them', async () => {
  const result = await playBatch('packages/log/src/test/chaos/memory.test.ts', 100_000, 3, 120_000)
  expect(result).toMatchObject({ failed: [] })
  expect(result.broken).toBeUndefined()
  expect(result.schedules).toBeGreaterThanOrEqual(3)
  expect(result.faults).toBeGreaterThan(0)
})

test('every campaign is a test file, and every suite of schedules is a campaign', () => {
  for (const { file } of CAMPAIGNS) expect(existsSync(join(root, file)), file).toBe(true)
  const suites = globSync('packages/*/src/**/*.{test,fixture}.{ts,tsx}', { cwd: root }).filter(file =>
    readFileSync(join(root, file), 'utf8').includes('scheduleCount('),
  )
  const folders = new Set(CAMPAIGNS.map(({ file }) => file.replace(/\/[^/]+$/, '')))
  expect(suites.filter(file => !folders.has(file.replace(/\/[^/]+$/, '')))).toEqual([])
})
