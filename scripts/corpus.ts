// `node scripts/corpus.ts`: folds each log of packages/protocol/corpus that has no view yet, and writes its view beside it.
// Pairs that exist are never changed.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { foldLog } from '../packages/protocol/src/fold/fold-log.ts'
import { validateEntry } from '../packages/protocol/src/validate/validate.ts'
import { root } from './command.ts'

for (const file of globSync('packages/protocol/corpus/*.log.ndjson', { cwd: root })) {
  const view = file.replace(/\.log\.ndjson$/, '.view.json')
  if (existsSync(join(root, view))) continue
  const lines = readFileSync(join(root, file), 'utf8').trim().split('\n')
  const fold = foldLog(
    lines.map(line => validateEntry(JSON.parse(line))),
    {
      onReport: report => {
        throw new Error(`${file}: expected a log that folds without a report, found ${JSON.stringify(report)}`)
      },
    },
  )
  writeFileSync(join(root, view), `${JSON.stringify(fold.view(), null, 2)}\n`)
  console.log(`wrote ${view}`)
}
