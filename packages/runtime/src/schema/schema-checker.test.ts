import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bundle } from '../../../../scripts/faults/bundle.ts'
import { formChecks } from './form-checks.fixture.ts'
import { checkFormSchema, formResponseProblem } from './form-response.ts'
import type { CheckCaller } from './schema-checker.ts'

const EVIL = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
const BAIT = { a: `${'a'.repeat(60)}!` }
const ann: CheckCaller = { kind: 'principal', principal: 'ann' }

test('rejects the waiting checks of a principal whose time is used up, and performs those of others', async () => {
  const { checker } = formChecks({ answerCheckMs: 500, now: () => 0 })
  const ask = (caller: CheckCaller, value: unknown) => checker.check({ schema: EVIL, value }, 250, caller)
  const all = Promise.allSettled(Array.from({ length: 20 }, () => ask(ann, BAIT)))
  const bob = await ask({ kind: 'principal', principal: 'bob' }, { a: 'a' })
  expect(bob).toEqual({ problems: [] })
  const outcomes = (await all).map(each => (each.status === 'fulfilled' ? 'checked' : each.reason.code))
  const checked = outcomes.filter(each => each === 'checked').length
  // Each takes from 125 ms, with which the worker tries no further, to 250 ms and the time of the abort.
  expect(checked).toBeGreaterThanOrEqual(1)
  expect(checked).toBeLessThanOrEqual(4)
  expect(new Set(outcomes.slice(checked))).toEqual(new Set(['checks_limit']))
  // A cheap check is refused too.
  await expect(checker.check({ schema: {}, value: 1 }, 250, ann)).rejects.toMatchObject({ code: 'checks_limit' })
  // The runs of a user have no budget.
  expect(await ask({ kind: 'owner', id: 's' }, { a: 'a' })).toEqual({ problems: [] })
})

describe('without worker threads', () => {
  const start = (): never => {
    throw new Error('not supported')
  }

  test('checks everything except for regular expressions and pairs', async () => {
    const checks = formChecks({ worker: { start } })
    const schema = { ...EVIL, required: ['a'], additionalProperties: false }
    await checkFormSchema(schema, 'form', checks)
    expect(await formResponseProblem(schema, BAIT, checks)).toBeUndefined()
    expect(await formResponseProblem(schema, { a: 1 }, checks)).toContain('a: expected string')
    expect(await formResponseProblem(schema, {}, checks)).toContain('required property')
  })

  test('rejects a form that could take long: with references, or many values', async () => {
    const checks = formChecks({ worker: { start } })
    const why = 'this platform has no worker threads'
    await expect(checkFormSchema({ properties: { a: { $ref: '#' } } }, 'form', checks)).rejects.toThrow(why)
    expect(await formResponseProblem({ items: {} }, Array(300_000).fill(1), checks)).toContain(why)
  })

  test('notices a thread that ends before its first check', async () => {
    const { Worker } = await import('node:worker_threads')
    const checks = formChecks({ worker: { start: () => new Worker('process.exit()', { eval: true }) } })
    expect(await formResponseProblem(EVIL, BAIT, checks)).toBeUndefined()
  })
})

test('a bundle checks forms in a worker', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bundled-forms-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  bundle(folder, { app: join(import.meta.dirname, 'bundled-form.fixture.ts') })
  // Its environment and the flags of its process are not those of the worker.
  const args = ['--no-warnings', join(folder, 'app.js')]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
  expect(JSON.parse(stdout)).toEqual([{ problems: [] }, { problems: ['String does not match pattern'] }])
})
