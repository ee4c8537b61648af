import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { livenessTests } from './liveness.fixture.ts'

livenessTests('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-liveness-sqlite-'))
  return {
    specOf: index => ({ kind: 'sqlite', path: join(folder, `${index}.db`) }),
    stop: async () => rmSync(folder, { recursive: true }),
  }
})
