// Servers that are broken in ways that the schedules are to find.

import { type BatchReader, type ReadBatch, StreamManager } from '@millrace/log'
import { decodeCursor, isWord } from '@millrace/protocol'
import { Run } from '@millrace/runtime'
import { vi } from 'vitest'
import { Follower } from '../stream/follower.ts'
import { EntriesFrame } from '../stream/format.ts'

export interface Mutant {
  readonly name: string
  /** What is said of it when it is found. */
  readonly found: RegExp
  /** Breaks the server, until all mocks are restored. */
  breaks(): void
}

type Options = NonNullable<Parameters<StreamManager['readBatches']>[1]>

/** Lets all readers of batches read otherwise. */
function reading(
  change: (piece: ReadBatch) => ReadBatch,
  ask: (options: Options, streamId: string) => Options = options => options,
): void {
  const { readBatches } = StreamManager.prototype
  vi.spyOn(StreamManager.prototype, 'readBatches').mockImplementation(function (
    this: StreamManager,
    streamId,
    options = {},
  ) {
    const reader: BatchReader = readBatches.call(this, streamId, ask(options, streamId))
    for (const verb of ['now', 'next'] as const) {
      const own = reader[verb].bind(reader)
      reader[verb] = async () => {
        const piece = await own()
        return piece && change(piece)
      }
    }
    return reader
  })
}

/** True now and then: every so many times. */
function every(count: number): () => boolean {
  let n = 0
  return () => ++n % count === 0
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'who joins a feed is not given its first piece',
    found: /gap: /,
    breaks() {
      const { deliver } = Follower.prototype
      const known = new WeakSet<Follower>()
      vi.spyOn(Follower.prototype, 'deliver').mockImplementation(function (this: Follower, frame) {
        if (known.has(this)) return deliver.call(this, frame)
        known.add(this)
        return true
      })
    },
  },
  {
    name: 'a piece goes out without its last word, and says that it is whole',
    found: /misses \d+/,
    breaks() {
      const isTurn = every(3)
      reading(piece => {
        const last = piece.entries.findLast(({ chunk }) => isWord(chunk))
        return last && isTurn() ? { ...piece, entries: piece.entries.filter(entry => entry !== last) } : piece
      })
    },
  },
  {
    name: 'a frame is written twice',
    found: /duplicate: |no frame: /,
    breaks() {
      const { bytes } = EntriesFrame.prototype
      const isTurn = every(7)
      vi.spyOn(EntriesFrame.prototype, 'bytes').mockImplementation(function (this: EntriesFrame, ...way) {
        const once = bytes.apply(this, way)
        return isTurn() ? Buffer.concat([once, once]) : once
      })
    },
  },
  {
    name: 'a frame says that it begins later than it does',
    found: /gap: |no frame: /,
    breaks() {
      const isTurn = every(7)
      reading(piece => (isTurn() ? { ...piece, after: piece.after + 1 } : piece))
    },
  },
  {
    name: 'the first frame leaves out where it begins',
    found: /no frame: .*after/,
    breaks() {
      const { bytes } = EntriesFrame.prototype
      vi.spyOn(EntriesFrame.prototype, 'bytes').mockImplementation(function (this: EntriesFrame, format, isNamed) {
        return bytes.call(this, format, isNamed, this.piece.after)
      })
    },
  },
  {
    name: 'a discard is not passed on',
    found: /its view is another: |the fold dropped /,
    breaks() {
      const isDiscard = ({ chunk }: ReadBatch['entries'][number]) => chunk.type === 'step-discarded'
      reading(piece => ({ ...piece, entries: piece.entries.filter(entry => !isDiscard(entry)) }))
    },
  },
  {
    name: 'what is internal is let through',
    found: /what is internal came over the wire/,
    breaks() {
      reading(
        piece => ({ ...piece, entries: piece.entries.map(({ internal, ...entry }) => entry) }),
        options => ({ ...options, internal: true }),
      )
    },
  },
  {
    name: 'the end of a run is told before its last entries',
    found: /ended after .*, not after its end/,
    breaks() {
      const { pieces } = Run.prototype
      vi.spyOn(Run.prototype, 'pieces').mockImplementation(async function* (this: Run, options) {
        for await (const piece of pieces.call(this, options)) {
          if (piece.entries.at(-1)?.chunk.type !== 'run-finished') yield piece
        }
      })
    },
  },
  {
    name: 'a cursor of a log that is gone is taken for one of the log that has its name',
    found: /another log in answer to a cursor/,
    breaks() {
      const { getInfo } = StreamManager.prototype
      const known = new Map<string, string>()
      vi.spyOn(StreamManager.prototype, 'getInfo').mockImplementation(async function (this: StreamManager, streamId) {
        const info = await getInfo.call(this, streamId)
        if (info) known.set(streamId, info.incarnation)
        return info
      })
      reading(
        piece => piece,
        (options, streamId) => {
          const { incarnation } = decodeCursor(options.after ?? 0)
          return incarnation === undefined || incarnation === known.get(streamId) ? options : { ...options, after: 0 }
        },
      )
    },
  },
  {
    name: 'a snapshot lacks the last entry before its cursor',
    found: /its view is another: |the fold dropped /,
    breaks() {
      const { view } = StreamManager.prototype
      vi.spyOn(StreamManager.prototype, 'view').mockImplementation(async function (this: StreamManager, streamId, at) {
        const now = await view.call(this, streamId, at)
        const { sequence } = now.cursor
        const before = await view.call(this, streamId, Math.max(0, sequence - 1))
        return { ...now, view: { ...before.view, head: sequence } }
      })
    },
  },
  {
    name: 'who comes late is not shown what a rewind took back',
    found: /its view is another: (runs|requests)/,
    breaks() {
      reading(
        piece => piece,
        ({ rewound, ...options }) => options,
      )
    },
  },
]
