import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './command.ts'
import { folder } from './folder.fixture.ts'

const GOOD = 'log: append at once when nothing is in flight'
const BAD = 'Append at once.'

/** A repository with one empty commit for each subject, and the check of a range of it. */
function repository(...subjects: string[]) {
  const cwd = folder({})
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' }
  const git = (...args: string[]) => execFileSync('git', args, { cwd, env, encoding: 'utf8' }).trim()
  git('init', '--quiet')
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  for (const subject of subjects) git(...author, 'commit', '--quiet', '--allow-empty', '--message', subject)
  const check = (...range: string[]) => {
    const { status, stderr } = spawnSync(join(root, 'scripts/commit-subjects.sh'), range, {
      cwd,
      env,
      encoding: 'utf8',
    })
    return { status, stderr }
  }
  return { git, check }
}

test('commit-subjects accepts a range of good subjects', () => {
  const { check } = repository(BAD, GOOD, GOOD)

  expect(check('HEAD~2..HEAD')).toEqual({ status: 0, stderr: '' })
  expect(check('HEAD..HEAD')).toEqual({ status: 0, stderr: '' })
})

test('commit-subjects rejects a range with a bad subject and names its commit', () => {
  const { git, check } = repository(GOOD, BAD, GOOD)
  const { status, stderr } = check('HEAD~2..HEAD')

  expect(status).toBe(1)
  expect(stderr).toContain(`found: ${BAD}\n`)
  expect(stderr.match(/Commit: .*/g)).toEqual([`Commit: ${git('rev-parse', 'HEAD~1')}`])
})

test.each([[[]], [['no-branch..HEAD']]])('commit-subjects fails for the range %j', range => {
  expect(repository(GOOD).check(...range).status).not.toBe(0)
})
