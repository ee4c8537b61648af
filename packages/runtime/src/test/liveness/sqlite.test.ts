import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LivenessTrial, livenessTests } from './liveness.fixture.ts'

livenessTests('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-liveness-sqlite-'))
  return {
    specOf: index => ({ kind: 'sqlite', path: join(folder, `${index}.db`) }),
    stop: async () => rmSync(folder, { recursive: true }),
  }
})

test('law 4: a process whose clock is a minute ahead takes no live lease over', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-ahead-'))
  const trial = new LivenessTrial({ kind: 'sqlite', path: join(folder, 'logs.db') })
  try {
    const driver = await trial.driver()
    const run = await trial.startRun()
    await trial.executed(1)
    await trial.driver({ aheadMs: 60_000 })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(trial.executions).toEqual([driver.pid])
  } finally {
    await trial.end()
    rmSync(folder, { recursive: true })
  }
})
