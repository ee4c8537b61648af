import type { LogFile } from './log-file.ts'

/** Weight up to which a log is copied or removed within a millisecond or two, in bytes. */
const MAX_LIGHT_WEIGHT = 256 * 1024

// Each row has a cost besides its bytes. Reads no more rows than are enough to make a log heavy.
const WEIGHT = `
WITH s AS (SELECT id, id << 32 AS low, (id << 32) | 0xffffffff AS high FROM streams WHERE name = ?)
SELECT sum(weight) FROM (
  SELECT * FROM (SELECT octet_length(body) + 1024 AS weight FROM s, batches WHERE place BETWEEN low AND high LIMIT 257)
  UNION ALL SELECT * FROM (SELECT 1024 FROM s, keys WHERE stream = id LIMIT 257)
  UNION ALL SELECT * FROM (SELECT octet_length(body) + 16384 FROM s, snapshots WHERE place BETWEEN low AND high LIMIT 17)
  UNION ALL SELECT * FROM (
    SELECT octet_length(data) + 16384 FROM s JOIN blobs ON stream = s.id JOIN contents ON contents.id = content LIMIT 17)
)`

/** Whether a log is small enough to be copied, trimmed or removed synchronously. */
export function isLight(file: LogFile, streamId: string): boolean {
  return (file.row<[number | null]>(WEIGHT, streamId)?.[0] ?? 0) <= MAX_LIGHT_WEIGHT
}
