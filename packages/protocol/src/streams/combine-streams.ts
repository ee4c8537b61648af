import { filterWith } from './filter.ts'
import { AbortableIterator, over, type StreamOptions } from './pipe.ts'

/** The items of several sources: of each, one item at most has been asked for and not yet handed out (law 8). */
function merge<Item>(streams: Iterable<AsyncIterable<Item>>): AsyncIterator<Item, undefined> {
  const iterators = Array.from(streams, stream => new AbortableIterator(stream))
  const leave = () => iterators.map(iterator => iterator.return())
  // Who may be asked: whose last item was handed out.
  let idle = iterators
  let open = iterators.length
  let wake = () => {}
  // What arrived, in order.
  const ready: { iterator: AbortableIterator<Item>; result: Promise<IteratorResult<Item, undefined>> }[] = []

  function ask(iterator: AbortableIterator<Item>): void {
    const result = iterator.next()
    const arrive = () => {
      ready.push({ iterator, result })
      wake()
    }
    result.then(arrive, arrive)
  }

  return {
    async next() {
      idle.forEach(ask)
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
          // One source's error is the end of all.
          await Promise.allSettled(leave())
          throw error
        })
        if (!result.done) {
          idle.push(first.iterator)
          return result
        }
        open--
      }
      return over
    },
    return: () => Promise.all(leave()).then(() => over),
  }
}

/** The items of all streams as they arrive; an error of one ends the others. */
export function combineStreams<Stream extends AsyncIterable<unknown>>(
  streams: Iterable<Stream>,
  options?: StreamOptions,
): AsyncIterableIterator<Stream extends AsyncIterable<infer Item> ? Item : never, undefined> {
  type Item = Stream extends AsyncIterable<infer I> ? I : never
  const all = { [Symbol.asyncIterator]: () => merge(streams as Iterable<AsyncIterable<Item>>) }
  return filterWith(all, () => true, options)
}
