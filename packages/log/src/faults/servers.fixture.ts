// Schedules in which a server dies, or stands still, under the load of several writers and readers.

import type { Service } from '../../../../scripts/services/server.ts'
import type { Random } from '../chaos/random.fixture.ts'
import type { Stage } from './stage.fixture.ts'
import type { Run } from './told.fixture.ts'

/** How much later than its page says a busy machine may write to its disk. */
const SLACK_MS = 1500

/** Three logs, written by two processes, of which one asks a guest; all read in another process and here. */
async function load(stage: Stage, options: Parameters<Stage['actor']>[0] = {}): Promise<Run[]> {
  const runs = ['a', 'b', 'c'].map(name => stage.run(name))
  const [one, two] = [await stage.actor(options), await stage.actor({ ...options, plan: { asks: 0.3 } })]
  const reading = [await stage.actor(options), undefined]
  for (const [i, run] of runs.entries()) {
    for (const actor of reading) await stage.read(run, actor)
    const writer = i === 0 ? one : two
    if (stage.ground.losesMs > 0) stage.allow(writer, 'regressed')
    await writer.order({ do: 'write', run, takeover: false })
  }
  await answer(stage, runs, options)
  return runs
}

/** A guest that answers all that is open. */
async function answer(stage: Stage, runs: readonly Run[], options: Parameters<Stage['actor']>[0] = {}): Promise<void> {
  const guest = await stage.actor(options)
  for (const { streamId } of runs) await guest.order({ do: 'answer', guest: 'ann', streamId })
}

const serviceOf = (stage: Stage): Service => {
  if (stage.ground.service === undefined) throw new Error('a server is needed to kill it')
  return stage.ground.service
}

/** The server is killed, or ended, and started again; the writers go on by themselves. */
export async function crash(stage: Stage, random: Random): Promise<void> {
  const service = serviceOf(stage)
  const runs = await load(stage)
  for (const run of runs) await stage.acked(run, 1)
  for (let crashes = random.between(1, 2); crashes > 0; crashes--) {
    const run = random.pick(runs)
    const n = random.between(1, 30)
    await stage.acked(run, n)
    const isKilled = random.chance(0.8)
    const from = Date.now() - stage.ground.losesMs - SLACK_MS
    if (isKilled) {
      await service.kill()
      await stage.heard()
    }
    const to = Date.now()
    if (isKilled && stage.ground.losesMs > 0) for (const one of runs) stage.record(one).lossy.push({ from, to })
    await service.restart()
    stage.note(`${isKilled ? 'killed' : 'restarted'} ${n} appends on`)
    // Who had answered what is lost now may not know that it is asked again.
    if (isKilled && stage.ground.losesMs > 0) await answer(stage, runs)
    for (const one of runs) await stage.acked(one, 3)
  }
}

/** The server stands still, for a moment or for longer than anybody waits for an answer. */
export async function frozen(stage: Stage, random: Random): Promise<void> {
  const service = serviceOf(stage)
  const gate = await stage.gate()
  const isLong = random.chance(0.6)
  const runs = await load(stage, { spec: stage.via(gate, { timeout: isLong ? 500 : 5000 }) })
  for (const run of runs) await stage.acked(run, 1)
  for (let freezes = random.between(1, 2); freezes > 0; freezes--) {
    await stage.acked(random.pick(runs), random.between(1, 20))
    const { length } = stage.events
    await service.freeze()
    stage.note(`frozen, ${isLong ? 'until somebody gave up' : 'and thawed'}`)
    if (isLong) await stage.until('somebody gives up', () => stage.events.length > length)
    await service.thaw()
    for (const run of runs) await stage.acked(run, 3)
  }
}
