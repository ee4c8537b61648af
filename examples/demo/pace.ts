// The speed of the demo.

import { setTimeout } from 'node:timers/promises'
import { type Script, scriptedModel, systemTimers, type Timers } from 'millrace'

/** 1 is the normal speed, 0 waits for nothing. Read on every use, so that tests can change it. */
const pace = () => Number(process.env['DEMO_PACE'] ?? 1)

/** Simulates work. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  setTimeout(ms * pace(), undefined, signal && { signal })

/** A scripted model with an average number of words per second. */
export function pacedModel(script: Script, wordsPerSecond = 100, timers: Timers = systemTimers) {
  const model = scriptedModel(script)
  const doStream: typeof model.doStream = async call => {
    const { stream } = await model.doStream(call)
    return { stream: stream.pipeThrough(inTime((1000 / wordsPerSecond) * pace(), timers)) }
  }
  return { ...model, doStream }
}

function inTime<Part extends { readonly type: string }>(
  msPerWord: number,
  timers: Timers,
): TransformStream<Part, Part> {
  const start = timers.now()
  let words = 0
  return new TransformStream({
    async transform(part, controller) {
      if (part.type.endsWith('-delta')) {
        words += 1
        // Relative to the start, so that a late timer does not delay all later words.
        const early = start + words * msPerWord - timers.now()
        if (early > 0) await new Promise<void>(done => timers.after(early, done))
      }
      controller.enqueue(part)
    },
  })
}
