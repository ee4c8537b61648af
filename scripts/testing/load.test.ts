import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { folder } from '../folder.fixture.ts'

/** Starts a process that starts the load, and returns the ids of the busy processes. */
async function start(): Promise<{ pids: number[]; kill(): Promise<void> }> {
  const script = `import { startCpuLoad } from '${import.meta.dirname}/load.ts'\nprocess.send(startCpuLoad().pids)\n`
  const holder = fork(`${folder({ 'holder.mjs': script })}/holder.mjs`)
  const failed = once(holder, 'exit').then(([code]) => {
    throw new Error(`expected the ids of the busy processes; the process ended with code ${code}`)
  })
  const [pids] = await Promise.race([once(holder, 'message'), failed])
  failed.catch(() => {})
  return {
    pids,
    async kill() {
      const exited = once(holder, 'exit')
      holder.kill('SIGKILL')
      await exited
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('starts two busy processes per core, which end when their parent is killed', async () => {
  const { pids, kill } = await start()
  expect(pids.filter(isRunning)).toHaveLength(2 * availableParallelism())
  await kill()
  await expect.poll(() => pids.filter(isRunning)).toEqual([])
})
