import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formOf } from './form.ts'
import { Email, emailDraft } from './workflow.ts'

const here = import.meta.dirname
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  for (const file of ['email-draft.ts', 'workflow.ts', 'form.ts', 'package.json']) {
    cpSync(join(here, file), join(folder, file))
  }
  symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the example as its `start` does, with somebody who types, or with nobody there; until it has ended, or is killed once it has said something. */
async function run(args: string[], { types, killAt }: { types?: string; killAt?: string } = {}): Promise<string> {
  const child = spawn(process.execPath, ['--conditions=@millrace/source', 'email-draft.ts', ...args], { cwd: folder })
  let said = ''
  child.stdout.on('data', data => {
    said += data
    if (killAt !== undefined && said.includes(killAt)) child.kill('SIGKILL')
  })
  child.stderr.on('data', data => {
    said += data
  })
  // Whoever is to be killed while it waits has somebody at the terminal who says nothing.
  if (killAt === undefined) child.stdin.end(types ?? '')
  await once(child, 'close')
  return said
}

const question = [
  'Which tone should the email have?',
  '  warm: Warm. As to a friend',
  '  formal: Formal. As to an office',
  '',
].join('\n')
const waits = (session: string) =>
  `Asking for the tone\n${question}${session} waits. Go on with: npm start ${session} <answer>\n`

const bullets = ['Saturday, three o’clock', 'At the mill', 'Bring a cake']
const warm = { subject: 'Come to the mill!', body: 'Dear Ann,\n\nit would not be a party without you.', bullets }
const form = (email: object) => formOf({ streamId: 's', status: 'done', data: email } as never).join('\n')
const updates = /Writing the draft\nset subject\n(text-delta body\n){2,}(append bullets\n){3}final\n/

test('asks who is there, and fills in the form', async () => {
  expect(Email.parse(warm)).toEqual(warm)
  const said = await run(['s1'], { types: 'warm\n' })
  expect(said).toContain(`Asking for the tone\n${question}Writing the draft\n`)
  expect(said).toMatch(updates)
  expect(said).toContain(`${form(warm)}\ncompleted\n`)
})

test('waits while nobody is there, and goes on with an answer that was offered', async () => {
  expect(await run(['s2'])).toBe(waits('s2'))
  expect(await run(['s2', 'wet'])).toContain('expected one of warm, formal')
  expect(await run(['s2'])).toBe(waits('s2'))
  expect(await run(['s2', 'warm'])).toContain(`${form(warm)}\ncompleted\n`)
})

test('killed while it waits and while it writes, it goes on', async () => {
  expect(await run(['s3'], { killAt: 'formal:' })).not.toContain('waits.')
  expect(await run(['s3', 'warm'], { killAt: 'text-delta body' })).not.toContain('final')
  const said = await run(['s3'])
  // What was cut off is taken back; the question is answered, and not asked again.
  expect(said).toContain('taken back\nset subject\n')
  expect(said).not.toContain(question)
  expect(said).toContain(`${form(warm)}\ncompleted\n`)
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
