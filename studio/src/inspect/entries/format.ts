/** Formats a duration: `340 ms`, `2.50 s`, `4 min 10 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9950 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(ms / 60_000)
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  const hours = Math.round(ms / 3_600_000)
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Formats the local time of day: `09:05:07`, or with milliseconds `09:05:07.042`. */
export function formatClock(timestamp: number, precision: 's' | 'ms'): string {
  const time = new Date(timestamp)
  const twoDigits = (value: number) => String(value).padStart(2, '0')
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':')
  return precision === 's' ? clock : `${clock}.${String(time.getMilliseconds()).padStart(3, '0')}`
}

/** Formats a number of bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
