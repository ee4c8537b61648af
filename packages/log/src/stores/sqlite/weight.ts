import type { LogFile } from './file.ts'

/** Up to so much a log is copied or removed within a millisecond or two. */
const LIGHT = 256 * 1024

// A row costs as well as its bytes; no more rows are looked at than make a log heavy by their number.
const WEIGHT = `
WITH s AS (SELECT id, id << 32 AS low, (id << 32) | 0xffffffff AS high FROM streams WHERE name = ?)
SELECT sum(weight) FROM (
  SELECT * FROM (SELECT octet_length(body) + 1024 AS weight FROM s, batches WHERE place BETWEEN low AND high LIMIT 257)
  UNION ALL SELECT * FROM (SELECT 1024 FROM s, keys WHERE stream = id LIMIT 257)
  UNION ALL SELECT * FROM (SELECT octet_length(body) + 16384 FROM s, snapshots WHERE place BETWEEN low AND high LIMIT 17)
  UNION ALL SELECT * FROM (
    SELECT octet_length(data) + 16384 FROM s JOIN blobs ON stream = s.id JOIN contents ON contents.id = content LIMIT 17)
)`

/** Whether a log has so little in it that it can be copied, trimmed or removed at once. */
export function isLight(file: LogFile, streamId: string): boolean {
  return (file.row<[number | null]>(WEIGHT, streamId)?.[0] ?? 0) <= LIGHT
}
