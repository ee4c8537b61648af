import { describe, expect, test } from 'vitest'
import { MAX_JSON_DEPTH } from './json-parser.ts'
import { feed, replay, strict } from './json-replay.fixture.ts'
import { JsonStream } from './json-stream.ts'

const units = (text: string) => text.split('')

describe('around the document', () => {
  const value = { a: [1, '```'] }
  const document = JSON.stringify(value)

  test.each([
    document,
    `\`\`\`json\n${document}\n\`\`\``,
    `\`\`\`\n${document}\`\`\`\n`,
    `\`\`\`json${document}\`\`\``,
    `Sure! Here is "it":\n\n\`\`\`json\n${document}\n\`\`\`\nAnything else? {"b": 2}`,
    `The answer is 42: ${document} (as asked)`,
    `\ufeff  ${document}`,
  ])('skips a fence and prose: %j', text => {
    for (const pieces of [[text], units(text)]) {
      const stream = feed(pieces, {})
      expect(stream.error).toBeUndefined()
      expect(stream.status).toBe('done')
      expect(stream.value).toEqual(value)
    }
    expect(feed([text]).status).toBe(text === document ? 'done' : 'failed')
  })

  test.each([
    `See [docs](x) ${document}`,
    `- [x] done ${document}`,
    `- [*] closed, [-] void ${document}`,
    `Use {name}: \`\`\`json\n${document}\`\`\``,
    `{{name}} [[link]] {${document}`,
    `[see${document}]`,
    `{"it": so} ["\\escape" [nul, {: {"a":[[{"b" ${document}`,
    `["\n ${document}`,
    `["\\z ${document}`,
  ])('skips brackets in the prose: %j', text => {
    const unsplit = replay([text], {})
    expect(unsplit).toMatchObject({ status: 'done', value: document, error: undefined })
    for (let i = 0; i <= text.length; i++) expect(replay([text.slice(0, i), text.slice(i)], {})).toEqual(unsplit)
    expect(replay(units(text), {})).toEqual(unsplit)
  })

  test('a bracket in the prose leaves no value, and an earlier snapshot stays unchanged', () => {
    const stream = new JsonStream()
    stream.push('{"it":[["')
    const held = stream.snapshot()
    stream.push('\n')
    expect([stream.value, stream.snapshot(), stream.status]).toEqual([undefined, undefined, 'partial'])
    stream.push('{"b":')
    expect(stream.snapshot()).toEqual({})
    stream.push('[2]}')
    expect([stream.value, stream.snapshot(), stream.status]).toEqual([{ b: [2] }, { b: [2] }, 'done'])
    expect(held).toEqual({ it: [['']] })
  })

  test('a bracket counts as prose only until something in it was reported', () => {
    expect(feed([`Result [1]: ${document}`], {}).value).toEqual([1])
    expect(feed([`- [ ] open: ${document}`], {}).value).toEqual([])
    for (const [text, value] of [
      ['["a\n', ['a']],
      ['{"a":1,b', { a: 1 }],
      ['[[]x', [[]]],
    ] as const) {
      const stream = feed([`${text} ${document}`], {})
      expect([stream.status, stream.value]).toEqual(['failed', value])
    }
    const deep = feed([`${'['.repeat(MAX_JSON_DEPTH + 1)}1${']'.repeat(MAX_JSON_DEPTH + 1)}`], {})
    expect(deep.error?.code).toBe('too-large')
  })

  test('without a document, the error is that of the last candidate', () => {
    const message = (text: string) => feed([text], {}).error?.message
    expect(message("See [docs]: {'a': 1}")).toBe(`offset 13: expected a key or "}", found "'"`)
    expect(message('See [docs]: {"a')).toBe('offset 15: expected more of a key, found the end')
  })

  test('is done with the last bracket and ignores further text', () => {
    const stream = new JsonStream()
    stream.push('Here: [1]')
    expect(stream.status).toBe('done')
    stream.push(', 2] {"')
    expect(stream.end()).toBe(true)
    expect(stream.value).toEqual([1])
  })

  test('a scalar is a document only in strict mode, and a number ends with the text', () => {
    const stream = new JsonStream(strict)
    stream.push('-1')
    stream.push('2.5')
    expect([stream.status, stream.value]).toEqual(['partial', undefined])
    expect(stream.end()).toBe(true)
    expect([stream.status, stream.value]).toEqual(['done', -12.5])
    stream.push('x')
    expect([stream.status, stream.end()]).toEqual(['done', true])
    expect(feed(['"text"'], {}).status).toBe('failed')
  })

  test('in strict mode only white space may follow', () => {
    const stream = new JsonStream(strict)
    stream.push('[] \n')
    expect(stream.status).toBe('done')
    stream.push(' x')
    expect(stream.status).toBe('failed')
    expect(stream.value).toEqual([])
  })
})
