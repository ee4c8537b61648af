import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Stops a process and all that it has started, as they stand; tells which they are, when none of them runs any more. */
export async function freeze(root: number): Promise<number[]> {
  const stopped = new Set<number>()
  for (;;) {
    const tree = descendants(root, await processes())
    const fresh = tree.filter(({ pid }) => !stopped.has(pid))
    // A process does not stop in the middle of a write, and may start another until it does.
    if (fresh.length === 0 && tree.every(({ state }) => /^[TZ]/i.test(state))) return [...stopped]
    for (const { pid } of fresh) {
      signal([pid], 'SIGSTOP')
      stopped.add(pid)
    }
  }
}

/** Lets processes that were stopped go on. */
export function thaw(pids: number[]): void {
  signal(pids, 'SIGCONT')
}

/** Kills a process and all that it has started, all at one moment; resolves when they are gone. */
export async function kill(root: number): Promise<void> {
  const pids = await freeze(root)
  signal(pids, 'SIGKILL')
  const runs = ({ pid, state }: Process) => pids.includes(pid) && !state.startsWith('Z')
  while ((await processes()).some(runs)) {}
}

type Process = { pid: number; parent: number; state: string }

async function processes(): Promise<Process[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,stat='])
  return stdout.split('\n').flatMap(line => {
    const [pid, parent, state] = line.trim().split(/\s+/)
    return state ? [{ pid: Number(pid), parent: Number(parent), state }] : []
  })
}

/** The process and all below it. */
function descendants(root: number, all: Process[]): Process[] {
  const own = all.filter(({ pid }) => pid === root)
  return own.concat(all.filter(({ parent }) => parent === root).flatMap(({ pid }) => descendants(pid, all)))
}

function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      // It has ended by itself.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
