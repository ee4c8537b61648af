import fc from 'fast-check'
import { Lexer, type MarkedToken } from 'marked'
import { expect, test } from 'vitest'
import { multiplied } from '../../../scripts/faults/campaign.ts'
import { BOUNDS, type Bounds } from './bounds.ts'
import { lex } from './lex.ts'
import { type Block, MarkdownStream } from './markdown-stream.ts'

/** Blocks without fields that depend on how the text was split. */
const shape = (blocks: readonly (Block | MarkedToken)[]): unknown =>
  JSON.parse(
    JSON.stringify(
      blocks.filter(({ type }) => type !== 'space' && type !== 'def'),
      (key, value) => (['raw', 'codeBlockStyle', 'escaped'].includes(key) || value === '' ? undefined : value),
    ),
  )

function read(pieces: readonly string[], bounds?: Bounds): MarkdownStream {
  const stream = new MarkdownStream(bounds)
  let text = ''
  for (const piece of pieces) {
    text += piece
    expect(stream.read(text, false)).toBe(true)
  }
  stream.read(text, true)
  return stream
}

const LINES = [
  '',
  '',
  '',
  '# Head',
  'Some *words* and **more** of `them`.',
  'See [the mill][m], [m] and [other][].',
  '[m]: https://mill.example "The mill"',
  '[m]: https://another.example',
  '[other]:',
  'https://other.example',
  '- one',
  '- [x] two',
  '* star',
  '  more of it',
  '    deep',
  '\tcode',
  '1. first',
  '10) tenth',
  '> said',
  '> - in a quote',
  '>',
  '```js',
  '```',
  '  ```',
  '~~~',
  '~~~~ text',
  '---',
  '===',
  '***',
  '| a | b |',
  '|---|:-:|',
  '| 1 | 2 |',
  'a | b',
  '--|--',
  '<div>',
  '<b>x</b> &amp; <!-- no -->',
  '[a link](https://a.example)',
  'A line with two spaces  ',
  'https://bare.example/x',
  '   ',
  '\\',
  '[',
  '**half',
  '# ',
  '+',
  '2.',
]

const texts = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...LINES) },
      { weight: 1, arbitrary: fc.string({ maxLength: 6, unit: fc.constantFrom(...' \t*_`~[]()<>#-=|:!\\a1.') }) },
    ),
    {
      maxLength: 24,
    },
  )
  .map(lines => lines.join('\n'))
const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 40 })

function cut(text: string, at: readonly number[]): string[] {
  const offsets = [0, ...at.filter(offset => offset < text.length).sort((a, b) => a - b), text.length]
  return offsets.slice(1).map((offset, i) => text.slice(offsets[i], offset))
}

const RUNS = { numRuns: multiplied(200) }

test('parses a text in pieces to the same blocks as at once', () => {
  fc.assert(
    fc.property(texts, cuts, (text, at) => {
      expect(shape(read(cut(text, at)).blocks)).toEqual(shape(lex(text, Object.create(null))))
    }),
    RUNS,
  )
})

test('parses text that exceeds the limits in pieces to the same blocks as at once', () => {
  const small: Bounds = { length: 40, marks: 6, nesting: 3 }
  fc.assert(
    fc.property(texts, cuts, (text, at) => {
      const whole = read([text], small)
      expect(shape(read(cut(text, at), small).blocks)).toEqual(shape(whole.blocks))
      expect(shape(read([...text], small).blocks)).toEqual(shape(whole.blocks))
    }),
    RUNS,
  )
})

test('keeps settled blocks as the same objects and parses in linear time', () => {
  const block = (i: number) =>
    i % 3 === 0
      ? `## Chapter ${i}\n\nWith *some* words about [it](https://mill.example/${i}).\n\n`
      : i % 3 === 1
        ? `- one of ${i}\n- two\n\n  and more\n\n| a | b |\n|---|---|\n| ${i} | x |\n\n`
        : `Like this:\n\`\`\`js\nmill(${i})\n\nrun()\n\`\`\`\nAnd so on.\n\n`
  const parseCost = (count: number) => {
    const text = Array.from({ length: count }, (_, i) => block(i)).join('')
    const stream = new MarkdownStream()
    let known: ReadonlySet<Block> = new Set()
    for (let end = 0; end < text.length; end += 7) {
      const settled = stream.count
      stream.read(text.slice(0, end), false)
      for (let i = 0; i < settled; i++) for (const one of stream.settled(i)) expect(known.has(one)).toBe(true)
      known = new Set(stream.blocks)
    }
    stream.read(text, true)
    expect(shape(stream.blocks)).toEqual(shape(lex(text, Object.create(null))))
    return { perCharacter: stream.parsedLength / text.length, length: text.length }
  }
  const [few, many] = [parseCost(30), parseCost(120)]
  expect(many.length).toBeGreaterThan(few.length * 3)
  expect(many.perCharacter).toBeLessThan(few.perCharacter * 1.2)
})

test('shows an open code fence as code without parsing it', () => {
  const stream = new MarkdownStream()
  let text = 'Look:\n```ts\n'
  for (let i = 0; i < 2000; i++) {
    text += `const n${i} = ${i}\n`
    stream.read(text, false)
  }
  stream.read(`${text}\`\``, false)
  expect(stream.parsedLength).toBeLessThan(1000)
  expect(stream.open).toMatchObject([{ type: 'code', lang: 'ts', text: expect.stringMatching(/n1999 = 1999$/) }])
  stream.read(`${text}\`\`\`\nThat was it.`, true)
  expect(shape(stream.blocks)).toEqual(shape(lex(`${text}\`\`\`\nThat was it.`, Object.create(null))))
})

test('a late link definition updates settled blocks', () => {
  const stream = new MarkdownStream()
  const text = 'See [the mill][m].\n\nMore.\n\nEven more.\n\n'
  stream.read(text, false)
  const changed = stream.changed
  expect(JSON.stringify(stream.settled(0))).not.toContain('"link"')
  stream.read(`${text}[m]: https://mill.example\n\nDone.\n\n.\n`, false)
  expect(stream.changed).toBeGreaterThan(changed)
  expect(JSON.stringify(stream.settled(0))).toContain('"link"')
})

test('rejects a text that does not extend the previous one', () => {
  const stream = new MarkdownStream()
  expect(stream.read('One', false)).toBe(true)
  expect(stream.read('Two', false)).toBe(false)
  expect(stream.read('One and more', true)).toBe(true)
  expect(stream.read('One and more', true)).toBe(true)
  expect(stream.read('One and more.', true)).toBe(false)
})

test.each([
  '>',
  '[',
  '*a',
  '_a_',
  '`',
  '`a',
  '![',
  '<',
  '- ',
  '1. ',
  '|',
  '[a](',
  '[[a]]',
  '**a',
  '\\',
  '(',
  'a@b.',
  '~~a',
  '> - ',
])('parses only a bounded part of 100,000 %s, at once or in pieces', mark => {
  const text = mark.repeat(Math.ceil(100_000 / mark.length))
  const whole = read([text])
  const pieces = Array.from({ length: 20 }, (_, i) => text.slice((i * text.length) / 20, ((i + 1) * text.length) / 20))
  const streamed = read(pieces)
  expect(whole.parsedLength).toBeLessThan(3 * BOUNDS.length)
  expect(streamed.parsedLength).toBeLessThan(3 * BOUNDS.length)
  expect(streamed.blocks.map(({ type }) => type)).toEqual(whole.blocks.map(({ type }) => type))
  expect(whole.blocks.some(({ type }) => type === 'plain')).toBe(true)
  expect(text.length).toBeGreaterThan(BOUNDS.length)
})

test('accepts all kinds of line breaks', () => {
  const text = 'a\r\nb\r\n\r\nc\rd'
  expect(shape(read([...text]).blocks)).toEqual(shape(new Lexer({ gfm: true }).lex(text) as MarkedToken[]))
})
