import { tool } from 'millrace'
import { z } from 'zod'
import { pause } from '../pace.ts'

/** What the tool tells: a day after the other, the first of them today. */
export const Weather = z.object({
  city: z.string(),
  unit: z.enum(['celsius', 'fahrenheit']),
  days: z.array(z.object({ degrees: z.number(), sky: z.string() })),
  source: z.string(),
})

const SKIES = ['clear', 'cloudy', 'rainy']

/** Tells how far it is, and then the weather. In place of a service: always the same of the same city. */
export const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city, today and on the days after, with its source',
  inputSchema: Weather.pick({ city: true, unit: true }).extend({ days: z.number().int().min(1).max(7) }),
  outputSchema: Weather,
  async *execute({ city, unit, days }, { abortSignal }) {
    yield { city, progress: 'Looking for a station' }
    await pause(400, abortSignal)
    yield { city, progress: 'Reading its thermometer' }
    await pause(400, abortSignal)
    return {
      city,
      unit,
      days: Array.from({ length: days }, (_, day) => {
        const celsius = 8 + ((city.length * 7 + day * 3) % 20)
        const degrees = unit === 'celsius' ? celsius : Math.round(celsius * 1.8 + 32)
        return { degrees, sky: SKIES[(city.length + day) % SKIES.length] ?? 'clear' }
      }),
      source: `https://weather.example/${encodeURIComponent(city.toLowerCase())}`,
    }
  },
})
