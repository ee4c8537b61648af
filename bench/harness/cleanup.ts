import { memo } from '../fixtures/memo.ts'

const closers: (() => void | Promise<void>)[] = []

/** Registers a cleanup that runs after the measurement. */
export function onCleanup(close: () => void | Promise<void>): void {
  closers.push(close)
}

/** Runs all cleanups, the last registered first. */
export async function closeAll(): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop()) await close()
}

/** Memoises `open` by its arguments until `closeAll`. */
export function openOnce<Arguments extends (string | number)[], Result>(
  open: (...args: Arguments) => Result,
): (...args: Arguments) => Result {
  let memoised: typeof open | undefined
  return (...args) => {
    if (memoised === undefined) {
      memoised = memo(open)
      onCleanup(() => {
        memoised = undefined
      })
    }
    return memoised(...args)
  }
}
