import { agent, type ScriptedAnswer, type ScriptedPrompt, tool } from 'millrace'
import { z } from 'zod'
import { pacedModel, pause } from '../pace.ts'
import { outcomeOf } from './outcome.ts'

const Weather = z.object({ city: z.string(), celsius: z.number(), sky: z.string() })

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city, now',
  input: z.object({ city: z.string() }),
  output: Weather,
  async *execute({ city }, { abortSignal }) {
    yield { city, progress: 'Looking for a station' }
    await pause(400, abortSignal)
    yield { city, progress: 'Reading its thermometer' }
    await pause(400, abortSignal)
    // In place of a service: always the same of the same city.
    const skies = ['clear', 'cloudy', 'rainy']
    return { city, celsius: 8 + ((city.length * 7) % 20), sky: skies[city.length % skies.length] ?? 'clear' }
  },
})

function answer(prompt: ScriptedPrompt): ScriptedAnswer {
  if (prompt.turnAnswers === 0) {
    const city = /\bin (\p{Lu}[\p{L}-]*( \p{Lu}[\p{L}-]*)*)/u.exec(prompt.lastText)?.[1] ?? 'Berlin'
    return {
      reasoning: `This is about the weather in ${city}. I do not know it, but there is a tool that does.`,
      calls: [{ name: 'get_weather', input: { city } }],
    }
  }
  const outcome = outcomeOf(prompt, 'get_weather')
  if (outcome?.type !== 'json') return { text: 'I could not find out how the weather is.' }
  const { city, celsius, sky } = Weather.parse(outcome.value)
  const url = `https://weather.example/${encodeURIComponent(city.toLowerCase())}`
  const words = `It is ${celsius} degrees in ${city}, and the sky is ${sky}.`.split(/(?= )/)
  return {
    parts: [
      { type: 'source', sourceType: 'url', id: 'station', url, title: `Weather in ${city}` },
      { type: 'text-start', id: 'text' },
      ...words.map(delta => ({ type: 'text-delta', id: 'text', delta }) as const),
      { type: 'text-end', id: 'text' },
    ],
  }
}

/** Thinks, looks the weather up, names its source, and answers. */
export const assistant = agent({
  name: 'assistant',
  model: pacedModel(answer),
  instructions: 'Answer questions about the weather. Name your sources.',
  tools: [getWeather],
})
