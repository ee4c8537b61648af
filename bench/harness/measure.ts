import { setTimeout } from 'node:timers/promises'
import { quantile } from './statistics.ts'
import type { Contender, Job, Load, Unit } from './suite.ts'

/** Measurement of one process, in ms per load. CPU time is user plus system time of all threads. */
export interface Sample {
  cpu: number
  wall: number
  /** Number of loads that `cpu` and `wall` are the mean of. */
  loads: number
  /** Percentiles of the job's own figures, for units other than `cpu` and `wall`. */
  p50?: number
  p99?: number
  /** Additional information, printed under the table. */
  notes?: string[]
}

/**
 * Minimum warm-up and approximate measured time, in ms. The compiler optimises after a time, not after a number of items. In a shorter
 * measurement a single garbage collection would dominate. `wall` work happens in another process or on a disk, so it needs less of both.
 */
const TIMES = { cpu: { warmUp: 400, measured: 300 }, wall: { warmUp: 250, measured: 250 } }
/** Times for `--quick`. */
const QUICK = { cpu: { warmUp: 200, measured: 100 }, wall: { warmUp: 100, measured: 100 } }
const MAX_LOADS = 200
/** Pause in ms after the warm-up, for background compilation and garbage collection. */
const SETTLE_MS = 100

/** Warms up a contender in this process, then repeats its load until enough time is measured. @throws if an output is wrong. */
export async function measure(contender: Contender, unit: Unit = 'cpu', isQuick = false): Promise<Sample> {
  const { load, warmUp } = contender
  if (unit !== 'cpu' && unit !== 'wall') {
    // Each item yields its own figure, so one load is enough.
    await run(contender, warmUp, 1, 0)
    return run(contender, load, 1, SETTLE_MS)
  }
  const times = (isQuick ? QUICK : TIMES)[unit]
  let [elapsed, last] = [0, 0]
  while (elapsed < times.warmUp) {
    last = (await run(contender, warmUp, 1, 0))[unit]
    elapsed += last
  }
  const expected = (last / itemsOf(warmUp)) * itemsOf(load)
  return run(contender, load, Math.min(MAX_LOADS, Math.ceil(times.measured / expected)), SETTLE_MS)
}

/** Runs `loads` loads without a pause, so that their garbage collection is part of the measured time. */
async function run(contender: Contender, load: Load, loads: number, settle: number): Promise<Sample> {
  const jobs: Job[][] = []
  for (let i = 0; i < loads; i++) jobs.push(await prepare(contender, load))
  await setTimeout(settle)
  // Retain only the current load and its outputs, so that memory does not depend on the number of loads.
  let current: Job[] = []
  let outputs: unknown[] = []
  const wall = performance.now()
  const cpu = process.cpuUsage()
  while (jobs.length > 0) {
    current = jobs.pop() as Job[]
    outputs = []
    for (const { run } of current) {
      const output = run()
      outputs.push(output instanceof Promise ? await output : output)
    }
  }
  const { user, system } = process.cpuUsage(cpu)
  const sample = { cpu: (user + system) / 1000 / loads, wall: (performance.now() - wall) / loads, loads }
  for (const [i, { check }] of current.entries()) await check(outputs[i])
  const figures = current.flatMap((job, i) => job.figures?.(outputs[i]) ?? [])
  const notes = current.flatMap((job, i) => job.notes?.(outputs[i]) ?? [])
  return {
    ...sample,
    ...(figures.length > 0 && { p50: quantile(figures, 0.5), p99: quantile(figures, 0.99) }),
    ...(notes.length > 0 && { notes }),
  }
}

async function prepare(contender: Contender, load: Load): Promise<Job[]> {
  const jobs: Job[] = []
  for (let workIndex = 0; workIndex < load.pieces; workIndex++)
    jobs.push(await contender.prepare(load.items, workIndex))
  return jobs
}

function itemsOf({ pieces, items }: Load): number {
  return pieces * items
}
