// The process of a dev host that drives runs.

import { withShortGrace } from './app-options.ts'
import { fail, handleSupervisorMessages, send, startOptions } from './child-runtime.ts'
import { loadApp, recreateApp } from './load-app.ts'

let close = async (): Promise<void> => {}
handleSupervisorMessages(() => close())
try {
  const app = await loadApp(startOptions().file)
  const worker = recreateApp(app, withShortGrace(app.options))
  close = () => worker.close()
  await worker.runtime()
  send({ type: 'driving' })
} catch (error) {
  fail(error)
}
