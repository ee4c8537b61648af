/** Settles as `promise` does. @throws the signal's reason as soon as it is aborted, without waiting for the promise. */
export function unlessAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    const done = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    promise.then(
      value => {
        done()
        resolve(value)
      },
      error => {
        done()
        reject(error)
      },
    )
  })
}
