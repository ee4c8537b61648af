import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server that runs: where it is, and how to end it. It ends by itself when the process that started it does, however. */
export type Service = { url: string; stop(): Promise<void> }

export type Command = { program: string; args: string[] }

/** How to run a server, after something that comes before it and as another user if need be. */
export type ServerSpec = { before?: Command; server: Command; user?: { uid: number; gid: number } }

/** A kind of server. It gets a folder of its own that goes when it goes, and a free loopback port. */
export type Kind = {
  name: string
  spec(folder: string, port: number): ServerSpec
  /** Whether the server of this folder answers at this port: another may have taken it meanwhile. */
  answers(folder: string, port: number): Promise<boolean>
  url(port: number): string
}

const PORT_TRIES = 3
const START_MS = 30_000

/** Starts a server and resolves when it answers; rejects with the server's own words when it does not within that time. */
export async function start(kind: Kind, withinMs = START_MS): Promise<Service> {
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    // Short: the path of a socket in it may have about a hundred characters.
    const folder = join(realpathSync(tmpdir()), `millrace-${kind.name}-${randomUUID().slice(0, 8)}`)
    const keeper = keep(folder, kind.spec(folder, port))
    const failure = await keeper.failure(() => kind.answers(folder, port), withinMs)
    if (failure === undefined) return { url: kind.url(port), stop: keeper.stop }
    // Between our finding a port and the server's taking it, another may; nothing else gets better by trying again.
    if (tries === PORT_TRIES || !/address already in use/i.test(failure)) throw new Error(`${kind.name} ${failure}`)
  }
}

type Keeper = {
  /** Waits until the server answers; otherwise tells why it does not, and then it is gone. */
  failure(answers: () => Promise<boolean>, withinMs: number): Promise<string | undefined>
  stop(): Promise<void>
}

function keep(folder: string, spec: ServerSpec): Keeper {
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'keeper.ts'), folder, JSON.stringify(spec)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const handles = [keeper, keeper.stdin, keeper.stderr] as { ref?(): void; unref?(): void }[]
  let log = ''
  keeper.stderr.setEncoding('utf8').on('data', text => {
    log += text
  })
  const end = once(keeper, 'close').then(() => 'ended at its start')
  const stop = async () => {
    // Who waits for the end must live to see it.
    for (const handle of handles) handle.ref?.()
    keeper.stdin.end()
    await end
  }
  return {
    stop,
    async failure(answers, withinMs) {
      const starting = new AbortController()
      const late = sleep(withinMs, `did not answer within ${withinMs / 1000} s`, { signal: starting.signal })
      const up = async () => {
        while (!starting.signal.aborted && !(await answers())) await sleep(20)
        return undefined
      }
      const failure = await Promise.race([up(), end, late]).catch(error => `cannot be asked: ${error}`)
      starting.abort()
      if (failure !== undefined) {
        await stop()
        return `${failure}:\n${log}`
      }
      // A process that has nothing left to do may end, and the server with it.
      for (const handle of handles) handle.unref?.()
      return undefined
    },
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free loopback port')
  return address.port
}
