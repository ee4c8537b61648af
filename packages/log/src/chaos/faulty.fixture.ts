import type { LogStore } from '../store.ts'
import type { RecordingStore } from './recording.fixture.ts'
import type { Process } from './scheduler.fixture.ts'
import type { World } from './world.fixture.ts'

/**
 * A store as one process reaches it: each call waits for its turn, and may be lost, answered twice, held up or never answered. Wake-ups come when the
 * schedule says.
 */
export function faultyStore(store: RecordingStore, world: World, process: Process): LogStore {
  /** The versions of the tickets that this process has read last. */
  const versions = new Map<string, string>()
  const call = <Args extends unknown[], T>(name: string, method: (...args: Args) => Promise<T>) => {
    return (...args: Args): Promise<T> => {
      const label = `${name} ${args.map(brief).join(' ')}`
      return world.scheduler.call(process, label, () => method.apply(store, args))
    }
  }
  const read = call('read', store.read)
  const trim = call('trim', store.trim)
  return {
    maxBatchBytes: store.maxBatchBytes,
    create: call('create', store.create),
    append: call('append', store.append),
    async read(...args) {
      const page = await read(...args)
      if (page) versions.set(args[0], page.version)
      return page
    },
    find: call('find', store.find),
    watch: (streamId, wake) => world.watch(process, streamId, wake),
    claim: call('claim', store.claim),
    renew: call('renew', store.renew),
    release: call('release', store.release),
    due: call('due', store.due),
    putSnapshot: call('putSnapshot', store.putSnapshot),
    getSnapshot: call('getSnapshot', store.getSnapshot),
    putBlob: call('putBlob', store.putBlob),
    getBlob: call('getBlob', store.getBlob),
    trim: (streamId, floor) => trim(streamId, floor, versions.get(streamId)),
    fork: call('fork', store.fork),
    list: call('list', store.list),
    remove: call('remove', store.remove),
    restored: call('restored', store.restored),
    close: async () => {},
  }
}

/** An argument for the trace. */
function brief(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`
  if (typeof value === 'object' && value !== null && 'body' in value && 'count' in value) {
    const { body } = value as { body: string }
    return [...body.matchAll(/"chunk":\{"type":"([^"]*)"/g)].map(([, type]) => type).join('+')
  }
  if (typeof value === 'object' && value !== null && 'next' in value) {
    return `if ${(value as { ifVersion?: string }).ifVersion}`
  }
  const text = JSON.stringify(value) ?? ''
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
