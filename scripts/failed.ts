import { appendFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** In a test run, the file that is told what failed. */
export const FAILED_FILE = 'MILLRACE_FAILED_FILE'

const LINES = 16
const COLUMNS = 240

/** Tells a file what failed in a run, or passed only at the second try, in the first lines of each: who keeps only the end of a long output must find it there. */
export class FailedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env[FAILED_FILE]
    if (file === undefined) return
    for (const module of modules) {
      const id = module.relativeModuleId
      tell(file, id, module.errors())
      for (const suite of module.children.allSuites()) tell(file, `${id}: ${suite.fullName}`, suite.errors())
      for (const test of module.children.allTests('failed')) {
        tell(file, `${id}: ${test.fullName}`, test.result().errors ?? [])
      }
      for (const test of module.children.allTests('passed')) {
        if (test.diagnostic()?.flaky)
          tell(file, `${id}: ${test.fullName}`, test.result().errors ?? [], 'AT THE SECOND TRY')
      }
    }
    tell(file, 'outside of every test', unhandled)
  }
}

function tell(file: string, what: string, errors: readonly SerializedError[], word = 'FAILED'): void {
  for (const { name, message, stack = '' } of errors) {
    const lines = `${name ?? 'Error'}: ${message}`.split('\n').filter(line => line.trim() !== '')
    const at = stack.split('\n').find(line => /^\s*at /.test(line)) ?? ''
    const shown = [...lines.slice(0, LINES), ...(lines.length > LINES ? ['...'] : []), at.trim()]
    appendFileSync(file, `${word} ${what}\n${shown.map(line => `  ${line.slice(0, COLUMNS)}\n`).join('')}`)
  }
}

/** As much of what failed as may be shown: where it is too much, the names alone of those that come last. */
export function shortened(failures: string, most = 8000): string {
  if (failures.length <= most) return failures
  const whole = failures.slice(0, (most / 4) * 3)
  const names = [...failures.slice(whole.length).matchAll(/^(?:FAILED|AT THE SECOND TRY) .*\n/gm)].map(([line]) => line)
  return `${whole}\n... and ${names.length} more:\n${names.join('')}`.slice(0, most)
}
