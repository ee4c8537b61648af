const closers: (() => void | Promise<void>)[] = []

/** Has something closed when all is measured: what contenders open once for a process. */
export function atEnd(close: () => void | Promise<void>): void {
  closers.push(close)
}

/** Closes it all, what was opened last first. */
export async function closeAll(): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop()) await close()
}
