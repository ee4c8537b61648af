import { filterWith } from './filter.ts'
import { over, type StreamOptions, Tap } from './pipe.ts'

/** The items of several sources: of each, one item at most has been asked for and not yet handed out (law 8). */
function merge<Item>(streams: Iterable<AsyncIterable<Item>>): AsyncIterator<Item, undefined> {
  const taps = Array.from(streams, stream => new Tap(stream))
  const leave = () => taps.map(tap => tap.return())
  // Who may be asked: whose last item was handed out.
  let idle = taps
  let open = taps.length
  let wake = () => {}
  // What arrived, in order.
  const ready: { tap: Tap<Item>; result: Promise<IteratorResult<Item, undefined>> }[] = []

  function ask(tap: Tap<Item>): void {
    const result = tap.next()
    const arrive = () => {
      ready.push({ tap, result })
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
          idle.push(first.tap)
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
