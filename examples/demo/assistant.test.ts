import { expect, test } from 'vitest'
import { chunksOf, demoRuntime, partsWithoutPosition } from './demo-runtime.fixture.ts'

const { ask, view } = demoRuntime()

test('reasons, calls its tool and answers with an image and its source', async () => {
  const { status, message } = await (await ask('assistant', 'What is the weather in Paris?')).result()
  expect(status).toBe('completed')
  expect(partsWithoutPosition(message?.parts)).toEqual([
    expect.objectContaining({ type: 'reasoning', text: expect.stringContaining('Paris'), state: 'done' }),
    expect.objectContaining({
      type: 'tool',
      toolName: 'get_weather',
      executor: 'server',
      state: 'output-available',
      input: { city: 'Paris', days: 3, unit: 'celsius' },
      output: {
        city: 'Paris',
        unit: 'celsius',
        days: [
          { degrees: 23, sky: 'rainy' },
          { degrees: 26, sky: 'clear' },
          { degrees: 9, sky: 'cloudy' },
        ],
        source: 'https://weather.example/paris',
      },
    }),
    expect.objectContaining({
      type: 'text',
      text: expect.stringContaining('It is **23 degrees** in Paris, and the sky is rainy.'),
      state: 'done',
    }),
    expect.objectContaining({
      type: 'file',
      mediaType: 'image/svg+xml',
      url: expect.stringMatching(/^data:image\/svg\+xml;base64,/),
    }),
    expect.objectContaining({
      type: 'source-url',
      url: 'https://weather.example/paris',
      title: 'Weather in Paris',
    }),
  ])
})

test('answers in Markdown: a heading, a table, a list, code and a link', async () => {
  const { text } = await (await ask('assistant', 'What is the weather in Paris?')).result()
  expect(text).toMatch(/^## Weather in Paris$/m)
  expect(text).toMatch(/^\| Day \| Celsius \| Sky \|\n\|[-:|]+\|\n\| Today \| 23 \| rainy \|$/m)
  expect(text).toMatch(/^- an umbrella$/m)
  expect(text).toMatch(/^```sh\ncurl "[^"]+"\n```$/m)
  expect(text).toMatch(/\[weather station\]\(https:\/\/weather\.example\/paris\)/)
})

test('returns an image with a bar for each day', async () => {
  const { message } = await (await ask('assistant', 'How are the next 5 days in Paris?')).result()
  const url = message?.parts.flatMap(part => (part.type === 'file' && 'url' in part ? [part.url] : []))[0] ?? ''
  const svg = Buffer.from(url.split(',')[1] ?? '', 'base64').toString()
  expect(svg).toMatch(/^<svg .*<\/svg>$/)
  expect(svg.match(/<rect /g)).toHaveLength(5)
})

test('streams the input of its tool, which reports progress twice', async () => {
  const chunks = await chunksOf(await ask('assistant', 'And 2 days in Rome, in Fahrenheit?'))
  const deltas = chunks.flatMap(chunk => (chunk.type === 'tool-input-delta' ? [chunk.delta] : []))
  expect(deltas.join('')).toBe('{"city":"Rome","days":2,"unit":"fahrenheit"}')
  const outputs = chunks.flatMap(chunk =>
    chunk.type === 'tool-output-available' ? [[chunk.preliminary === true, chunk.output]] : [],
  )
  const days = [
    { degrees: 61, sky: 'cloudy' },
    { degrees: 66, sky: 'rainy' },
  ]
  expect(outputs).toEqual([
    [true, { city: 'Rome', progress: 'Finding a weather station' }],
    [true, { city: 'Rome', progress: 'Reading the forecast' }],
    [false, { city: 'Rome', unit: 'fahrenheit', days, source: 'https://weather.example/rome' }],
  ])
})

test.each([
  ['Do I need a coat?', 'Berlin'],
  ['Is it warm in the morning?', 'Berlin'],
  ['How is it in New York today?', 'New York'],
  ['Is there snow in Zürich?', 'Zürich'],
])('%s %s', async (input, city) => {
  const { text } = await (await ask('assistant', input)).result()
  expect(text).toContain(` degrees** in ${city}, `)
})

test('uses the city of the current turn', async () => {
  await (await ask('assistant', 'What is the weather in Paris?')).result()
  const second = await (await ask('assistant', 'And in Oslo?')).result()
  expect(second.text).toContain(' degrees** in Oslo, ')
  const sources = (await view()).messages.flatMap(({ parts }) =>
    parts.flatMap(part => (part.type === 'source-url' && 'url' in part ? [part.url] : [])),
  )
  expect(sources).toEqual(['https://weather.example/paris', 'https://weather.example/oslo'])
})
