import { readFileSync } from 'node:fs'

/** Linux counts CPU time in ticks of a hundredth of a second. */
const TICK_MS = 10

/** CPU time of this process so far, in ms; on Linux with all child processes that have ended. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + childrenMs()
}

function childrenMs(): number {
  if (process.platform !== 'linux') return 0
  // The name of the command may contain spaces; the fields after its closing bracket do not.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  const [user = 0, system = 0] = fields.slice(13, 15).map(Number)
  return (user + system) * TICK_MS
}
