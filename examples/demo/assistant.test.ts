import { expect, test } from 'vitest'
import { chunksOf, shown, stage } from './stage.fixture.ts'

const { ask, view } = stage()

test('thinks, asks its tool, names its source, and answers with what it was told', async () => {
  const { status, message } = await (await ask('assistant', 'How is the weather in Paris?')).result()
  expect(status).toBe('completed')
  expect(shown(message?.parts)).toEqual([
    expect.objectContaining({ type: 'reasoning', text: expect.stringContaining('Paris'), state: 'done' }),
    expect.objectContaining({
      type: 'tool',
      toolName: 'get_weather',
      executor: 'server',
      state: 'output-available',
      input: { city: 'Paris' },
      output: { city: 'Paris', celsius: 23, sky: 'rainy' },
    }),
    expect.objectContaining({
      type: 'source-url',
      url: 'https://weather.example/paris',
      title: 'Weather in Paris',
    }),
    expect.objectContaining({ type: 'text', text: 'It is 23 degrees in Paris, and the sky is rainy.', state: 'done' }),
  ])
})

test('its tool tells twice how far it is', async () => {
  const outputs = (await chunksOf(await ask('assistant', 'And in Rome?'))).flatMap(chunk =>
    chunk.type === 'tool-output-available' ? [[chunk.preliminary === true, chunk.output]] : [],
  )
  expect(outputs).toEqual([
    [true, { city: 'Rome', progress: 'Looking for a station' }],
    [true, { city: 'Rome', progress: 'Reading its thermometer' }],
    [false, { city: 'Rome', celsius: 16, sky: 'cloudy' }],
  ])
})

test.each([
  ['Do I need a coat?', 'Berlin'],
  ['Is it warm in the morning?', 'Berlin'],
  ['How is it in New York today?', 'New York'],
  ['Is there snow in Zürich?', 'Zürich'],
])('%s %s', async (input, city) => {
  const { text } = await (await ask('assistant', input)).result()
  expect(text).toContain(` degrees in ${city}, `)
})

test('each turn has its own city', async () => {
  await (await ask('assistant', 'How is the weather in Paris?')).result()
  const second = await (await ask('assistant', 'And in Oslo?')).result()
  expect(second.text).toContain(' degrees in Oslo, ')
  const sources = (await view()).messages.flatMap(({ parts }) =>
    parts.flatMap(part => (part.type === 'source-url' && 'url' in part ? [part.url] : [])),
  )
  expect(sources).toEqual(['https://weather.example/paris', 'https://weather.example/oslo'])
})
