// Keeps the CPU busy while tests run: `startCpuLoad()` starts two busy processes for each core. Run as a program, this file is one of them.
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

const PER_CORE = 2
/** Interval at which a busy process checks that its parent still runs, in ms. */
const TURN_MS = 50

/** Starts the busy processes. They end with the returned function, or with this process, however that ends. */
export function startCpuLoad(): { pids: number[]; stop(): void } {
  const count = PER_CORE * availableParallelism()
  const children = Array.from({ length: count }, () => fork(fileURLToPath(import.meta.url), ['busy']))
  return {
    pids: children.map(child => child.pid ?? 0),
    stop() {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}

function stayBusy(): void {
  const until = performance.now() + TURN_MS
  while (performance.now() < until);
  setImmediate(stayBusy)
}

if (process.argv[2] === 'busy' && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit())
  stayBusy()
}
