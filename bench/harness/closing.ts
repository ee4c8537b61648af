import { memo } from '../fixtures/memo.ts'

const closers: (() => void | Promise<void>)[] = []

/** Has something closed when all is measured. */
export function atEnd(close: () => void | Promise<void>): void {
  closers.push(close)
}

/** Closes it all, what was opened last first. */
export async function closeAll(): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop()) await close()
}

/** Opens each thing once, by its arguments, until all is closed. */
export function opened<Arguments extends (string | number)[], Result>(
  open: (...args: Arguments) => Result,
): (...args: Arguments) => Result {
  let known: typeof open | undefined
  return (...args) => {
    if (known === undefined) {
      known = memo(open)
      atEnd(() => {
        known = undefined
      })
    }
    return known(...args)
  }
}
