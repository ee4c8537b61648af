import { filterWith } from './filter.ts'
import { pipe, type StreamOptions } from './pipe.ts'

/** The first `count` items; the source is not asked for one more, and is let go with the last of them. */
export function take<Item>(
  stream: AsyncIterable<Item>,
  count: number,
  options?: StreamOptions,
): AsyncIterableIterator<Item, undefined> {
  return pipe(
    stream,
    async function* (items) {
      let left = count
      if (!(left > 0)) await items.return()
      for await (const item of items) {
        if (--left > 0) {
          yield item
          continue
        }
        // Before the item is handed out: nobody may ask for another.
        const gone = items.return()
        gone.catch(() => {})
        try {
          yield item
        } finally {
          await gone
        }
        return
      }
    },
    options,
  )
}

/** All but the first `count` items. */
export function skip<Item>(
  stream: AsyncIterable<Item>,
  count: number,
  options?: StreamOptions,
): AsyncIterableIterator<Item, undefined> {
  let left = count
  return filterWith(stream, () => left-- <= 0, options)
}
