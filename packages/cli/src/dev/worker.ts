// The process of a dev host that drives runs.

import { fail, obey, started, tell } from './child-runtime.ts'
import { loadApp, remade } from './load-app.ts'
import { impatient } from './patience.ts'

let close = async (): Promise<void> => {}
obey(() => close())
try {
  const app = await loadApp(started().file)
  const worker = remade(app, impatient(app.options))
  close = () => worker.close()
  await worker.runtime()
  tell({ type: 'driving' })
} catch (error) {
  fail(error)
}
