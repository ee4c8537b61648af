// A process that drives runs with default settings: `driver.child.ts <url of a store> <agent>`. It reports when it has started.
import { openStore } from '@millrace/log'
import { agent, createRuntime, scriptedModel } from '@millrace/runtime'

const TOKEN_MS = 20
/** The answer takes longer than a measurement. */
const TEXT = 'on and on, '.repeat(10_000)

const [, , url = '', name = ''] = process.argv
createRuntime({
  store: await openStore(url),
  agents: [agent({ name, model: scriptedModel(() => ({ text: TEXT }), { paceMs: TOKEN_MS }) })],
  log: { owner: `${process.pid}` },
  engine: { keepsAlive: true },
  logger: { warn() {}, error() {} },
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
