// `npm start`: the demo of examples/demo with the page of studio, on SQLite under `.millrace/` of the folder where it is started.

import { join } from 'node:path'
import { CommandError, dev } from '../packages/cli/src/index.ts'
import { build } from '../studio/build.ts'

// Who started this may be killed and tell nobody: then the port must not stay taken.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

const port = Number(process.env['PORT'] || 4400)
try {
  const page = await build(line => console.error(line))
  await dev({ file: join(import.meta.dirname, '..', 'examples', 'demo', 'app.ts'), port, page, reload: false })
} catch (error) {
  if (!(error instanceof CommandError)) throw error
  const isTaken = error.code === 'port_taken'
  const next = `Stop what listens there, or choose another port: PORT=${port + 1} npm start`
  console.error(isTaken ? `Port ${port} is in use. ${next}` : error.message)
  process.exit(1)
}
