import { join } from 'node:path'
import { command, root } from '../command.ts'
import { folder } from '../folder.fixture.ts'

/** Runs vitest with the settings of the workspace on one test file that has this text. */
export function runFile(text: string, ...more: string[]): Promise<{ code: number; output: string }> {
  const home = folder({ 'a.test.ts': `test('runs', () => {})\n${text}` })
  const args = ['run', '--globals', '--root', home, '--config', join(root, 'vitest.config.ts'), ...more]
  return command('vitest', args, { quiet: true, env: { NO_COLOR: '1', MILLRACE_GUARD_MS: '1000' } })
}
