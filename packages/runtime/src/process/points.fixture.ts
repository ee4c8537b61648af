// A store that counts the calls which change something, and at one of them does with its process what the moment says.

import { existsSync, rmSync } from 'node:fs'
import { LogError, type LogStore } from '@millrace/log'
import { alarmOf, type Moment, type Opening, POINTS, type Point, type Told } from './process-messages.fixture.ts'

/** How often one that sleeps looks whether it is woken. */
const LOOK_MS = 5

const isPoint = (name: string): name is Point => (POINTS as readonly string[]).includes(name)

const standStill = (ms?: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/**
 * Wraps a store. What `say` is given must be on its way when it returns: nothing may run after it. Who sleeps does so in its main thread, where
 * all of it runs but the thread of a file's store. That ends what it was asked for, and lets go of the file: stopped within a checkpoint,
 * which is under no call of the store, it would keep the lock of those who write, and nobody could go on before it wakes up.
 */
export function pointed(
  store: LogStore,
  opening: Pick<Opening, 'moment' | 'ledger' | 'tag'>,
  say: (told: Told) => void,
): LogStore {
  const { moment } = opening
  const alarm = alarmOf(opening)
  let n = 0

  function meet(point: Point, when: Moment['when'], at: number): void {
    if (moment === undefined || at !== moment.n || when !== moment.when) return
    // Who hears of this moment sets it; one that is there is of another schedule.
    rmSync(alarm, { force: true })
    say({ kind: 'reached', point, n: at })
    if (moment.does === 'halt') standStill()
    if (moment.does !== 'sleep') return
    while (!existsSync(alarm)) standStill(LOOK_MS)
    say({ kind: 'awake' })
  }

  async function call(name: string, made: () => unknown): Promise<unknown> {
    try {
      if (!isPoint(name) || !moment?.of.includes(name)) return await made()
      const at = ++n
      meet(name, 'before', at)
      const result = await made()
      meet(name, 'after', at)
      return result
    } catch (error) {
      if (error instanceof LogError && error.code === 'unavailable')
        say({ kind: 'trouble', call: name, why: error.message })
      throw error
    }
  }

  return new Proxy(store, {
    get(target, name: keyof LogStore) {
      const value = target[name] as unknown
      if (typeof value !== 'function') return value
      const made = value.bind(target) as (...args: unknown[]) => unknown
      // A watch begins at once.
      return name === 'watch' ? made : (...args: unknown[]) => call(name, () => made(...args))
    },
  })
}
