import { strictEqual } from 'node:assert/strict'
import { answer, checkText } from '../../fixtures/text.ts'
import { type Job, job } from '../../harness/suite.ts'
import { type Clock, SCREEN_MS } from './clock.ts'
import { allocated, collect } from './heap.ts'
import { TRIAL } from './trial.ts'

/** How deltas arrive: `size` at once, then a pause of `apartMs`. */
export interface Arrivals {
  readonly size: number
  readonly intervalMs: number
}

/** Measured quantity: time, allocated bytes per delta, or notifications per screen frame. */
export type StoreFigure = 'time' | 'bytes' | 'notifications'

/** Parameters of a measurement: the deltas, the number of earlier messages, the arrival, and the measured quantity. */
export interface StoreLoad {
  readonly count: number
  readonly workIndex: number
  readonly history: number
  readonly arrivals: Arrivals
  readonly figure: StoreFigure
}

/** A subscriber that counts notifications and keeps the text length of the last one. */
export class Subscriber {
  notifications = 0
  length = 0

  onText(text: string | undefined): void {
    this.notifications++
    this.length = text?.length ?? 0
  }
}

/** Final state: the last answer, and the number of messages. */
export interface FinalState {
  readonly text: string | undefined
  readonly messages: number
}

/** A stream that yields items one by one on demand, and advances the clock between two arrivals. */
export function arrivalStream<T>(items: readonly T[], { size, intervalMs }: Arrivals, clock: Clock): ReadableStream<T> {
  let at = 0
  return new ReadableStream<T>(
    {
      pull(controller) {
        if (at > 0 && at % size === 0) clock.advance(intervalMs)
        if (at < items.length) controller.enqueue(items[at++] as T)
        else controller.close()
      },
    },
    // The consumer has processed the last item before it pulls the next one.
    { highWaterMark: 0 },
  )
}

/** Creates the job. Checks the text of the last answer, that the subscriber saw all of it, and the number of messages. */
export function storeJob(
  { count, workIndex, arrivals: { size, intervalMs }, figure }: StoreLoad,
  expected: { readonly messages: number; readonly last: number },
  subscriber: Subscriber,
  clock: Clock,
  run: () => FinalState | Promise<FinalState>,
): Job {
  const frames = Math.ceil((Math.ceil(count / size) * intervalMs) / SCREEN_MS)
  // Skipped in tests, which do not measure.
  if (count > TRIAL) collect()
  return job(
    async () => {
      const timed = () => clock.during(run)
      const { result, bytes } = figure === 'bytes' ? await allocated(timed) : { result: await timed(), bytes: 0 }
      return { ...result, subscriber, bytes }
    },
    ({ text, messages, subscriber }) => {
      const { last } = expected
      checkText(text, answer(last, workIndex))
      strictEqual(messages, expected.messages, 'wrong number of messages')
      strictEqual(subscriber.length, answer(last, workIndex).length, 'the subscriber did not see the complete text')
    },
    ({ subscriber, bytes }) => {
      if (figure === 'time') return []
      return [figure === 'bytes' ? bytes / count : subscriber.notifications / frames]
    },
  )
}
