// Drivers that are killed with -9 in the middle of an answer, and the silence until another process continues it.
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openStore } from '@millrace/log'
import { createRuntime, type Runtime } from '@millrace/runtime'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import { type Job, job } from '../../harness/suite.ts'

/** Stores that several processes share. */
export type SharedBackend = 'sqlite' | 'redis' | 'postgres'

const AGENT = 'endless'
/** Number of drivers before a kill. */
const DRIVERS = 2
/** How long an answer streams before its driver is killed, in ms: its lease has been renewed twice by then. */
const STREAMED_MS = 2500
/** Over this time the kills are spread, in ms, so that they meet every moment between two renewals. */
const SPREAD_MS = 1000

/** Kills `count` drivers, one after the other. Measures the silence of each stream. */
export async function kills(backend: SharedBackend, count: number): Promise<Job> {
  const { runtime, killDriver } = await openDrivers(backend)
  return job(
    async () => {
      const silences: number[] = []
      for (let n = 0; n < count; n++) {
        silences.push(await silenceOf(runtime, killDriver, STREAMED_MS + (SPREAD_MS * n) / count))
      }
      return silences
    },
    silences => {
      if (silences.length !== count) throw new Error(`expected ${count} kills, found ${silences.length}`)
      if (!silences.every(ms => ms > 0)) throw new Error(`expected a silence after each kill, found ${silences}`)
    },
    silences => silences,
    silences => [`each silence in ms: ${silences.map(Math.round).join(', ')}`],
  )
}

/** The time between the last token of the killed driver and the first token of the next one, as a reader sees them. */
async function silenceOf(
  runtime: Runtime,
  killDriver: (pid: number) => Promise<void>,
  streamedMs: number,
): Promise<number> {
  const session = randomUUID()
  const run = await runtime.start({ session, agent: `agent:${AGENT}@1`, input: 'Go on.' })
  const reader = runtime.manager.readBatches(session, { after: 0, follow: true })
  let killing: Promise<void> | undefined
  let [isSuperseded, lastToken, firstToken] = [false, 0, 0]
  while (firstToken === 0) {
    const batch = await reader.next()
    for (const { chunk } of batch?.entries ?? []) {
      if (chunk.type === 'executor-superseded') isSuperseded = true
      if (chunk.type !== 'text-delta') continue
      if (isSuperseded) firstToken ||= performance.now()
      else lastToken = performance.now()
      killing ??= pause(streamedMs).then(async () => {
        const { lease } = (await runtime.manager.getInfo(session)) ?? {}
        await killDriver(Number(lease?.owner.split('#')[0]))
      })
    }
  }
  reader.close()
  await killing
  await runtime.stop(session, run.runId, { mode: 'abort' })
  await run.result()
  return firstToken - lastToken
}

/** Drivers of a store, and a runtime in this process that only reads. */
const openDrivers = openOnce(async (backend: SharedBackend) => {
  const url = backend === 'sqlite' ? `sqlite:${join(serviceUrl('folder'), 'kills.db')}` : serviceUrl(backend)
  const store = await openStore(url)
  const runtime = createRuntime({ store, engine: false })
  const drivers = new Map<number, ChildProcess>()
  const start = async () => {
    const child = fork(join(import.meta.dirname, 'driver.child.ts'), [url, AGENT], { execArgv: process.execArgv })
    drivers.set(child.pid as number, child)
    await once(child, 'message')
  }
  const end = async (child: ChildProcess) => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await Promise.all(Array.from({ length: DRIVERS }, start))
  onCleanup(async () => {
    await Promise.all([...drivers.values()].map(end))
    await runtime.close()
    await store.close()
  })
  return {
    runtime,
    /** Kills a driver with -9 and starts another one in its place. */
    async killDriver(pid: number): Promise<void> {
      const child = drivers.get(pid)
      if (child === undefined) throw new Error(`expected the pid of a driver, found ${pid}`)
      drivers.delete(pid)
      await end(child)
      await start()
    },
  }
})
