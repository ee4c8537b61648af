const AGAIN_MS = 2000

/** Does something as soon as it works, until it is told to leave it. */
export async function soon(action: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await action(signal)
    } catch {
      await new Promise(done => setTimeout(done, AGAIN_MS))
    }
  }
}
