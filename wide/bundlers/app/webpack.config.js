import { join } from 'node:path'

const common = { mode: 'production', target: 'node20', entry: './main.js' }
const path = join(import.meta.dirname, 'out/webpack')

export default [
  { ...common, name: 'commonjs', output: { path, filename: 'main.cjs' } },
  {
    ...common,
    name: 'module',
    experiments: { outputModule: true },
    output: { path, filename: 'main.mjs', module: true, chunkFormat: 'module' },
  },
]
