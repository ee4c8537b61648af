import { tool } from 'millrace'
import { z } from 'zod'
import { pause } from '../pace.ts'

/** The output of the tool. The first day is today. */
export const Weather = z.object({
  city: z.string(),
  unit: z.enum(['celsius', 'fahrenheit']),
  days: z.array(z.object({ degrees: z.number(), sky: z.string() })),
  source: z.string(),
})

const SKIES = ['clear', 'cloudy', 'rainy']

/** Reports progress, then the weather. Generated from the name of the city, without a service. */
export const getWeather = tool({
  name: 'get_weather',
  description: 'Returns the weather in a city for today and the next days, with its source',
  inputSchema: Weather.pick({ city: true, unit: true }).extend({ days: z.number().int().min(1).max(7) }),
  outputSchema: Weather,
  async *execute({ city, unit, days }, { abortSignal }) {
    yield { city, progress: 'Finding a weather station' }
    await pause(400, abortSignal)
    yield { city, progress: 'Reading the forecast' }
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
