import { connect } from 'node:net'
import { join } from 'node:path'
import { findProgram, type Program } from './program.ts'
import { type Service, type ServiceOptions, startServer } from './server.ts'

export const program: Program = { name: 'Redis', commands: ['redis-server'], apt: 'redis-server', brew: 'redis' }

const ANSWER_TIMEOUT_MS = 30_000

/**
 * Starts an empty Redis. It stores nothing on disk without settings such as `{ appendonly: 'yes', appendfsync: 'always' }`,
 * so without them it is empty after a restart.
 */
export async function redis({ settings = {}, isOnDisk = false }: ServiceOptions = {}): Promise<Service> {
  const path = await findProgram(program)
  return startServer({
    name: 'redis',
    isOnDisk,
    url: port => `redis://127.0.0.1:${port}`,
    spec(folder, port) {
      const requiredSettings = { port: `${port}`, bind: '127.0.0.1', dir: join(folder, 'data') }
      const all = { save: '', appendonly: 'no', ...settings, ...requiredSettings }
      const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])
      return { server: { program: path, args } }
    },
    // A Redis that is still loading its data returns its settings, but no PONG.
    isReady: async (folder, port) =>
      (await sendCommand(port, 'CONFIG GET dir')).includes(folder) &&
      (await sendCommand(port, 'PING')).startsWith('+PONG'),
    async flush(port) {
      // Without `always`, acknowledged writes can reach the disk seconds later. Switching to `always` flushes them first.
      const [, , , , fsync] = (await sendCommand(port, 'CONFIG GET appendfsync')).split('\r\n')
      for (const value of ['always', fsync]) {
        const answer = await sendCommand(port, `CONFIG SET appendfsync ${value}`)
        if (!answer.startsWith('+OK')) throw new Error(`did not write its data: ${answer || 'it did not answer'}`)
      }
    },
  })
}

/** Sends one command to the Redis at this port. Returns the first piece of its answer, or '' when no server listens or answers. */
export function sendCommand(port: number, line: string, timeoutMs = ANSWER_TIMEOUT_MS): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8').setTimeout(timeoutMs)
  const answer = new Promise<string>(resolve => {
    socket.once('data', resolve)
    for (const end of ['error', 'close', 'timeout']) socket.once(end, () => resolve(''))
  })
  socket.write(`${line}\r\n`)
  return answer.finally(() => socket.destroy())
}
