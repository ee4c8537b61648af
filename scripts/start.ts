// `npm start`: the demo of examples/demo with the page of studio, on SQLite under `.millrace/` of the folder where it is started.

import { build } from '../studio/build.ts'
import { serve } from '../examples/demo/server.ts'

// Who started this may be killed and tell nobody: then the port must not stay taken.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

const port = Number(process.env['PORT'] || 4400)
try {
  const page = await build(line => console.error(line))
  const { url } = await serve(page, port)
  console.log(`Millrace is up at ${url}`)
} catch (error) {
  if (!isPortTaken(error)) throw error
  console.error(`Port ${port} is in use. Stop what listens there, or choose another port: PORT=${port + 1} npm start`)
  process.exit(1)
}

function isPortTaken(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) if ('code' in e && e.code === 'EADDRINUSE') return true
  return false
}
