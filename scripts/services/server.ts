import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server that runs: where it is, and how to end it. It ends by itself when the process that started it does, however. */
export type Service = { url: string; stop(): Promise<void> }

/** How to run a server, as another user if need be. */
export type ServerSpec = { program: string; args: string[]; user?: { uid: number; gid: number } }

/** A kind of server. It gets a folder of its own that goes when it goes, and a free loopback port. */
export type Kind = {
  name: string
  prepare(folder: string, port: number): Promise<ServerSpec>
  /** Whether the server of this folder answers at this port: another may have taken it meanwhile. */
  answers(folder: string, port: number): Promise<boolean>
  url(port: number): string
}

const PORT_TRIES = 3
const START_MS = 30_000

/** Starts a server and resolves when it answers. */
export async function start(kind: Kind): Promise<Service> {
  // Between our finding a port and the server's taking it, another may; hence the second and third try.
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    const folder = realpathSync(mkdtempSync(join(tmpdir(), `millrace-${kind.name}-`)))
    try {
      const spec = await kind.prepare(folder, port)
      return { url: kind.url(port), stop: await keep(folder, spec, () => kind.answers(folder, port)) }
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      if (tries === PORT_TRIES) throw error
    }
  }
}

async function keep(folder: string, spec: ServerSpec, answers: () => Promise<boolean>): Promise<() => Promise<void>> {
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'keeper.ts'), folder, JSON.stringify(spec)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let reason = ''
  keeper.stderr.setEncoding('utf8').on('data', text => {
    reason += text
  })
  let ended = false
  const end = once(keeper, 'close').then(() => {
    ended = true
  })
  const stop = async () => {
    keeper.stdin.end()
    await end
  }
  const deadline = performance.now() + START_MS
  while (!(await answers())) {
    if (ended) throw new Error(`${spec.program} ended at its start:\n${reason}`)
    if (performance.now() > deadline) {
      await stop()
      throw new Error(`${spec.program} did not answer within ${START_MS / 1000} s`)
    }
    await sleep(20)
  }
  // A process that has nothing left to do may end, and the server with it.
  for (const handle of [keeper, keeper.stdin, keeper.stderr] as { unref?(): void }[]) handle.unref?.()
  return stop
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
