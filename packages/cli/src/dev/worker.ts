// The process of a dev host that drives runs.

import { withShortTimeouts } from './app-options.ts'
import { fail, handleSupervisorMessages, startOptions, tell } from './child-runtime.ts'
import { loadApp, recreateApp } from './load-app.ts'

let close = async (): Promise<void> => {}
handleSupervisorMessages(() => close())
try {
  const app = await loadApp(startOptions().file)
  const worker = recreateApp(app, withShortTimeouts(app.options))
  close = () => worker.close()
  await worker.runtime()
  tell({ type: 'driving' })
} catch (error) {
  fail(error)
}
