import type { Reporter, SerializedError, TestModule } from 'vitest/node'

const MAX_LINES = 16
const MAX_COLUMNS = 240
const MAX_CHARACTERS = 8000

/** Prints every failure once more at the very end, shortened, for readers that keep only the tail of a long output. */
export class FailureReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const failures = failuresOf(modules, unhandled).join('')
    if (failures !== '') console.log(`\n${shorten(failures).trimEnd()}`)
  }
}

function failuresOf(modules: readonly TestModule[], unhandled: readonly SerializedError[]): string[] {
  const failures: string[] = []
  const add = (title: string, errors: readonly SerializedError[]) => {
    failures.push(...errors.map(error => describeFailure(title, error)))
  }
  for (const module of modules) {
    const id = module.relativeModuleId
    add(id, module.errors())
    for (const suite of module.children.allSuites()) add(`${id}: ${suite.fullName}`, suite.errors())
    for (const test of module.children.allTests('failed')) add(`${id}: ${test.fullName}`, test.result().errors ?? [])
  }
  for (const error of unhandled) add(unhandledTitle(error), [error])
  return failures
}

/** Vitest notes which file and test ran when an error came that no test awaited. */
function unhandledTitle(error: SerializedError): string {
  const { VITEST_TEST_PATH: file, VITEST_TEST_NAME: test } = error as {
    VITEST_TEST_PATH?: string
    VITEST_TEST_NAME?: string
  }
  const during = [file, test].filter(Boolean).join(': ')
  return during === '' ? 'unhandled error' : `unhandled error during ${during}`
}

function describeFailure(title: string, { name, message, stack = '' }: SerializedError): string {
  const lines = `${name ?? 'Error'}: ${message}`.split('\n').filter(line => line.trim() !== '')
  const at = stack.split('\n').find(line => /^\s*at /.test(line)) ?? ''
  const details = [...lines.slice(0, MAX_LINES), ...(lines.length > MAX_LINES ? ['...'] : []), at.trim()]
  return `FAILED ${title}\n${details.map(line => `  ${line.slice(0, MAX_COLUMNS)}\n`).join('')}`
}

/** The failures within a limit of characters: when there are too many, the last ones by title only. */
export function shorten(failures: string, limit = MAX_CHARACTERS): string {
  if (failures.length <= limit) return failures
  const start = failures.slice(0, (limit / 4) * 3)
  const titles = [...failures.slice(start.length).matchAll(/^FAILED .*\n/gm)].map(([line]) => line)
  return `${start}\n... and ${titles.length} more:\n${titles.join('')}`.slice(0, limit)
}
