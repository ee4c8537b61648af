import { StreamManager } from '@millrace/log'
import type { BatchReader, ReadBatch } from '@millrace/log/internal'
import { decodeCursor, isDraftChunk } from '@millrace/protocol'
import { Run } from '@millrace/runtime/internal'
import { vi } from 'vitest'
import { everyNth, type Mutant } from '../../../../../scripts/faults/sessions/mutant-search.fixture.ts'
import { Follower } from '../../stream/follower.ts'
import { EntriesFrame } from '../../stream/format.ts'

type Options = NonNullable<Parameters<StreamManager['readBatches']>[1]>

/** Changes the batches that readers get, or the options that they pass. */
function changeReads(
  change: (batch: ReadBatch) => ReadBatch,
  ask: (options: Options, streamId: string) => Options = options => options,
): void {
  const { readBatches } = StreamManager.prototype
  // All subscribers of a log get the same batch.
  const changed = new WeakMap<ReadBatch, ReadBatch>()
  const changeOnce = (batch: ReadBatch): ReadBatch => {
    const existing = changed.get(batch) ?? change(batch)
    changed.set(batch, existing)
    return existing
  }
  vi.spyOn(StreamManager.prototype, 'readBatches').mockImplementation(function (
    this: StreamManager,
    streamId,
    options = {},
  ) {
    const reader: BatchReader = readBatches.call(this, streamId, ask(options, streamId))
    for (const verb of ['nextAvailable', 'next'] as const) {
      const original = reader[verb].bind(reader)
      reader[verb] = async () => {
        const batch = await original()
        return batch && change(batch)
      }
    }
    const subscribe = reader.subscribe.bind(reader)
    reader.subscribe = subscriber =>
      subscribe({ deliver: batch => subscriber.deliver(changeOnce(batch)), dropped: () => subscriber.dropped() })
    return reader
  })
}

/** Bugs to plant in the server. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a follower that subscribes misses the first live piece',
    seed: 3,
    found: /gap: /,
    plant() {
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
    name: 'a piece lacks its last delta and claims to be complete',
    seed: 2,
    found: /misses \d+/,
    plant() {
      const isDue = everyNth(3)
      changeReads(batch => {
        const last = batch.entries.findLast(({ chunk }) => isDraftChunk(chunk))
        return last && isDue() ? { ...batch, entries: batch.entries.filter(entry => entry !== last) } : batch
      })
    },
  },
  {
    name: 'a frame is written twice',
    seed: 2,
    found: /duplicate: |no frame: /,
    plant() {
      const { bytes } = EntriesFrame.prototype
      const isDue = everyNth(7)
      vi.spyOn(EntriesFrame.prototype, 'bytes').mockImplementation(function (this: EntriesFrame, ...args) {
        const once = bytes.apply(this, args)
        return isDue() ? Buffer.concat([once, once]) : once
      })
    },
  },
  {
    name: 'a frame claims to begin later than it does',
    seed: 3,
    found: /gap: |no frame: /,
    plant() {
      const isDue = everyNth(7)
      changeReads(batch => (isDue() ? { ...batch, after: batch.after + 1 } : batch))
    },
  },
  {
    name: 'the first frame lacks its beginning',
    seed: 4,
    found: /no frame: .*after/,
    plant() {
      const { bytes } = EntriesFrame.prototype
      vi.spyOn(EntriesFrame.prototype, 'bytes').mockImplementation(function (this: EntriesFrame, format, isNamed) {
        return bytes.call(this, format, isNamed, this.batch.after)
      })
    },
  },
  {
    name: 'a discard is not sent',
    seed: 2,
    found: /its view differs: |the fold dropped /,
    plant() {
      const isDiscard = ({ chunk }: ReadBatch['entries'][number]) => chunk.type === 'step-discarded'
      changeReads(batch => ({ ...batch, entries: batch.entries.filter(entry => !isDiscard(entry)) }))
    },
  },
  {
    name: 'internal entries are sent',
    seed: 4,
    found: /an internal entry was sent to a client/,
    plant() {
      changeReads(
        batch => ({ ...batch, entries: batch.entries.map(({ internal, ...entry }) => entry) }),
        options => ({ ...options, internal: true }),
      )
    },
  },
  {
    name: 'the end of a run is sent before its last entries',
    seed: 2,
    found: /ended after .*, not after its end/,
    plant() {
      const { pieces } = Run.prototype
      vi.spyOn(Run.prototype, 'pieces').mockImplementation(async function* (this: Run, options) {
        for await (const piece of pieces.call(this, options)) {
          if (piece.entries.at(-1)?.chunk.type !== 'run-finished') yield piece
        }
      })
    },
  },
  {
    name: 'a cursor of a deleted log is accepted by the next log of that name',
    seed: 45,
    found: /another log in reply to a cursor/,
    plant() {
      const { getInfo } = StreamManager.prototype
      const known = new Map<string, string>()
      vi.spyOn(StreamManager.prototype, 'getInfo').mockImplementation(async function (this: StreamManager, streamId) {
        const info = await getInfo.call(this, streamId)
        if (info) known.set(streamId, info.incarnation)
        return info
      })
      changeReads(
        batch => batch,
        (options, streamId) => {
          const { incarnation } = decodeCursor(options.after ?? 0)
          return incarnation === undefined || incarnation === known.get(streamId) ? options : { ...options, after: 0 }
        },
      )
    },
  },
  {
    name: 'a snapshot lacks the last entry before its cursor',
    seed: 2,
    found: /its view differs: |the fold dropped /,
    plant() {
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
    name: 'a late follower is not sent the entries that a rewind removed',
    seed: 43,
    found: /its view differs: (runs|requests)/,
    plant() {
      changeReads(
        batch => batch,
        ({ rewound, ...options }) => options,
      )
    },
  },
]
