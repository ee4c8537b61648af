import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { cachedEnv } from './child-env.fixture.ts'

const root = join(import.meta.dirname, '..')

const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

/**
 * Writes the TypeScript of a page as one program and calls a function with its folder. Named blocks become separate
 * files.
 */
function withProgram<T>(page: string, more: string, use: (folder: string) => T): T {
  const text = textOf(page)
  const program = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n')
  // Inside the package, so that it can import it by name.
  const folder = mkdtempSync(join(root, '.example-'))
  try {
    writeFileSync(join(folder, 'example.ts'), `${program}\n${more}`)
    for (const [, name = '', block = ''] of text.matchAll(/```ts (\S+)\n(.*?)```/gs))
      writeFileSync(join(folder, name), block)
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Runs the TypeScript of a page twice with the same SQLite file, and returns both outputs. */
function runTwice(page: string, more = ''): readonly [string, string] {
  return withProgram(page, more, cwd => {
    const { MILLRACE_STORE, ...env } = cachedEnv()
    const args = ['--conditions=@millrace/source', 'example.ts']
    const run = () => execFileSync(process.execPath, args, { cwd, encoding: 'utf8', env })
    return [run(), run()]
  })
}

/** The compiler errors of each page, compiled together. */
function compile(pages: Readonly<Record<string, string>>): Record<string, string[]> {
  const within = (left: [page: string, more: string][], folders: string[]): Record<string, string[]> => {
    const [next, ...rest] = left
    if (next) return withProgram(...next, folder => within(rest, [...folders, folder]))
    const [cwd = ''] = folders
    const compilerOptions = { noPropertyAccessFromIndexSignature: false, noUnusedLocals: false }
    const include = folders.map(folder => join(folder, 'example.ts'))
    const settings = { extends: '../../../tsconfig.json', compilerOptions, include }
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(settings))
    const tsc = join(root, '../../node_modules/.bin/tsc')
    const { stdout, error } = spawnSync(tsc, ['-p', '.'], { cwd, encoding: 'utf8' })
    if (error) throw error
    const lines = stdout.split('\n').filter(line => /^\S*example\.ts/.test(line))
    const isOf = (folder: string, line: string) =>
      folder === cwd ? line.startsWith('example.ts') : line.startsWith(`../${basename(folder)}/`)
    return Object.fromEntries(
      Object.keys(pages).map((page, index) => [page, lines.filter(line => isOf(folders[index] as string, line))]),
    )
  }
  return within(Object.entries(pages), [])
}

/** The workflow diagrams of a page. */
const diagramsIn = (page: string): string[] =>
  [...textOf(page).matchAll(/```mermaid\n(flowchart.*?)```/gs)].map(([, diagram = '']) => diagram)

/** The code that prints the diagrams of workflows. */
const drawn = (page: string): string => `${JSON.stringify(diagramsIn(page))}\n`
const draw = (...workflows: string[]): string => `
  console.log(JSON.stringify([${workflows}].map(one => one.toMermaid())))`

const twice = (printed: string) => [printed, printed]

test('the example in the package README runs repeatedly', () => {
  expect(runTwice('README.md')).toEqual(twice('It is warm in Ulm. completed\n'))
})

test('the guide to agents runs repeatedly', () => {
  const more = `
    const talk = await plannerRuntime.start({ agent: multilingual, input: 'Hi', context: { language: 'Swabian' } })
    console.log((await talk.result()).text, status, text.length, usage.outputTokens, recentOnly.name)
    await plannerRuntime.close()
    await runtime.close()`
  for (const printed of runTwice('../../docs/guide/agents.md', more)) {
    expect(printed).toContain('Let me look. It is 21 degrees in Ulm.')
    expect(printed).toContain(`[ 'minster', 'river' ]`)
    expect(printed).toContain('My instructions: "Speak Swabian." completed 37')
  }
})

test('the guide to tools runs repeatedly', () => {
  const [first, second] = runTwice('../../docs/guide/tools.md')
  // The same call in another turn is another call.
  expect(first).toMatch(/output-available \{\s+found: \[\s+'millrace, by tools\/[\w-]+\/call-search-1'\s+\]/)
  expect(second).toMatch(/output-available \{\s+found: \[\s+'millrace, by tools\/[\w-]+\/call-search-1-2'\s+\]/)
  for (const printed of [first, second]) {
    expect(printed).toContain('output-error no page matches')
    expect(printed).toContain(`{ answer: '42' }`)
  }
})

test('the guide to recovery runs repeatedly', () => {
  expect(runTwice('../../docs/guide/recovery.md')).toEqual(twice('At your service.\n'))
})

test('the guide to approvals runs repeatedly', () => {
  const more = `
    const calls = [200, 20].map(euros => ({ name: 'transfer', input: { to: 'ulm', euros } }))
    calls.push({ name: 'transfer', input: { to: 'mars', euros: 1 } })
    const bankModel = scriptedModel([{ calls }, { text: 'done' }])
    const bank = agent({ name: 'bank', model: bankModel, tools: [transfer] })
    const banking = createRuntime({ store, agents: [bank] })
    const { message } = await (await banking.start({ agent: bank, input: 'go' })).result()
    for (const part of message.parts) if (part.type === 'tool') console.log(part.state, part.approval?.reason)
    await banking.close()`
  const printed = [
    "paused refund { order: 'A7', euros: 40 }",
    'You got a refund.',
    'answer_invalid',
    'output-denied One refund is enough.',
    'answer_forbidden',
    'completed',
    'approval-requested undefined',
    'output-available undefined',
    'output-denied There is no such bank.\n',
  ].join('\n')
  expect(runTwice('../../docs/guide/approvals.md', more)).toEqual(twice(printed))
})

test('the guide to client tools runs repeatedly', () => {
  for (const printed of runTwice('../../docs/guide/client-tools.md')) {
    expect(printed.match(/Welcome to Ulm/g)).toHaveLength(2)
    // Whichever was first.
    expect(printed.match(/tab \d has answered/g)).toHaveLength(1)
    expect(printed).toMatch(/approval client-tool\nIt is gone\.\n$/)
  }
})

test('the guide to sub-agents runs repeatedly', () => {
  for (const printed of runTwice('../../docs/guide/sub-agents.md')) {
    expect(printed).toMatch(/^Let me ask\. /)
    expect(printed).toContain('researcher Three pages about rivers.\n')
    expect(printed).toContain('researcher Three pages about mills.\n')
    expect(printed).toContain('editor is the root agent\n')
    for (const call of [1, 2]) expect(printed).toMatch(new RegExp(`researcher works for call-researcher-${call}\\b`))
    expect(printed).toMatch(/publisher waits for approval\nThe article is online\.\n$/)
  }
})

test('the guide to workflows runs repeatedly, and its diagrams match its workflows', () => {
  const page = '../../docs/guide/workflows.md'
  const more = `
    const counter = createRuntime({ store, workflows: [booking, order] })
    const printResult = async (run: { result(): Promise<{ text: string; output: unknown }> }) => {
      const { text, output } = await run.result()
      console.log(text, JSON.stringify(output))
    }
    await printResult(await counter.start({ workflow: booking, data: { hotel: 'Ulm' } }))
    await printResult(await counter.start({ workflow: order, input: 'card' }))
    await counter.close()`
  const printed = [
    'completed Draft 2 about mills: the wheel turns.',
    '21 degrees, 1 hotel',
    'Thank you. paid',
    '1 classify classify',
    '2 pay pay',
    'trip 21 degrees, 1 hotel',
    'It is warm, and there is a hotel.',
    'Ann',
    'Four stars. {"booked":true}',
    'Sorry: we take cash only. "open"',
    drawn(page),
  ].join('\n')
  expect(diagramsIn(page)).toHaveLength(4)
  expect(runTwice(page, more + draw('article', 'trip', 'order', 'booking'))).toEqual(twice(printed))
})

test('the guide to hooks runs repeatedly, and its diagram matches its workflow', () => {
  const page = '../../docs/guide/hooks.md'
  const printed = [
    "completed { number: 2, tries: 2 } [ 'ben to Ulm, true', 'ben to Ulm, true' ]",
    'letter {"subject":"An invitation","sender":{"name":"Ben"},"sections":[{"title":"Where","text":"At the old mill."},{"title":"When","text":"On Saturday."}],"tags":["party","mill"]}',
    'stamp {"stamp":"fish"}',
    'bill {"for":"Ulm","rows":[{"item":"fish","cents":85},{"item":"blue","cents":85},{"item":"red","cents":85},{"item":"blue","cents":85}],"note":"Pay soon."}',
    drawn(page),
  ].join('\n')
  expect(diagramsIn(page)).toHaveLength(1)
  expect(runTwice(page, draw('correspondence'))).toEqual(twice(printed))
})

test('the guides to workflows and hooks compile, and invalid variants do not', () => {
  const wrong = `
    workflow({
      id: 'wrong',
      nodes: { one: () => ({ data: 1 }), two: ({ input }: NodeContext<string>) => ({ data: input }) },
      edges: [['start', 'one'], ['one', 'two'], ['two', 'end']],
    })`
  const [hooks, workflows] = ['../../docs/guide/hooks.md', '../../docs/guide/workflows.md'] as const
  const reported = compile({ [hooks]: '', [workflows]: wrong })
  expect(reported[hooks]).toEqual([])
  const [problem, ...others] = reported[workflows] as string[]
  expect(problem).toContain('two does not take what one returns')
  expect(others).toEqual([])
})

test('the guide to MCP runs repeatedly', () => {
  const printed = [
    'output-available 21 degrees in Ulm',
    'output-error there is no such city',
    `[ 'remote_temperature' ]`,
    '',
  ].join('\n')
  expect(runTwice('../../docs/guide/mcp.md')).toEqual(twice(printed))
})

test('the guide to observability runs repeatedly', () => {
  const spans = [
    'chat scripted 0 ',
    'execute_tool weather  ',
    'step 1  ',
    'chat scripted 5 ',
    'step 2  ',
    'invoke_agent guide 5 completed',
  ].join('\n')
  for (const printed of runTwice('../../docs/guide/observability.md')) {
    expect(printed).toContain(spans)
    expect(printed).toContain('execute_tool in step 1 "21 degrees in Ulm"')
    expect(printed).toContain('notified is completed')
  }
})
