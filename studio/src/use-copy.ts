import { useEffect, useState } from 'react'

/** Time for which a button shows the result of a copy, in ms. */
const SHOWN_MS = 2000

interface Copying {
  /** The result of the last copy, for 2 s. */
  readonly result: 'Copied' | 'Copy failed' | undefined
  /** Copies a text. Undefined without a clipboard, as on a page served over plain HTTP from another host. */
  readonly copy: ((text: string) => void) | undefined
}

/** Copies texts to the clipboard, and shows the result for a short time. */
export function useCopy(): Copying {
  // An object, so that a second copy shows its result for the full time.
  const [last, setLast] = useState<Pick<Copying, 'result'>>()
  useEffect(() => {
    if (last === undefined) return
    const timer = setTimeout(() => setLast(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [last])
  const { clipboard } = navigator as { clipboard?: Clipboard }
  return {
    result: last?.result,
    copy:
      clipboard &&
      (text => {
        clipboard.writeText(text).then(
          () => setLast({ result: 'Copied' }),
          () => setLast({ result: 'Copy failed' }),
        )
      }),
  }
}
