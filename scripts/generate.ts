// `npm run generate`: writes every generated file again: the pages of chunks and dialects, the API reports, the text of
// the workers, and the views of new logs in packages/protocol/corpus.
import { command, seconds } from './command.ts'
import { DIALECTS_PAGE_TEST, generators } from './generators.ts'

const steps: readonly (readonly [program: string, ...args: string[]])[] = [
  ...generators.map(file => ['node', file] as const),
  ['node', 'scripts/corpus.ts'],
  ['vitest', 'run', '--update', '--silent', '--reporter=dot', DIALECTS_PAGE_TEST],
]

for (const [program, ...args] of steps) {
  const { code, ms, output } = await command(program, args, { quiet: true })
  if (code !== 0) {
    console.log(output.trimEnd())
    process.exitCode = 1
  }
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${(args.at(-1) ?? program).padEnd(32)} ${seconds(ms).padStart(7)}`)
}
