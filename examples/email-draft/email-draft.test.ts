import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileCache } from '../../scripts/compile-cache.ts'
import { ask, optionIdsOf } from './ask.ts'
import { formOf } from './form.ts'
import { Email, emailDraft } from './workflow.ts'

const here = import.meta.dirname
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  for (const file of ['email-draft.ts', 'workflow.ts', 'form.ts', 'ask.ts', 'package.json']) {
    cpSync(join(here, file), join(folder, file))
  }
  symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the example like `npm start`, with a pipe as input that stays open. Kills it when it prints `killAt`. */
async function run(args: string[], { killAt }: { killAt?: string } = {}): Promise<string> {
  const child = spawn(process.execPath, ['--conditions=@millrace/source', 'email-draft.ts', ...args], {
    cwd: folder,
    env: { ...process.env, ...compileCache },
  })
  let output = ''
  child.stdout.on('data', data => {
    output += data
    if (killAt !== undefined && output.includes(killAt)) child.kill('SIGKILL')
  })
  child.stderr.on('data', data => {
    output += data
  })
  await once(child, 'close')
  return output
}

const question = [
  'Which tone should the email have?',
  '  warm: Warm. Friendly and personal',
  '  formal: Formal. Polite and professional',
  '',
].join('\n')
const waits = (session: string) =>
  `Asking for the tone\n${question}${session} is waiting. Continue with: npm start ${session} <answer>\n`

const bullets = ['Saturday, three o’clock', 'At the mill', 'Bring a cake']
const warm = { subject: 'Come to the mill!', body: 'Dear Ann,\n\nit would not be a party without you.', bullets }
const form = (email: object) => formOf({ streamId: 's', status: 'done', data: email } as never).join('\n')
const updates = /Writing the draft\nset subject\n(text-delta body\n){2,}(append bullets\n){3}final\n/

test('asks in the terminal', async () => {
  const options = [
    { id: 'a', label: 'A' },
    { id: 'b', label: 'B' },
  ]
  const interrupt = { input: { kind: 'choice', question: 'Which?', options } } as never
  const terminal = Object.assign(new PassThrough(), { isTTY: true }) as never as typeof process.stdin & PassThrough
  terminal.write('\n b \n')
  expect(await ask(interrupt, terminal)).toBe('b')
  terminal.end()
  expect(await ask(interrupt, terminal)).toBeUndefined()
  expect(optionIdsOf(interrupt)).toEqual(['a', 'b'])
})

test('fills in the form', async () => {
  expect(Email.parse(warm)).toEqual(warm)
  const output = await run(['s1', 'warm'])
  expect(output).toContain('Asking for the tone\nWriting the draft\n')
  expect(output).toMatch(updates)
  expect(output).toContain(`${form(warm)}\ncompleted\n`)
})

test('waits without a terminal and continues with an offered answer', async () => {
  expect(await run(['s2'])).toBe(waits('s2'))
  expect(await run(['s2', 'wet'])).toContain(
    `Asking for the tone\nExpected one of these answers, found wet: warm, formal\n${question}s2 is waiting.`,
  )
  expect(await run(['s2'])).toBe(waits('s2'))
  expect(await run(['s2', 'warm'])).toContain(`${form(warm)}\ncompleted\n`)
})

test('continues after being killed while it waits and while it writes', async () => {
  await run(['s3'], { killAt: 'Asking' })
  expect(await run(['s3', 'warm'], { killAt: 'text-delta body' })).not.toContain('final')
  const output = await run(['s3'])
  // The interrupted draft is discarded. The question is answered and not asked again.
  expect(output).toContain('taken back\nset subject\n')
  expect(output).not.toContain(question)
  expect(output).toContain(`${form(warm)}\ncompleted\n`)
})

test.each(['', '../x', 'a'.repeat(600)])('rejects an invalid session name with one line: %#', async session => {
  expect((await run([session])).split('\n')).toEqual([expect.stringContaining('1 to 64 letters'), ''])
})

test('discards and corrects output that does not match the schema', async () => {
  const output = await run(['s4', 'formal'])
  expect(output.match(/set subject/g)).toHaveLength(2)
  expect(output).toMatch(/append bullets\ntaken back\nset subject\n/)
  expect(output).toContain('Subject: Invitation  ')
  expect(output.match(/final/g)).toHaveLength(1)
})

test('the form wraps long lines and shows empty fields', () => {
  const lines = formOf({
    streamId: 's',
    status: 'streaming',
    data: { body: `${'word '.repeat(30)}${'x'.repeat(70)}` },
  } as never)
  expect(new Set(lines.map(line => line.length))).toEqual(new Set([62]))
  expect(lines.join('').match(/word/g)).toHaveLength(30)
  expect(formOf(undefined)[1]).toMatch(/^│ Subject: +│$/)
})

test('the README shows the diagram of the workflow', () => {
  expect(readFileSync(join(here, 'README.md'), 'utf8')).toContain(`\`\`\`mermaid\n${emailDraft.toMermaid()}\`\`\``)
})
