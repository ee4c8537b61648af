import { join } from 'node:path'
import { command, root } from '../command.ts'
import { folder } from '../folder.fixture.ts'

/** Runs vitest with the workspace's config on one test file: a passing test, then `text`. */
export function runFile(text: string, ...more: string[]): Promise<{ code: number; output: string }> {
  const testFolder = folder({ 'a.test.ts': `test('runs', () => {})\n${text}` })
  const args = ['run', '--globals', '--root', testFolder, '--config', join(root, 'vitest.config.ts'), ...more]
  return command('vitest', args, { quiet: true, env: { NO_COLOR: '1', MILLRACE_GUARD_MS: '1000' } })
}
