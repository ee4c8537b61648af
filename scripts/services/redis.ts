import { once } from 'node:events'
import { connect } from 'node:net'
import { find, type Program } from './program.ts'
import { type Service, start } from './server.ts'

export const program: Program = { name: 'Redis', commands: ['redis-server'], apt: 'redis-server', brew: 'redis' }

/** A Redis of one's own, empty, that writes nothing to disk. */
export async function redis(): Promise<Service> {
  const path = await find(program)
  return start({
    name: 'redis',
    url: port => `redis://127.0.0.1:${port}`,
    prepare: async (folder, port) => ({
      program: path,
      args: ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'],
    }),
    answers: async (folder, port) => (await ask(port, 'CONFIG GET dir')).includes(folder),
  })
}

/** One command to the Redis at this port, and the first piece of its answer; empty when nobody listens. */
export async function ask(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  try {
    socket.write(`${line}\r\n`)
    const [answer] = await once(socket, 'data')
    return answer
  } catch {
    return ''
  } finally {
    socket.destroy()
  }
}
