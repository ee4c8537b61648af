// How fast the demo goes: the one place where all of it is told to wait.

import { setTimeout } from 'node:timers/promises'
import { type Script, scriptedModel, systemTimers, type Timers } from 'millrace'

/** 1 is for people to watch, 0 waits for nothing. It is looked at each time, so that it can be set at any. */
const pace = () => Number(process.env['DEMO_PACE'] ?? 1)

/** Takes as long as something would that is not really done here. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  setTimeout(ms * pace(), undefined, signal && { signal })

/** A scripted model that says so many words a second on average. */
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
        // Counted from the start: a timer that rings late does not make all words after it late too.
        const early = start + words * msPerWord - timers.now()
        if (early > 0) await new Promise<void>(done => timers.after(early, done))
      }
      controller.enqueue(part)
    },
  })
}
