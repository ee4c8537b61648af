import { stop } from 'esbuild'

/** Ends the worker thread in which esbuild bundles. The next bundle starts another. */
export function stopBundler(): void {
  stop()
}
