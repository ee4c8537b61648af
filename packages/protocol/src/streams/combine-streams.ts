import { filterWith } from './filter.ts'
import { AbortableIterator, END, type StreamOptions } from './pipe.ts'

/** Merges several sources. Each has at most one item requested and not yet yielded (law 8). */
function merge<Item>(streams: Iterable<AsyncIterable<Item>>): AsyncIterator<Item, undefined> {
  const iterators = Array.from(streams, stream => new AbortableIterator(stream))
  const closeAll = () => iterators.map(iterator => iterator.return())
  // Iterators to read next: their last item was yielded.
  let idle = iterators
  let open = iterators.length
  let wake = () => {}
  // Results in the order of arrival.
  const ready: { iterator: AbortableIterator<Item>; result: Promise<IteratorResult<Item, undefined>> }[] = []

  function requestNext(iterator: AbortableIterator<Item>): void {
    const result = iterator.next()
    const arrive = () => {
      ready.push({ iterator, result })
      wake()
    }
    result.then(arrive, arrive)
  }

  return {
    async next() {
      idle.forEach(requestNext)
      idle = []
      while (open > 0) {
        const first = ready.shift()
        if (first === undefined) {
          await new Promise<void>(resolve => {
            wake = resolve
          })
          continue
        }
        const result = await first.result.catch(async error => {
          // An error of one source closes all.
          await Promise.allSettled(closeAll())
          throw error
        })
        if (!result.done) {
          idle.push(first.iterator)
          return result
        }
        open--
      }
      return END
    },
    return: () => Promise.all(closeAll()).then(() => END),
  }
}

/** Yields the items of all streams as they arrive. An error of one stream ends all. */
export function combineStreams<Stream extends AsyncIterable<unknown>>(
  streams: Iterable<Stream>,
  options?: StreamOptions,
): AsyncIterableIterator<Stream extends AsyncIterable<infer Item> ? Item : never, undefined> {
  type Item = Stream extends AsyncIterable<infer I> ? I : never
  const all = { [Symbol.asyncIterator]: () => merge(streams as Iterable<AsyncIterable<Item>>) }
  return filterWith(all, () => true, options)
}
