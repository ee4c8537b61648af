import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Suspends a process and all its descendants. Resolves with their ids when none of them runs. */
export async function freeze(root: number): Promise<number[]> {
  const stopped = new Set<number>()
  for (;;) {
    const tree = descendants(root, await processes())
    const fresh = tree.filter(({ pid }) => !stopped.has(pid))
    // A process does not stop in the middle of a write and can start another until then.
    if (fresh.length === 0 && tree.every(({ state }) => /^[TZ]/i.test(state))) return [...stopped]
    for (const { pid } of fresh) {
      signal([pid], 'SIGSTOP')
      stopped.add(pid)
    }
  }
}

/** Resumes suspended processes. */
export function thaw(pids: number[]): void {
  signal(pids, 'SIGCONT')
}

/** Kills a process and all its descendants at once. Resolves when they are gone. */
export async function kill(root: number): Promise<void> {
  const pids = await freeze(root)
  signal(pids, 'SIGKILL')
  const runs = ({ pid, state }: Process) => pids.includes(pid) && !state.startsWith('Z')
  while ((await processes()).some(runs)) await sleep(2)
}

type Process = { pid: number; parent: number; state: string }

async function processes(): Promise<Process[]> {
  // Without /proc, as on macOS, `ps` returns the same at ten times the cost.
  return existsSync('/proc/self/stat') ? readdirSync('/proc').filter(Number).flatMap(processOf) : askPs()
}

function processOf(pid: string): Process[] {
  try {
    // `pid (name) state parent ...`. The name can contain any character.
    const [, state = '', parent] = /^.*\) (\S+) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return [{ pid: Number(pid), parent: Number(parent), state }]
  } catch {
    // It has ended meanwhile.
    return []
  }
}

async function askPs(): Promise<Process[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,stat='])
  return stdout.split('\n').flatMap(line => {
    const [pid, parent, state] = line.trim().split(/\s+/)
    return state ? [{ pid: Number(pid), parent: Number(parent), state }] : []
  })
}

/** The process and all its descendants. */
function descendants(root: number, all: Process[]): Process[] {
  const rootProcess = all.filter(({ pid }) => pid === root)
  return rootProcess.concat(all.filter(({ parent }) => parent === root).flatMap(({ pid }) => descendants(pid, all)))
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
