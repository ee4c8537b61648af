// Schedules from seeds: which of a kind are played, and what is looked at after each.

import { describe, expect, test } from 'vitest'
import { Random } from '../chaos/random.fixture.ts'
import type { Processes } from './actor.fixture.ts'
import { problemsOfAcks, problemsOfBlobs, problemsOfLog, problemsOfReader, readWhole } from './check.fixture.ts'
import { openSpec } from './spec.fixture.ts'
import { type Ground, Stage } from './stage.fixture.ts'

/** One kind of schedule: what happens, as drawn from a seed, and how many seeds are played. */
interface Kind {
  play(stage: Stage, random: Random): Promise<void>
  readonly count: number
  /** Seeds that have failed once: they are always played. */
  readonly kept?: readonly number[]
}

export interface Backend {
  readonly name: string
  readonly kinds: { readonly [name: string]: Kind }
  processes(): Processes
  /** What a schedule plays on. */
  ground(random: Random, name: string): Promise<Ground>
  /** What else is wrong with the store after a schedule. */
  inspect?(ground: Ground): Promise<string[]>
}

const RUNS = Number(process.env['MILLRACE_RUNS'] ?? 1)
const FIRST = Number(process.env['MILLRACE_SEED'] ?? 1)
/** Which schedules are played again, `kind:seed` each. */
const ONLY = process.env['MILLRACE_FAULTS']?.split(',')

/** Declares the tests of a backend. */
export function schedules(backend: Backend): void {
  describe(`${backend.name}, with processes and servers that die`, () => {
    for (const [name, kind] of Object.entries(backend.kinds)) {
      const { count, kept = [] } = kind
      const drawn = Array.from({ length: Math.ceil(count * RUNS) }, (_, i) => FIRST + i)
      const again = ONLY?.flatMap(id => (id.startsWith(`${name}:`) ? [Number(id.slice(name.length + 1))] : []))
      for (const seed of new Set(again ?? [...kept, ...drawn])) {
        test(`${name}:${seed}`, () => run(backend, kind, `${name}:${seed}`, seed))
      }
    }
  })
}

async function run(backend: Backend, { play }: Kind, id: string, seed: number): Promise<void> {
  const random = new Random(seed).fork(id)
  const name = id.replace(':', '-')
  const stage = new Stage(name, seed, await backend.ground(random.fork('ground'), name), backend.processes())
  try {
    await play(stage, random)
    await stage.finish()
    const problems = [...(await problemsOf(stage)), ...((await backend.inspect?.(stage.ground)) ?? [])]
    expect(problems).toEqual([])
  } catch (error) {
    // Whatever state it has failed in, the next schedule finds the server up; what fails here only follows from that.
    await stage.abandon().catch(() => {})
    await stage.ground.service?.restart().catch(() => {})
    const again = `MILLRACE_FAULTS=${id} npx vitest run packages/log/src/faults/${backend.name}.test.ts`
    const said = error instanceof Error ? error : new Error(String(error))
    said.message = `${said.message}\n  ${[...stage.notes, `to play it again: ${again}`].join('\n  ')}`
    throw said
  }
  await stage.leave()
}

/** What is wrong with the logs of a schedule, read through a fresh handle. */
async function problemsOf(stage: Stage): Promise<string[]> {
  const problems: string[] = []
  const store = await openSpec(stage.ground.spec)
  try {
    for (const [streamId, record] of stage.records) {
      const whole = await readWhole(store, streamId)
      const found = [
        ...problemsOfLog(whole),
        ...problemsOfAcks(whole, record),
        ...(await problemsOfBlobs(store, streamId, whole)),
        ...record.losses
          .filter(({ by, code }) => !stage.mayLose(by, code))
          .map(({ by, message }) => `${by}: ${message}`),
      ]
      for (const reader of stage.readers.values()) {
        if (reader.streamId === streamId) found.push(...(await problemsOfReader(store, whole, reader)))
      }
      problems.push(...found.map(problem => `${streamId}: ${problem}`))
    }
  } finally {
    await store.close()
  }
  return problems
}
