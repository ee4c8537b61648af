const RETRY_MS = 2000

/** Retries an action every 2 s until it succeeds or `signal` aborts. */
export async function retryUntilDone(
  action: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await action(signal)
    } catch {
      await new Promise(done => setTimeout(done, RETRY_MS))
    }
  }
}
