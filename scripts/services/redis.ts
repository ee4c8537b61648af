import { connect } from 'node:net'
import { find, type Program } from './program.ts'
import { type Service, start } from './server.ts'

export const program: Program = { name: 'Redis', commands: ['redis-server'], apt: 'redis-server', brew: 'redis' }

const ANSWER_MS = 2_000

/** A Redis of one's own, empty, that writes nothing to disk. */
export async function redis(): Promise<Service> {
  const path = await find(program)
  return start({
    name: 'redis',
    url: port => `redis://127.0.0.1:${port}`,
    spec: (folder, port) => {
      const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
      return { server: { program: path, args } }
    },
    answers: async (folder, port) => (await ask(port, 'CONFIG GET dir')).includes(folder),
  })
}

/** One command to the Redis at this port, and the first piece of its answer; empty when nobody listens or answers. */
export function ask(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8').setTimeout(ANSWER_MS)
  const answer = new Promise<string>(resolve => {
    socket.once('data', resolve)
    for (const end of ['error', 'close', 'timeout']) socket.once(end, () => resolve(''))
  })
  socket.write(`${line}\r\n`)
  return answer.finally(() => socket.destroy())
}
