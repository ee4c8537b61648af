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
      reasoning: `This is about the weather in ${city}. I do not know it, but there is a tool that does.`,
      calls: [{ name: 'get_weather', input: { city, days, unit } }],
      // So that its input can be watched as it comes.
      pieceLength: 3,
    }
  }
  const outcome = outcomeOf(prompt, 'get_weather')
  if (outcome?.type !== 'json') return { text: 'I could not find out how the weather is.' }
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

function reportOf({ city, days, unit, source }: z.infer<typeof Weather>): string {
  const [today] = days
  const rows = days.map(({ degrees, sky }, day) => `| ${day === 0 ? 'today' : `+${day}`} | ${degrees} | ${sky} |`)
  const isWet = days.some(({ sky }) => sky === 'rainy')
  return `## The weather in ${city}

It is **${today?.degrees} degrees** in ${city}, and the sky is ${today?.sky}.

| day | ${unit} | sky |
|---|---:|---|
${rows.join('\n')}

Take along:

- ${isWet ? 'an umbrella' : 'sunglasses'}
- something to *read*

To ask for it yourself:

\`\`\`sh
curl "${source}?days=${days.length}"
\`\`\`

More is told by [the station](${source}).`
}

/** Thinks, looks the weather up, and answers in Markdown, with a picture and its source. */
export const assistant = agent({
  name: 'assistant',
  model: modelOf(answer, 40),
  settings: thinking,
  instructions: [
    'Answer questions about the weather by the tool; for Berlin, three days and celsius where the user names nothing else.',
    'Answer in Markdown: a heading, the weather of today in a sentence, a table of all days, a list of what to take along,',
    'a code block with a curl command for the source, and at the end a link to the source.',
  ].join('\n'),
  tools: [getWeather],
})
