import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { FormChecks } from './form-response.ts'
import { SchemaChecker, type SchemaCheckerOptions } from './schema-checker.ts'

const checksOf = (checker: SchemaChecker): FormChecks => ({ checker, caller: { kind: 'owner', id: 's' } })

/** A checker for one test, which closes it. */
export function formChecks(options: Partial<SchemaCheckerOptions> = {}): FormChecks {
  const checker = new SchemaChecker({ now: () => performance.now(), ...options })
  onTestFinished(() => checker.close())
  return checksOf(checker)
}

/** A checker for all tests of a file. Its worker starts before them. */
export function sharedFormChecks(): FormChecks {
  const checker = new SchemaChecker({ now: () => performance.now() })
  const checks = checksOf(checker)
  beforeAll(() => checker.check({ schema: { pattern: 'a' }, value: 'a' }, 1000, checks.caller))
  afterAll(() => checker.close())
  return checks
}
