import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { blocksOf } from '../docs/site/markdown.ts'
import { drawSequence, isSequence, parseSequence } from '../docs/site/sequence.ts'
import { root } from './command.ts'

const FOLDER = 'docs/architecture'
const pagesIn = (folder: string): string[] => globSync(`${folder}/**/*.md`, { cwd: root }).sort()
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')
const TOP = ['packages', 'scripts', 'docs', 'bench', 'interop', 'studio', 'examples', 'wide']
const PATH = new RegExp(`(?<![\\w/.-])(?:${TOP.join('|')})/[\\w./*-]*[\\w*]`, 'g')

const pathsIn = (text: string): string[] => [...text.matchAll(PATH)].map(([path]) => path)

describe.each([
  { folder: FOLDER, paths: 200, names: 7 },
  { folder: 'docs/contribute', paths: 130, names: 30 },
])('the pages in $folder', ({ folder, ...minimum }) => {
  const pages = pagesIn(folder)

  test('name only files and folders that exist', () => {
    // Links are relative, and another test follows them.
    const missing = pages.flatMap(page =>
      pathsIn(textOf(page).replace(/\]\([^)]*\)/g, ']'))
        // A command may name a test file by its beginning.
        .filter(path => !existsSync(join(root, path)) && !existsSync(join(root, `${path}.test.ts`)))
        .map(path => `${page}: ${path}`),
    )
    expect(missing).toEqual([])
    expect(pages.flatMap(page => pathsIn(textOf(page))).length).toBeGreaterThan(minimum.paths)
  })

  test('name functions and options that their files have', () => {
    const named = pages.flatMap(page =>
      [...textOf(page).matchAll(/`(\w+)` in `([^`]+)`/g)].map(([, name = '', file = '']) => ({ page, name, file })),
    )
    const missing = named.filter(({ name, file }) => !new RegExp(`\\b${name}\\b`).test(textOf(file)))
    expect(missing).toEqual([])
    expect(named.length).toBeGreaterThan(minimum.names)
  })
})

describe('the walkthroughs in docs/contribute', () => {
  const walkthroughs = pagesIn('docs/contribute').filter(page => page.includes('/add-a-'))

  test('number their steps from 1, and end with the check, the tests and a changeset', () => {
    expect(walkthroughs).toHaveLength(4)
    for (const page of walkthroughs) {
      const numbers = [...textOf(page).matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number))
      expect(numbers, page).toEqual(numbers.map((_, index) => index + 1))
      const [last = ''] = textOf(page)
        .split(new RegExp(`^${numbers.length}\\. `, 'm'))
        .slice(1)
      for (const end of ['npm test -- --changed main', 'npm run pnpm -- changeset']) expect(last, page).toContain(end)
      for (const each of ['npm run generate', 'npm run check']) expect(textOf(page), page).toContain(each)
    }
  })
})

describe('the pages on the architecture', () => {
  const pages = pagesIn(FOLDER)

  test('list as many files on the path of a token as they state', () => {
    const text = textOf(`${FOLDER}/token.md`)
    const [, count] = /A token passes \*\*(\d+)\*\* source files/.exec(text) ?? []
    const listed = [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file]) => file)
    expect(new Set(listed).size).toBe(Number(count))
    expect(listed.length).toBe(Number(count))
  })

  test.each(['token', 'answer', 'takeover', 'hook-replay', 'foreign-request'])('describe each arrow of %s', name => {
    const text = textOf(`${FOLDER}/${name}.md`)
    const [block] = blocksOf(text)
    const arrows = parseSequence(block?.code ?? '').steps.filter(({ kind }) => kind === 'message')
    const [, steps = ''] = text.split('## Steps')
    const numbers = [...(steps.split('\n## ')[0] ?? '').matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(arrows.map((_, index) => index + 1))
  })

  test('name for each of the twelve laws tests that cite it', () => {
    const sections = textOf(`${FOLDER}/laws.md`).split(/^## /m).slice(1)
    const laws = sections.flatMap(section => {
      const [, number] = /^(\d+)\. /.exec(section) ?? []
      return number === undefined ? [] : [{ number, files: pathsIn(section) }]
    })
    expect(laws.map(({ number }) => Number(number))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    const uncited = laws.flatMap(({ number, files }) => {
      expect(files.length).toBeGreaterThan(1)
      const cited = new RegExp(`\\blaws? (?:\\d+(?:, | and ))*${number}\\b`, 'i')
      return files.filter(file => !cited.test(textOf(file))).map(file => `law ${number}: ${file}`)
    })
    expect(uncited).toEqual([])
  })

  test('have a decision for each number, in the list of the index', () => {
    const decisions = pages.filter(page => page.includes('/decisions/'))
    const index = textOf(`${FOLDER}/index.md`)
    decisions.forEach((page, at) => {
      const name = page.slice(`${FOLDER}/`.length)
      const [title] = textOf(page).split('\n')
      expect(name.slice('decisions/'.length, 'decisions/'.length + 4)).toBe(String(at + 1).padStart(4, '0'))
      expect(index).toContain(`${at + 1}. [${title?.replace(/^# \d+\. /, '')}](${name})`)
      const headings = [...textOf(page).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
      expect(headings).toEqual(['Context', 'Decision', 'Consequences', 'Alternatives'])
    })
  })
})

describe('sequence diagrams', () => {
  const diagrams = globSync('docs/**/*.md', { cwd: root, exclude: name => name === 'node_modules' }).flatMap(page =>
    blocksOf(textOf(page))
      .filter(({ language, code }) => language === 'mermaid' && isSequence(code))
      .map(({ code, line }) => ({ at: `${page}:${line}`, code })),
  )

  test('can be drawn on every page', () => {
    for (const { code } of diagrams) expect(drawSequence(code, 'd')).toMatch(/^<svg .*<\/svg>$/s)
    expect(diagrams.length).toBeGreaterThan(7)
  })

  test('show participants, numbered messages, notes and a title', () => {
    const svg = drawSequence(
      'sequenceDiagram\naccTitle: A & B\nautonumber\nparticipant A as a<br>x\nparticipant B\nA->>B: one\nB--xA: two\nNote over A,B: note\nB->>B: three',
      'd',
    )
    expect(svg).toContain('<title id="d-title">A &amp; B</title>')
    const texts = [...svg.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text)
    expect(texts).toEqual(['a', 'x', 'B', 'one', '1', 'two', '2', 'note', 'three', '3'])
    expect(svg.match(/class="cut"/g)).toHaveLength(1)
  })

  test('reject a line that cannot be drawn, and name the line', () => {
    expect(() => parseSequence('sequenceDiagram\nloop forever')).toThrow('loop forever')
    expect(() => parseSequence('sequenceDiagram\nparticipant A\nA->>C: hello')).toThrow('C is no participant')
  })
})
