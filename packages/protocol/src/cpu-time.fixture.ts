/** Starts to count. Returns the CPU time of this thread since then, in ms. Other processes hardly change it, however busy they are. */
export function startCpuTime(): () => number {
  const start = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(start)
    return (user + system) / 1000
  }
}
