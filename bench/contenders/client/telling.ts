import { strictEqual } from 'node:assert/strict'
import { answer, checkText } from '../../fixtures/text.ts'
import { type Job, job } from '../../harness/suite.ts'
import { type Clock, SCREEN_MS } from './clock.ts'
import { allocated, collect } from './heap.ts'
import { TRIAL } from './trial.ts'

/** How deltas come: so many at once, and so many milliseconds apart. */
export interface Arrivals {
  readonly size: number
  readonly apartMs: number
}

/** What is asked: the time it takes, the bytes it allocates a delta, or how often somebody is told in a frame of the screen. */
export type Asked = 'time' | 'bytes' | 'notifications'

/** Which deltas are told into a conversation of how many messages, how they come, and what is asked of it. */
export interface Telling {
  readonly count: number
  readonly piece: number
  readonly history: number
  readonly arrivals: Arrivals
  readonly asked: Asked
}

/** What somebody who shows an answer saw of it: as often as it was told, and how much there was the last time. */
export class Seen {
  notifications = 0
  length = 0

  see(text: string | undefined): void {
    this.notifications++
    this.length = text?.length ?? 0
  }
}

/** What is left when all is said: the last answer, and how many messages there are. */
export interface Told {
  readonly text: string | undefined
  readonly messages: number
}

/** A stream that hands out what comes one by one, as it is asked for, and lets the time between two arrivals pass. */
export function arriving<T>(items: readonly T[], { size, apartMs }: Arrivals, clock: Clock): ReadableStream<T> {
  let at = 0
  return new ReadableStream<T>(
    {
      pull(controller) {
        if (at > 0 && at % size === 0) clock.pass(apartMs)
        if (at < items.length) controller.enqueue(items[at++] as T)
        else controller.close()
      },
    },
    // Nothing is asked for before what came last has been dealt with.
    { highWaterMark: 0 },
  )
}

/** The job of having answers told, of which the last has so many deltas: its text is checked, that all of it was seen, and how many messages there are. */
export function tellingJob(
  { count, piece, arrivals: { size, apartMs }, asked }: Telling,
  expected: { readonly messages: number; readonly last: number },
  seen: Seen,
  clock: Clock,
  tell: () => Told | Promise<Told>,
): Job {
  const frames = Math.ceil((Math.ceil(count / size) * apartMs) / SCREEN_MS)
  // What a test tries is not measured.
  if (count > TRIAL) collect()
  return job(
    async () => {
      const run = () => clock.during(tell)
      const { result, bytes } = asked === 'bytes' ? await allocated(run) : { result: await run(), bytes: 0 }
      return { ...result, seen, bytes }
    },
    ({ text, messages, seen }) => {
      const { last } = expected
      checkText(text, answer(last, piece))
      strictEqual(messages, expected.messages, 'there is another number of messages')
      strictEqual(seen.length, answer(last, piece).length, 'not all of it was seen')
    },
    ({ seen, bytes }) => {
      if (asked === 'time') return []
      return [asked === 'bytes' ? bytes / count : seen.notifications / frames]
    },
  )
}
