import type { LogStore } from '../../store/log-store.ts'
import type { World } from './schedule-world.fixture.ts'
import type { Process } from './scheduler.fixture.ts'

/**
 * A store as seen by one process: each call waits until it is picked, and may be lost, answered twice, delayed or never answered. The schedule decides
 * when wake-ups arrive.
 */
export function faultyStore(store: Omit<LogStore, 'watch'>, world: World, process: Process): LogStore {
  const call = <Args extends unknown[], T>(name: string, method: (...args: Args) => Promise<T>) => {
    return (...args: Args): Promise<T> => {
      const label = `${name} ${args.map(brief).join(' ')}`
      return world.scheduler.call(process, label, () => method.apply(store, args))
    }
  }
  return {
    maxBatchBytes: store.maxBatchBytes,
    create: call('create', store.create),
    append: call('append', store.append),
    read: call('read', store.read),
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
    trim: call('trim', store.trim),
    fork: call('fork', store.fork),
    list: call('list', store.list),
    listOldest: call('listOldest', store.listOldest),
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
