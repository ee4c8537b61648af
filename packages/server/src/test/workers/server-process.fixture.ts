// A server process without workers: `server-process.fixture.ts <file>`. It prints its URL and exits when its input ends.

import { millrace } from '../../app/app.ts'
import { pidAgent } from './pid-agent.fixture.ts'

const app = millrace({ store: `sqlite:${process.argv[2]}`, agents: [pidAgent], engine: false })
const server = await app.listen({ port: 0 })
console.log(server.url)
process.stdin.resume().once('end', () => void server.close())
