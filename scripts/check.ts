// `npm run check`: everything about the code that can be said without running it.
import { command, seconds } from './command.ts'

const checks: [name: string, program: string, args: string[]][] = [
  ['types', 'tsc', ['-p', 'tsconfig.json']],
  ['lint and format', 'biome', ['check', '--error-on-warnings', '.']],
]

let failed = 0
for (const [name, program, args] of checks) {
  const { code, ms, output } = await command(program, args, { quiet: true })
  if (code !== 0) {
    failed++
    console.log(output.trimEnd())
  }
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(18)} ${seconds(ms).padStart(7)}`)
}
process.exitCode = failed === 0 ? 0 : 1
