import { pipe, type StreamOptions } from './pipe.ts'

/** The first `count` items; the source is not asked for one more. */
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
        yield item
        if (--left <= 0) return
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
  return pipe(
    stream,
    async function* (items) {
      let left = count
      for await (const item of items) if (left-- <= 0) yield item
    },
    options,
  )
}
