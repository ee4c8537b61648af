// Schedules by seed: the seeds of each kind, and the checks after each schedule.

import { beforeAll, describe, expect, test } from 'vitest'
import {
  firstSeed,
  isCampaign,
  multiplied,
  reportFailed,
  reportPlayed,
  scheduleCount,
} from '../../../../../scripts/faults/campaign.ts'
import { Random } from '../chaos/random.fixture.ts'
import { problemsOfAcks, problemsOfBlobs, problemsOfLog, problemsOfReader, readWhole } from './fault-verdict.fixture.ts'
import { FaultHarness, type TestStore } from './store-fault-harness.fixture.ts'
import type { StoreProcessPool } from './store-process-pool.fixture.ts'
import { openStoreSpec } from './store-spec.fixture.ts'

/** One kind of schedule: its actions, drawn from a seed, and the number of seeds in `npm test`. */
interface ScheduleKind {
  play(harness: FaultHarness, random: Random): Promise<void>
  /** 0 if the other stores cover it: then only `npm run chaos` plays it here. */
  readonly count: number
  /** @default the first seed of the backend */
  readonly first?: number
  /** Seeds that failed before. Every run plays them. */
  readonly kept?: readonly number[]
}

export interface Backend {
  readonly name: string
  /** The first seed of each kind. Every backend has its own. */
  readonly first: number
  readonly kinds: { readonly [name: string]: ScheduleKind }
  processes(): StoreProcessPool
  /** The store of one schedule. */
  testStore(random: Random, name: string): Promise<TestStore>
  /** Further problems of the store after a schedule. */
  inspect?(testStore: TestStore): Promise<string[]>
}

/** Schedules to replay, as `kind:seed`. */
const ONLY = process.env['MILLRACE_FAULTS']?.split(',')

/** Declares the tests of a backend. */
export function schedules(backend: Backend): void {
  describe(`${backend.name}: every law holds while processes, servers and connections fail`, () => {
    for (const [name, kind] of Object.entries(backend.kinds)) {
      const { count, kept = [], first = backend.first } = kind
      const isChaos = isCampaign() || multiplied(1) > 1
      const length = scheduleCount(isChaos ? Math.max(1, count) : count)
      const drawn = Array.from({ length }, (_, i) => firstSeed(first) + i)
      const selected = ONLY?.flatMap(id => (id.startsWith(`${name}:`) ? [Number(id.slice(name.length + 1))] : []))
      const seeds = new Set(selected ?? [...kept, ...drawn])
      if (seeds.size === 0) continue
      describe(name, () => {
        beforeAll(() => backend.processes().fill())
        for (const seed of seeds) test(`seed ${seed}`, () => run(backend, kind, `${name}:${seed}`, seed))
      })
    }
  })
}

async function run(backend: Backend, { play }: ScheduleKind, id: string, seed: number): Promise<void> {
  const random = new Random(seed).fork(id)
  const name = id.replace(':', '-')
  const harness = new FaultHarness(
    name,
    seed,
    await backend.testStore(random.fork('ground'), name),
    backend.processes(),
  )
  try {
    await play(harness, random)
    await harness.finish()
    const problems = [...(await problemsOf(harness)), ...((await backend.inspect?.(harness.testStore)) ?? [])]
    expect(problems).toEqual([])
  } catch (error) {
    // The next schedule needs the server up. Errors here only follow from the first failure.
    await harness.killAll().catch(() => {})
    await harness.testStore.service?.restart().catch(() => {})
    const replayCommand = `MILLRACE_FAULTS=${id} npm test -- packages/log/src/test/faults/${backend.name}.test.ts`
    const cause = error instanceof Error ? error : new Error(String(error))
    cause.message = `${cause.message}\n  ${[...harness.notes, `to play it again: ${replayCommand}`].join('\n  ')}`
    reportFailed({ seed: id, again: replayCommand })
    throw cause
  }
  const { notes, deaths } = harness
  reportPlayed({ faults: notes.length, deaths })
  await harness.close()
}

/** Problems in the logs of a schedule, read through a fresh handle. */
async function problemsOf(harness: FaultHarness): Promise<string[]> {
  const problems: string[] = []
  const store = await openStoreSpec(harness.patientSpec)
  try {
    for (const [streamId, record] of harness.records) {
      const whole = await readWhole(store, streamId)
      const found = [
        ...problemsOfLog(whole),
        ...problemsOfAcks(whole, record),
        ...(await problemsOfBlobs(store, streamId, whole)),
        ...record.losses
          .filter(({ by, code }) => !harness.mayLose(by, code))
          .map(({ by, message }) => `${by}: ${message}`),
      ]
      for (const reader of harness.readers.values()) {
        if (reader.streamId === streamId) found.push(...(await problemsOfReader(store, whole, reader)))
      }
      problems.push(...found.map(problem => `${streamId}: ${problem}`))
    }
  } finally {
    await store.close()
  }
  return problems
}
