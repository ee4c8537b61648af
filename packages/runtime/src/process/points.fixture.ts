// A store that counts the calls which change something, and at one of them does with its process what the moment says.

import { LogError, type LogStore } from '@millrace/log'
import { type Moment, POINTS, type Point, type Told } from './told.fixture.ts'

const isPoint = (name: string): name is Point => (POINTS as readonly string[]).includes(name)

/**
 * Wraps a store. What `say` is given must be on its way when it returns: nothing may run after it. Of a file that processes share, no
 * process falls asleep while another call is under way: it might hold the file's lock, and then nobody could go on before it wakes up.
 */
export function pointed(
  store: LogStore,
  moment: Moment | undefined,
  say: (told: Told) => void,
  isFile: boolean,
): LogStore {
  let n = 0
  let underWay = 0
  let quiet = Promise.withResolvers<void>()

  async function meet(point: Point, when: Moment['when'], at: number): Promise<void> {
    if (moment === undefined || at !== moment.n || when !== moment.when) return
    while (isFile && moment.does === 'sleep' && underWay > 0) await quiet.promise
    say({ kind: 'reached', point, n: at })
    if (moment.does === 'halt') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    if (moment.does !== 'sleep') return
    // It takes effect before the call returns: nothing of this process runs until it is woken.
    process.kill(process.pid, 'SIGSTOP')
    say({ kind: 'awake' })
  }

  async function counted(made: () => unknown): Promise<unknown> {
    underWay++
    try {
      return await made()
    } finally {
      if (--underWay === 0) {
        quiet.resolve()
        quiet = Promise.withResolvers()
      }
    }
  }

  async function call(name: string, made: () => unknown): Promise<unknown> {
    try {
      if (!isPoint(name) || !moment?.of.includes(name)) return await counted(made)
      const at = ++n
      await meet(name, 'before', at)
      const result = await counted(made)
      await meet(name, 'after', at)
      return result
    } catch (error) {
      if (error instanceof LogError && error.code === 'unavailable') say({ kind: 'trouble', call: name })
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
