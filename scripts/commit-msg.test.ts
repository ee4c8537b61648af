import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './command.ts'
import { folder } from './folder.fixture.ts'

/** The exit code and the errors of the hook for a commit message. */
function check(message: string): { status: number | null; stderr: string } {
  const file = join(folder({ message }), 'message')
  const { status, stderr } = spawnSync(join(root, 'scripts/hooks/commit-msg'), [file], { encoding: 'utf8' })
  return { status, stderr }
}

const LONGEST = `log: ${'x'.repeat(67)}`

describe('the commit-msg hook', () => {
  test.each([
    'log: append at once when nothing is in flight',
    'log, runtime: rename a type\n\nThis body may have sentences.\n',
    '# a comment of git\n\ndocs: explain leases\n',
    'bench/log: add a case',
    LONGEST,
    `log: ${'é'.repeat(67)}`,
    "Merge branch 'main' into feature",
    'Revert "log: append at once"',
    'fixup! log: append at once',
  ])('accepts %j', message => {
    expect(check(message)).toEqual({ status: 0, stderr: '' })
  })

  test.each([
    [`${LONGEST}x`, 'at most 72 characters, found 73'],
    ['append at once', 'the form "part: change"'],
    ['log:append at once', 'the form "part: change"'],
    ['log: ', 'the form "part: change"'],
    ['', 'the form "part: change"'],
    ['log: append at once.', 'without a full stop'],
  ])('rejects %j', (message, reason) => {
    expect(check(message)).toEqual({ status: 1, stderr: expect.stringContaining(reason) })
  })
})
