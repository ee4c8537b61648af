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
  const { url } = await dev({
    file: join(import.meta.dirname, '..', 'examples', 'demo', 'app.ts'),
    port,
    page,
    reload: false,
  })
  console.log(`
Open ${url} in your browser. Then try:
  - Choose "operator" and send "Email ann@example.com": the run waits for your approval.
  - Choose "long", send "Tell me about water mills" and reload the page while it streams: no word is lost.

Press Ctrl+C to stop.`)
} catch (error) {
  if (!(error instanceof CommandError)) throw error
  const isTaken = error.code === 'port_taken'
  const next = `Stop the process that uses it, or choose another port: PORT=${port + 1} npm start`
  console.error(isTaken ? `Port ${port} is in use. ${next}` : error.message)
  process.exit(1)
}
