import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'

export type Environment = ReturnType<typeof environment>

/** Machine and versions that a set of figures was measured with. */
export function environment() {
  const entry = fileURLToPath(import.meta.resolve('@millrace/protocol'))
  return {
    node: process.version,
    cpu: `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    load: loadavg().map(value => Number(value.toFixed(2))),
    packages: entry.includes('/dist/') ? 'dist' : 'src',
    date: new Date().toISOString(),
  }
}
