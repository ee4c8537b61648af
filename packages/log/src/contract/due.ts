import type { Due, LogStore } from '../store/log-store.ts'
import { assertEqual, assertTrue, describeAppend } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { LONG_MS, SHORT_MS, type Trial } from './trial.ts'
import { batch, guest, move } from './writer.ts'

/** More than all cases have due, so that no log is cut off by the limit. */
const MAX_LOGS = 10_000

/** The interface: finds logs that a driver should drive. */
export const due: readonly ContractCase[] = [
  define(
    'interface',
    'due: finds a log with a ticket due now, not one that is never due or never moved',
    async trial => {
      const setup = await setUp(trial)
      const now = await setup.createDueLog('now', 'now')
      await setup.createDueLog('never', null)
      await trial.log(setup.store, 'unmoved')
      await setup.finds([now], 'the log that is due now')
    },
  ),

  define('interface', 'due: a deadline is due once the clock of the store has passed it', async trial => {
    const setup = await setUp(trial)
    const { store } = setup
    const clockLog = await trial.log(store, 'clock')
    const { clock } = await trial.head(store, clockLog)
    const far = await setup.createDueLog('far', clock + LONG_MS)
    const overdue = await setup.createDueLog('past', clock - 5)
    const zero = await setup.createDueLog('zero', 0)
    await setup.finds([zero, overdue], 'deadlines that have passed')
    const nearDeadline = (await trial.head(store, clockLog)).clock + SHORT_MS
    const near = await setup.createDueLog('near', nearDeadline)
    const early = await setup.found()
    const { clock: then } = await trial.head(store, clockLog)
    assertTrue(then >= nearDeadline || !early.includes(near), 'a deadline that is still to come is not due', {
      nearDeadline,
      then,
      early,
    })
    await trial.reach(store, clockLog, nearDeadline)
    await setup.finds([zero, overdue, near], 'deadlines that have passed, after the nearest one passed')
    assertTrue(!(await setup.found()).includes(far), 'a far deadline is not due')
  }),

  define('interface', 'due: a ticket is due to its program alone, or to every driver', async trial => {
    const setup = await setUp(trial)
    const [one, two] = [trial.name('one'), trial.name('two')]
    const ofOne = await setup.createDueLog('of-one', 'now', one)
    const ofTwo = await setup.createDueLog('of-two', 'now', two)
    const ofAll = await setup.createDueLog('of-all', 'now', null)
    const finds = async (programs: string[], ids: string[]) =>
      assertEqual((await setup.found(programs)).sort(), ids.sort(), `the logs due to ${programs.length} programs`)
    await finds([one], [ofOne, ofAll])
    await finds([two], [ofTwo, ofAll])
    await finds([one, two], [ofOne, ofTwo, ofAll])
    await finds([one, one], [ofOne, ofAll])
    await finds([trial.name('another')], [ofAll])
    await finds([], [ofAll])
  }),

  define('interface', 'due: a live lease hides a log; an expired or released lease does not', async trial => {
    const setup = await setUp(trial)
    const { store } = setup
    const streamId = await setup.createDueLog('log', 'now')
    const first = await trial.writer(store, streamId, SHORT_MS)
    const early = await setup.found()
    const { clock } = await trial.head(store, streamId)
    assertTrue(clock >= first.until || early.length === 0, 'a log under a live lease is not due', early)
    await trial.reach(store, streamId, first.until)
    await setup.finds([streamId], 'a log whose lease ran out')
    await store.renew(streamId, first.epoch, LONG_MS)
    await setup.finds([], 'a log whose lease was renewed')
    const second = await trial.writer(store, streamId, LONG_MS, true)
    await setup.finds([], 'a log that was taken over')
    await store.release(streamId, first.epoch)
    await setup.finds([], 'a log after a release of another epoch')
    await store.release(streamId, second.epoch)
    await setup.finds([streamId], 'a log that was released')
  }),

  define('interface', 'due: a log is due when both its deadline and its lease have passed', async trial => {
    const setup = await setUp(trial)
    const { store } = setup
    const streamId = await trial.log(store, 'log')
    const writer = await trial.writer(store, streamId)
    const { clock, version } = await trial.head(store, streamId)
    const at = clock + SHORT_MS
    await writer.append(batch('a'), move(version, 's', { at, program: setup.program }))
    await trial.reach(store, streamId, at)
    await setup.finds([], 'a deadline that passed under a live lease')
    await store.release(streamId, writer.epoch)
    await setup.finds([streamId], 'a passed deadline after the release of the lease')

    const second = await trial.log(store, 'second')
    const brief = await trial.writer(store, second, SHORT_MS)
    const { version: next } = await trial.head(store, second)
    await brief.append(batch('a'), move(next, 's', { at: (await trial.head(store, second)).clock - 1, program: null }))
    await trial.reach(store, second, brief.until)
    assertTrue((await setup.found([])).includes(second), 'a log whose lease has expired')
  }),

  define('interface', 'due: the current ticket decides', async trial => {
    const setup = await setUp(trial)
    const { store, program } = setup
    const other = trial.name('other')
    const streamId = await setup.createDueLog('log', 'now')
    const becomes = async (next: Due) => {
      const { version } = await trial.head(store, streamId)
      const result = await store.append(streamId, batch('x'), guest(), move(version, 's', next))
      assertTrue(result.outcome === 'appended', 'an append that moves the ticket', describeAppend(result))
    }
    await becomes({ at: null, program })
    await setup.finds([], 'a log that is no longer due')
    await becomes({ at: 'now', program: other })
    await setup.finds([], 'a log that is due to another program')
    assertEqual(await setup.found([other]), [streamId], 'the logs due to the other program')
    await becomes({ at: 'now', program: null })
    await setup.finds([streamId], 'a log that is due to every driver')
    await becomes({ at: (await trial.head(store, streamId)).clock + LONG_MS, program })
    await setup.finds([], 'a log that is due later')
    await becomes({ at: 'now', program })
    await store.append(streamId, batch('no move'), guest())
    await store.trim(streamId, 4)
    await setup.finds([streamId], 'a log that was appended to and trimmed since')
  }),

  define('interface', 'due: a refused append makes nothing due', async trial => {
    const setup = await setUp(trial)
    const { store, program } = setup
    const streamId = await trial.log(store)
    const ticket = move('0.another.0', 's', { at: 'now', program })
    assertEqual(
      describeAppend(await store.append(streamId, batch('a'), guest(), ticket)),
      'moved',
      'an append on another version',
    )
    await setup.finds([], 'the due logs after a refused append')
  }),

  define('interface', 'due: longest due first, each once', async trial => {
    const setup = await setUp(trial)
    const { store } = setup
    const clockLog = await trial.log(store, 'clock')
    const { clock } = await trial.head(store, clockLog)
    const second = await setup.createDueLog('second', clock - 2000)
    const fourth = await setup.createDueLog('fourth', 'now')
    const first = await setup.createDueLog('first', clock - 9000)
    await trial.tick(store, clockLog)
    const fifth = await setup.createDueLog('fifth', 'now', null)
    const third = await setup.createDueLog('third', clock - 1000, null)
    assertEqual(await setup.found(), [first, second, third, fourth, fifth], 'the order')
  }),

  define(
    8,
    'due: returns at most the limit, longest due first',
    async trial => {
      const setup = await setUp(trial)
      for (const i of [0, 1, 2, 3]) await setup.createDueLog(`other-${i}`, 500 + i, trial.name('other'))
      for (const i of [0, 1, 2, 3]) await setup.createDueLog(`log-${i}`, 1000 + i)
      const all = await setup.store.due([setup.program], MAX_LOGS)
      for (const limit of [1, 2, 3, 4]) {
        assertEqual(await setup.store.due([setup.program], limit), all.slice(0, limit), `a limit of ${limit}`)
      }
    },
    { alone: true },
  ),

  define('interface', 'due: a removed or recreated log is not due', async trial => {
    const setup = await setUp(trial)
    const { store } = setup
    const streamId = await setup.createDueLog('log', 'now')
    const later = await setup.createDueLog('later', (await trial.head(store, streamId)).clock + SHORT_MS)
    await store.remove(streamId)
    await store.remove(later)
    await setup.finds([], 'a log that was removed')
    await store.create(later, null)
    await trial.reach(store, later, (await trial.head(store, later)).clock + SHORT_MS)
    await setup.finds([], 'a log that was created again')
  }),

  define('interface', 'due: a handle finds logs that another handle made due', async trial => {
    const setup = await setUp(trial)
    const other = await trial.open()
    const streamId = await setup.createDueLog('log', 'now')
    await setup.finds([streamId], 'the due logs after another handle made one due', other)
    const writer = await trial.writer(other, streamId)
    await setup.finds([], 'the due logs after another handle claimed one')
    await other.release(streamId, writer.epoch)
    await setup.finds([streamId], 'the due logs after another handle released one')
  }),
]

async function setUp(trial: Trial) {
  const store = await trial.open()
  const program = trial.name('program')
  const uniqueSuffix = trial.name('')
  /** Creates a log with a ticket that is due at this time. */
  const createDueLog = async (label: string, at: Due['at'], to: string | null = program): Promise<string> => {
    const streamId = await trial.log(store, label)
    const { version } = await trial.head(store, streamId)
    await store.append(streamId, batch('a'), guest(), move(version, 's', { at, program: to }))
    return streamId
  }
  /** The logs of this trial that are due. */
  const found = async (programs: readonly string[] = [program], from: LogStore = store): Promise<string[]> =>
    (await from.due(programs, MAX_LOGS)).filter(id => id.startsWith(uniqueSuffix))
  const finds = async (ids: readonly string[], label: string, from?: LogStore): Promise<void> =>
    assertEqual((await found(undefined, from)).sort(), [...ids].sort(), label)
  return { store, program, createDueLog, found, finds }
}
