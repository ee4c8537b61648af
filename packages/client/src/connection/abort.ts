/** Calls when a signal is aborted, at once where it is, until the returned function is called. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  signal?.addEventListener('abort', run)
  if (signal?.aborted) run()
  return () => signal?.removeEventListener('abort', run)
}
