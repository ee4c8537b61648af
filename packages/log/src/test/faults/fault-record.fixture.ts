// Everything that was reported in a schedule, by log and by reader. At the end the log must agree with it.

import type { Entry } from '@millrace/protocol'
import type { ProcessMessage, Run } from './store-process-messages.fixture.ts'
import type { ReceivedMessage, StoreProcess } from './store-process-pool.fixture.ts'

type Of<Kind extends ProcessMessage['kind']> = Extract<ReceivedMessage, { kind: Kind }> & { readonly by: string }

/** Everything that was reported about one log. */
export class ReportedLog {
  readonly run: Run
  readonly claims: Of<'claimed'>[] = []
  readonly sent: Of<'sent'>[] = []
  readonly acks: Of<'acked'>[] = []
  readonly losses: Of<'lost'>[] = []
  readonly answers: Of<'answered'>[] = []
  readonly ends: Of<'ended'>[] = []
  /** Acknowledged appends that are not in the restored copy. None of them may be in the log. */
  readonly lostAcks: Of<'acked'>[] = []
  /** The times at which the server was killed, if its setting may lose the latest acknowledged appends. */
  readonly lossy: { readonly from: number; readonly to: number }[] = []

  constructor(run: Run) {
    this.run = run
  }

  record(by: string, event: ReceivedMessage): void {
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

  /** Called when the store was restored from an older copy, in which the log has this head. Later entries never happened. */
  onRestore(head: number): void {
    const isLost = ({ last }: { last: number }) => last > head
    this.lostAcks.push(...this.acks.filter(isLost))
    this.acks.splice(0, this.acks.length, ...this.acks.filter(ack => !isLost(ack)))
    const answers = this.answers.filter(({ last = 0 }) => last <= head)
    this.answers.splice(0, this.answers.length, ...answers)
  }
}

/** The batches that a reader got until its cursor was truncated, across deaths and lost connections. */
export interface ReadSegment {
  readonly entries: Entry[]
  /** Its position. 0 before its first batch. */
  cursor: string | number
  sequence: number
  truncated?: string
}

/** Batches that one reader got. */
export class ReportedReader {
  readonly name: string
  readonly streamId: string
  readonly segments: ReadSegment[] = []
  readonly problems: string[] = []
  /** The process of the reader. Undefined for the test process. */
  actor: StoreProcess | undefined

  constructor(name: string, streamId: string) {
    this.name = name
    this.streamId = streamId
    this.startSegment()
  }

  get current(): ReadSegment {
    return this.segments.at(-1) as ReadSegment
  }

  startSegment(): void {
    this.segments.push({ entries: [], cursor: 0, sequence: 0 })
  }

  take(event: ReceivedMessage): void {
    const { current } = this
    if (event.kind === 'truncated') {
      current.truncated = event.reason
      this.startSegment()
    } else if (event.kind === 'read') {
      const { after, sequence, cursor, entries } = event
      const found = entries.map(entry => entry.sequence)
      const isWhole = found.length === sequence - after && found.every((at, i) => at === after + i + 1)
      if (after !== current.sequence)
        this.problems.push(`${this.name} at ${current.sequence} got what follows ${after}`)
      if (!isWhole) this.problems.push(`${this.name} got ${found} of (${after}, ${sequence}]`)
      current.entries.push(...entries)
      current.sequence = sequence
      current.cursor = cursor
    }
  }
}
