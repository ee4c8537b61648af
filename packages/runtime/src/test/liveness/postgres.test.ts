import { postgres } from '../../../../../scripts/services/postgres.ts'
import { livenessTests } from './liveness.fixture.ts'

livenessTests('Postgres', async () => {
  const { url, stop } = await postgres()
  return { specOf: index => ({ kind: 'postgres', url, schema: `liveness${index}`, timeoutMs: 30_000 }), stop }
})
