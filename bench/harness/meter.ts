import { setTimeout } from 'node:timers/promises'
import { quantile } from './statistics.ts'
import type { Contender, Job, Load, Unit } from './suite.ts'

/** What one process measured, in milliseconds a load. CPU time is user and system time of all threads. */
export interface Sample {
  cpu: number
  wall: number
  /** How many loads the figures are the mean of. */
  loads: number
  /** Where something else than time was measured: the middle of its figures, and what one in a hundred exceeds. */
  p50?: number
  p99?: number
  /** What else is to be said of it. */
  remarks?: string[]
}

/**
 * The least milliseconds of warm-up, since the compiler waits for a contender's time, not for its items; and how many to measure, about: in fewer, one
 * collection more or less would decide. Where the work is not ours to do, there is less to compile and to collect.
 */
const TIMES = { cpu: { warmUp: 400, measured: 300 }, wall: { warmUp: 250, measured: 250 } }
/** The same where there is little time. */
const QUICK = { cpu: { warmUp: 200, measured: 100 }, wall: { warmUp: 100, measured: 100 } }
const MOST_LOADS = 200
/** Milliseconds in which the compiler and the collector may finish what the warm-up left them. */
const SETTLE = 100

/** Warms a contender up in this process, then measures its load, as often as it takes; throws when an output is wrong. */
export async function measure(contender: Contender, unit: Unit = 'cpu', isQuick = false): Promise<Sample> {
  const { load, warmUp } = contender
  if (unit !== 'cpu' && unit !== 'wall') {
    // Each item is a figure of its own: one load has as many as are wanted.
    await run(contender, warmUp, 1, 0)
    return run(contender, load, 1, SETTLE)
  }
  const times = (isQuick ? QUICK : TIMES)[unit]
  let [spent, last] = [0, 0]
  while (spent < times.warmUp) {
    last = (await run(contender, warmUp, 1, 0))[unit]
    spent += last
  }
  const expected = (last / itemsOf(warmUp)) * itemsOf(load)
  return run(contender, load, Math.min(MOST_LOADS, Math.ceil(times.measured / expected)), SETTLE)
}

/** Runs so many loads without a pause, so that what the collector does for them falls into the time that is measured. */
async function run(contender: Contender, load: Load, loads: number, settle: number): Promise<Sample> {
  const jobs: Job[][] = []
  for (let i = 0; i < loads; i++) jobs.push(await prepare(contender, load))
  await setTimeout(settle)
  // Of all loads only the one at hand is kept, with what it gave: the same amount, however many pieces it consists of.
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
  const remarks = current.flatMap((job, i) => job.remarks?.(outputs[i]) ?? [])
  return {
    ...sample,
    ...(figures.length > 0 && { p50: quantile(figures, 0.5), p99: quantile(figures, 0.99) }),
    ...(remarks.length > 0 && { remarks }),
  }
}

async function prepare(contender: Contender, load: Load): Promise<Job[]> {
  const jobs: Job[] = []
  for (let piece = 0; piece < load.pieces; piece++) jobs.push(await contender.prepare(load.items, piece))
  return jobs
}

function itemsOf({ pieces, items }: Load): number {
  return pieces * items
}
