import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileCache } from '../../scripts/compile-cache.ts'
import { formOf } from './form.ts'
import { ask, offered } from './person.ts'
import { Email, emailDraft } from './workflow.ts'

const here = import.meta.dirname
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  for (const file of ['email-draft.ts', 'workflow.ts', 'form.ts', 'person.ts', 'package.json']) {
    cpSync(join(here, file), join(folder, file))
  }
  symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the example as its `start` does, at the end of a pipe that stays open; until it has ended, or is killed once it has said something. */
async function run(args: string[], { killAt }: { killAt?: string } = {}): Promise<string> {
  const child = spawn(process.execPath, ['--conditions=@millrace/source', 'email-draft.ts', ...args], {
    cwd: folder,
    env: { ...process.env, ...compileCache },
  })
  let said = ''
  child.stdout.on('data', data => {
    said += data
    if (killAt !== undefined && said.includes(killAt)) child.kill('SIGKILL')
  })
  child.stderr.on('data', data => {
    said += data
  })
  await once(child, 'close')
  return said
}

const question = [
  'Which tone should the email have?',
  '  warm: Warm. Friendly and personal',
  '  formal: Formal. Polite and professional',
  '',
].join('\n')
const waits = (session: string) =>
  `Asking for the tone\n${question}${session} waits. Go on with: npm start ${session} <answer>\n`

const bullets = ['Saturday, three o’clock', 'At the mill', 'Bring a cake']
const warm = { subject: 'Come to the mill!', body: 'Dear Ann,\n\nit would not be a party without you.', bullets }
const form = (email: object) => formOf({ streamId: 's', status: 'done', data: email } as never).join('\n')
const updates = /Writing the draft\nset subject\n(text-delta body\n){2,}(append bullets\n){3}final\n/

test('asks who sits at the terminal', async () => {
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
  expect(offered(interrupt)).toEqual(['a', 'b'])
})

test('fills in the form', async () => {
  expect(Email.parse(warm)).toEqual(warm)
  const said = await run(['s1', 'warm'])
  expect(said).toContain('Asking for the tone\nWriting the draft\n')
  expect(said).toMatch(updates)
  expect(said).toContain(`${form(warm)}\ncompleted\n`)
})

test('waits while nobody is there, and goes on with an answer that was offered', async () => {
  expect(await run(['s2'])).toBe(waits('s2'))
  expect(await run(['s2', 'wet'])).toContain(
    `Asking for the tone\nwet is none of the answers: warm, formal\n${question}s2 waits.`,
  )
  expect(await run(['s2'])).toBe(waits('s2'))
  expect(await run(['s2', 'warm'])).toContain(`${form(warm)}\ncompleted\n`)
})

test('killed while it waits and while it writes, it goes on', async () => {
  await run(['s3'], { killAt: 'Asking' })
  expect(await run(['s3', 'warm'], { killAt: 'text-delta body' })).not.toContain('final')
  const said = await run(['s3'])
  // What was cut off is taken back; the question is answered, and not asked again.
  expect(said).toContain('taken back\nset subject\n')
  expect(said).not.toContain(question)
  expect(said).toContain(`${form(warm)}\ncompleted\n`)
})

test.each(['', '../x', 'a'.repeat(600)])('a session that cannot be is refused in a word: %#', async session => {
  expect((await run([session])).split('\n')).toEqual([expect.stringContaining('1 to 64 letters'), ''])
})

test('what does not fit is taken back and corrected', async () => {
  const said = await run(['s4', 'formal'])
  expect(said.match(/set subject/g)).toHaveLength(2)
  expect(said).toMatch(/append bullets\ntaken back\nset subject\n/)
  expect(said).toContain('Subject: Invitation  ')
  expect(said.match(/final/g)).toHaveLength(1)
})

test('the form has room for long lines and for what is not there yet', () => {
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
