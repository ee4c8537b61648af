// `npm start`: serves examples/demo with the studio. Sessions are in SQLite under `.millrace/` of the current folder.

import { join } from 'node:path'
import { CommandError, dev } from '../packages/cli/src/index.ts'
import { build } from '../studio/build.ts'

// If the parent process is killed, exit, so that the port becomes free.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

const port = Number(process.env['PORT'] || 4400)
try {
  const page = await build(line => console.error(line))
  await dev({
    file: join(import.meta.dirname, '..', 'examples', 'demo', 'app.ts'),
    port,
    page,
    reload: false,
  })
  console.log(`
Open this address in your browser. What to try first:
  1. Choose "operator" and send "Email ann@example.com". The run waits for your approval.
  2. Choose "long" and send "Tell me about water mills". Reload the page while it streams: no word is lost.

Press Ctrl+C to stop.`)
} catch (error) {
  if (!(error instanceof CommandError)) throw error
  const isTaken = error.code === 'port_taken'
  const next = `Stop the process that uses it, or choose another port: PORT=${port + 1} npm start`
  console.error(isTaken ? `Port ${port} is in use. ${next}` : error.message)
  process.exit(1)
}
