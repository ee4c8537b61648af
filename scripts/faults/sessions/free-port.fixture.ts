import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the range from which the system gives ports to connections. */
const PORTS = [12_000, 32_000] as const

/**
 * A free port that the system does not give to connections. A port from its own range could be taken by a client of the server that is
 * being restarted, and then the next server could not listen there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await new Promise(resolve =>
      server.once('error', () => resolve(false)).once('listening', () => resolve(true)),
    )
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}
