// Compiles every code block of the site, and runs those that can run: here, or in the test that `runners` names.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Block, blocksOf } from '../docs/site/markdown.ts'
import { type Page, pageAt, pages, root } from '../docs/site/pages.ts'
import { textOf } from '../docs/site/stage.ts'
import { build } from '../studio/build.ts'
import { compileCache } from './compile-cache.ts'
import { generators } from './generators.ts'
import { linkPackages } from './link-packages.ts'
import { blockOf, type FragmentContext, folderInPackage, fragmentContexts, testsOfPages } from './site-code.fixture.ts'

/** Languages of blocks that are not code: drawings and output. */
const READ = new Set(['', 'text', 'mermaid'])
const COMPILED = new Set(['ts', 'tsx', 'js'])

const codeOf = (page: Page): Block[] => blocksOf(textOf(page)).filter(({ language }) => !READ.has(language))
// Sources of examples are checked by `tsc` and their own tests. The API pages are generated from the types: their blocks are signatures.
const written = pages.filter(({ file }) => file.endsWith('.md') && !file.startsWith('docs/reference/api/'))

const contribute = pages.flatMap(({ path }) => (path.startsWith('contribute/') ? [path] : []))

test('each page with code has a test that runs it, and that test reads the page', () => {
  const missing = written.filter(page => codeOf(page).length > 0 && testsOfPages[page.path] === undefined)
  expect(missing.map(({ file }) => file)).toEqual([])
  for (const [path, tests] of Object.entries(testsOfPages)) {
    const { file } = pageAt(path)
    for (const name of tests) {
      const text = readFileSync(join(root, name), 'utf8')
      expect(text.includes(basename(file)) || text.includes(`'${path}'`), `${name} reads ${file}`).toBe(true)
    }
  }
})

test('every code block has a language that a test handles', () => {
  const handled = new Set([...COMPILED, 'sh', 'html', 'json', 'ini', 'nginx', 'dockerfile', 'yaml'])
  const blocks = written.flatMap(page =>
    codeOf(page).map(({ language, line }) => ({ at: `${page.file}:${line}`, language })),
  )
  expect(blocks.filter(({ language }) => !handled.has(language))).toEqual([])
})

test('the code of every page compiles', () => {
  const folder = folderInPackage('interop')
  linkPackages(join(folder, 'node_modules'))
  for (const page of written) {
    const home = join(folder, page.path)
    const blocks = codeOf(page).filter(({ language }) => COMPILED.has(language))
    if (blocks.length > 0) mkdirSync(home, { recursive: true })
    for (const [name, code] of filesOf(page.path, blocks)) writeFileSync(join(home, name), code)
  }
  // The guide to React shows a page for the server of the guide to the client.
  writeFileSync(join(folder, 'guide/react/server.ts'), blockOf('guide/client', 'ts', 'server.ts'))
  const compilerOptions = {
    // Off: stricter than the defaults of an application.
    exactOptionalPropertyTypes: false,
    noPropertyAccessFromIndexSignature: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
  }
  const settings = { extends: '../../tsconfig.json', compilerOptions, include: ['**/*.ts', '**/*.tsx'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const { stdout, error } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', '.'], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (error) throw error
  // Ignores diagnostics in the packages, which have their own settings.
  expect(stdout.split('\n').filter(line => /^[^.\s]\S*\(\d/.test(line))).toEqual([])
})

/** The files of a page: those that it names, its TypeScript as one program, and each fragment with its surroundings. */
function* filesOf(path: string, blocks: readonly Block[]): Generator<[name: string, code: string]> {
  const program: string[] = []
  for (const { language, name, code, line } of blocks) {
    const context = fragmentContexts[path]?.find(({ prefix }) => code.startsWith(prefix))
    const extension = language === 'tsx' ? 'tsx' : 'ts'
    if (name !== '') yield [name, code]
    else if (context !== undefined)
      yield [`line-${line}.${extension}`, `${context.before ?? ''}${renamed(code, context)}export {}\n`]
    else if (language === 'ts') program.push(code)
    else yield [`line-${line}.${extension}`, `${code}export {}\n`]
  }
  if (program.length > 0) yield ['program.ts', `${program.join('\n')}export {}\n`]
}

/** Replaces package names by their aliases. */
const renamed = (code: string, { aliases = {} }: FragmentContext): string =>
  Object.entries(aliases).reduce((text, [name, localName]) => text.replace(`'${name}'`, `'${localName}'`), code)

test('the snippets listed in `surroundings` are on their pages', () => {
  for (const [path, pieces] of Object.entries(fragmentContexts)) {
    const codes = codeOf(pageAt(path)).map(({ code }) => code)
    for (const { prefix } of pieces)
      expect(
        codes.some(code => code.startsWith(prefix)),
        prefix,
      ).toBe(true)
  }
})

/** Runs a block inside a package that can resolve its imports. Returns its output. */
function run(home: string, code: string): string {
  const cwd = folderInPackage(home)
  writeFileSync(join(cwd, 'example.ts'), code)
  return execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...compileCache },
  })
}

test('the page of concepts prints the log that it shows', () => {
  expect(run('packages/millrace', blockOf('concepts', 'ts'))).toBe(blockOf('concepts', 'text'))
})

test('the README of the dialects translates from one dialect to another', () => {
  const printed = run('interop', blockOf('packages/dialects', 'ts')).trim().split('\n')
  const values = printed.map(line => JSON.parse(line))
  expect(values[0]).toEqual({ type: 'start' })
  expect(values).toContainEqual({ type: 'text-delta', id: 't', delta: 'Hello' })
  expect(values.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
})

test('the file of the home page is served by its command, and answers', async () => {
  const folder = folderInPackage('packages/millrace')
  const file = 'agent.ts'
  writeFileSync(join(folder, file), blockOf('index', 'ts', file))
  const commands = blockOf('index', 'sh').trim().split('\n')
  expect(commands).toEqual(['npm install millrace @millrace/cli zod', `npx millrace dev ${file}`])
  for (const page of ['packages/cli', 'guide/studio']) expect(blockOf(page, 'sh')).toContain(commands[1])
  const manifest = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'))
  expect(Object.keys(manifest.bin)).toEqual(['millrace'])
  const args = ['--conditions=@millrace/source', join(root, 'packages/cli/src/main.ts'), 'dev', file]
  const child = spawn(process.execPath, [...args, '--port', '0', '--page', await build()], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...compileCache },
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(line)) ?? []
  expect(await (await fetch(`${url}/`)).text()).toContain('<div id="root"')
  const reply = await fetch(`${url}/api/sessions/s/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ agent: 'guide', input: 'Do I need a coat?' }),
  })
  const frames = await reply.text()
  expect(frames).toContain('21 degrees in Ulm')
  expect(frames).toContain('"type":"end","status":"completed"')
})

describe.each(['contributing', ...contribute])('the commands of %s', path => {
  const text = textOf(pageAt(path))

  test('exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const commands = [...text.matchAll(/`(np[mx]) (?:run )?([\w:-]+)[^`]*`/g)]
    expect(commands.length).toBeGreaterThan(0)
    for (const [written, program, name = ''] of commands) {
      const isThere = program === 'npm' ? name in scripts : existsSync(join(root, 'node_modules/.bin', name))
      expect(isThere, written).toBe(true)
    }
  })

  test('name checks that exist', () => {
    const source = readFileSync(join(root, 'scripts/check.ts'), 'utf8')
    const checks = [...source.matchAll(/^ {2}'?([a-z][a-z ]*)'?: (?:\(|async|check)/gm)].map(([, name = '']) => name)
    expect(checks.length).toBeGreaterThan(8)
    for (const [written, names = ''] of text.matchAll(/`npm run check -- ([^`]+)`/g)) {
      for (const [, quoted, plain = ''] of names.matchAll(/'([^']+)'|(\S+)/g))
        expect(
          [...checks, ...generators].some(name => name.startsWith(quoted ?? plain)),
          written,
        ).toBe(true)
    }
  })
})
