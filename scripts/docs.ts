// `npm run docs -- [--build] [--port n]`: builds the site of docs/ and serves it on loopback; with --build it builds and ends.
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from '../docs/site/build.ts'
import { serve } from '../docs/site/serve.ts'
import { root, seconds } from './command.ts'

const { values } = parseArgs({ options: { build: { type: 'boolean' }, port: { type: 'string', default: '4500' } } })
const port = Number(values.port)
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`--port expects a number up to 65535, found '${values.port}'`)
  process.exit(2)
}

// Ends when the parent process is gone, so that the port does not stay taken after a kill -9.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

try {
  const from = performance.now()
  console.error('Building the site')
  const folder = await build()
  console.error(`Built into ${relative(root, folder)} in ${seconds(performance.now() - from)}`)
  if (!values.build) console.log(`The site is at ${(await serve(folder, port)).url}`)
} catch (error) {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  const problem = isTaken ? `Port ${port} is in use. Choose another: npm run docs -- --port ${port + 1}` : error
  console.error(problem instanceof Error ? problem.message : problem)
  process.exit(1)
}
