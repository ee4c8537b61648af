/** Calls `work` `count` times with at most `concurrency` at the same time. Returns the results in order. */
export async function inParallel<T>(count: number, concurrency: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const loop = async () => {
    for (let n = next++; n < count; n = next++) results[n] = await work(n)
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  return results
}
