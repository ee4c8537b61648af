// What was told in a schedule, log by log and reader by reader: what the log must be found to agree with in the end.

import type { Entry } from '@millrace/protocol'
import type { Run, Told } from './store-process-messages.fixture.ts'
import type { Actor, Event } from './store-process-pool.fixture.ts'

type Of<Kind extends Told['kind']> = Extract<Event, { kind: Kind }> & { readonly by: string }

/** All that was told of one log. */
export class LogRecord {
  readonly run: Run
  readonly claims: Of<'claimed'>[] = []
  readonly sent: Of<'sent'>[] = []
  readonly acks: Of<'acked'>[] = []
  readonly losses: Of<'lost'>[] = []
  readonly answers: Of<'answered'>[] = []
  readonly ends: Of<'ended'>[] = []
  /** Acknowledged, and then taken back by a fault that the store's page tells of: none of it may be there. */
  readonly lostAcks: Of<'acked'>[] = []
  /** When the server was killed whose setting may lose what it acknowledged just before. */
  readonly lossy: { readonly from: number; readonly to: number }[] = []

  constructor(run: Run) {
    this.run = run
  }

  take(by: string, event: Event): void {
    switch (event.kind) {
      case 'claimed':
        this.claims.push({ ...event, by })
        break
      case 'sent':
        this.sent.push({ ...event, by })
        break
      case 'acked':
        this.acks.push({ ...event, by })
        break
      case 'lost':
        this.losses.push({ ...event, by })
        break
      case 'answered':
        this.answers.push({ ...event, by })
        break
      case 'ended':
        this.ends.push({ ...event, by })
    }
  }

  /** The store was put back to an older copy, in which the log has this head: what lay after it never happened. */
  putBack(head: number): void {
    const isLost = ({ last }: { last: number }) => last > head
    this.lostAcks.push(...this.acks.filter(isLost))
    this.acks.splice(0, this.acks.length, ...this.acks.filter(ack => !isLost(ack)))
    const answers = this.answers.filter(({ last = 0 }) => last <= head)
    this.answers.splice(0, this.answers.length, ...answers)
  }
}

/** What a reader got in one go, through deaths and drops, until it was told that the log does not hold its place. */
export interface Stretch {
  readonly entries: Entry[]
  /** Where it is; 0 before its first batch. */
  cursor: string | number
  sequence: number
  truncated?: string
}

/** What one reader got. */
export class ReaderRecord {
  readonly name: string
  readonly streamId: string
  readonly stretches: Stretch[] = []
  readonly problems: string[] = []
  /** The process in which it reads; none for this one. */
  actor: Actor | undefined

  constructor(name: string, streamId: string) {
    this.name = name
    this.streamId = streamId
    this.begin()
  }

  get now(): Stretch {
    return this.stretches.at(-1) as Stretch
  }

  begin(): void {
    this.stretches.push({ entries: [], cursor: 0, sequence: 0 })
  }

  take(event: Event): void {
    const { now } = this
    if (event.kind === 'truncated') {
      now.truncated = event.reason
      this.begin()
    } else if (event.kind === 'read') {
      const { after, sequence, cursor, entries } = event
      const found = entries.map(entry => entry.sequence)
      const isWhole = found.length === sequence - after && found.every((at, i) => at === after + i + 1)
      if (after !== now.sequence) this.problems.push(`${this.name} at ${now.sequence} got what follows ${after}`)
      if (!isWhole) this.problems.push(`${this.name} got ${found} of (${after}, ${sequence}]`)
      now.entries.push(...entries)
      now.sequence = sequence
      now.cursor = cursor
    }
  }
}
