import { agent, type ScriptedAnswer, type ScriptedPrompt } from 'millrace'
import type { z } from 'zod'
import { modelOf, thinking } from '../model.ts'
import { chartOf } from './chart.ts'
import { outcomeOf } from './outcome.ts'
import { getWeather, Weather } from './weather.ts'

function answer(prompt: ScriptedPrompt): ScriptedAnswer {
  if (prompt.turnAnswers === 0) {
    const city = /\bin (\p{Lu}[\p{L}-]*( \p{Lu}[\p{L}-]*)*)/u.exec(prompt.lastText)?.[1] ?? 'Berlin'
    const days = Number(/\b([1-7]) days\b/.exec(prompt.lastText)?.[1] ?? 3)
    const unit = /fahrenheit/i.test(prompt.lastText) ? 'fahrenheit' : 'celsius'
    return {
      reasoning: `The user asks about the weather in ${city}. I will look it up.`,
      calls: [{ name: 'get_weather', input: { city, days, unit } }],
      // Small pieces, so that the input visibly streams.
      pieceLength: 3,
    }
  }
  const outcome = outcomeOf(prompt, 'get_weather')
  if (outcome?.type !== 'json') return { text: 'Sorry, I could not get the weather.' }
  const weather = Weather.parse(outcome.value)
  const chart = chartOf(weather.days.map(({ degrees }) => degrees))
  return {
    text: reportOf(weather),
    parts: [
      { type: 'file', mediaType: 'image/svg+xml', data: { type: 'data', data: chart } },
      { type: 'source', sourceType: 'url', id: 'station', url: weather.source, title: `Weather in ${weather.city}` },
    ],
  }
}

const dayName = (day: number): string => ['Today', 'Tomorrow'][day] ?? `In ${day} days`

function reportOf({ city, days, unit, source }: z.infer<typeof Weather>): string {
  const [today] = days
  const rows = days.map(({ degrees, sky }, day) => `| ${dayName(day)} | ${degrees} | ${sky} |`)
  const isWet = days.some(({ sky }) => sky === 'rainy')
  return `## Weather in ${city}

It is **${today?.degrees} degrees** in ${city}, and the sky is ${today?.sky}.

| Day | ${unit === 'celsius' ? 'Celsius' : 'Fahrenheit'} | Sky |
|---|---:|---|
${rows.join('\n')}

What to bring:

- ${isWet ? 'an umbrella' : 'sunglasses'}
- something to *read*

Get it yourself:

\`\`\`sh
curl "${source}?days=${days.length}"
\`\`\`

Source: [weather station](${source})`
}

/** Looks up the weather and answers in Markdown, with a chart and its source. */
export const assistant = agent({
  name: 'assistant',
  model: modelOf(answer, 40),
  settings: thinking,
  instructions: [
    'Answer questions about the weather with the tool. Defaults: Berlin, three days, celsius.',
    "Answer in Markdown: a heading, today's weather in a sentence, a table of all days, a list of what to bring,",
    'a code block with a curl command for the source, and at the end a link to the source.',
  ].join('\n'),
  tools: [getWeather],
})
