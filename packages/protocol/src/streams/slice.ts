import { filterWith } from './filter.ts'
import { pipe, type StreamOptions } from './pipe.ts'

/** Yields the first `count` items. Requests no further item, and releases the source with the last one. */
export function take<Item>(
  stream: AsyncIterable<Item>,
  count: number,
  options?: StreamOptions,
): AsyncIterableIterator<Item, undefined> {
  return pipe(
    stream,
    async function* (items) {
      let remaining = count
      if (!(remaining > 0)) await items.return()
      for await (const item of items) {
        if (--remaining > 0) {
          yield item
          continue
        }
        // Released before the last item is yielded, because the consumer may not request another one.
        const released = items.return()
        released.catch(() => {})
        try {
          yield item
        } finally {
          await released
        }
        return
      }
    },
    options,
  )
}

/** Yields all items after the first `count`. */
export function skip<Item>(
  stream: AsyncIterable<Item>,
  count: number,
  options?: StreamOptions,
): AsyncIterableIterator<Item, undefined> {
  let remaining = count
  return filterWith(stream, () => remaining-- <= 0, options)
}
