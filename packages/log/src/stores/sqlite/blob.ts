import type { BlobScope, BlobUsage } from '../../store/log-store.ts'
import type { LogFile } from './log-file.ts'

const GET = `
SELECT data FROM streams s JOIN blobs b ON b.stream = s.id JOIN contents c ON c.id = b.content
WHERE s.name = ? AND b.hash = ?`

/** Stores bytes under their hash for the life of the log. Existing bytes stay. */
export function putBlob(file: LogFile, _now: number, streamId: string, hash: string, data: Uint8Array): void {
  const stream = file.row<[number]>('SELECT id FROM streams WHERE name = ?', streamId)?.[0]
  if (stream === undefined) return
  if (file.row('SELECT 1 FROM blobs WHERE stream = ? AND hash = ?', stream, hash) !== undefined) return
  const content = file.row<[number]>('INSERT INTO contents (data) VALUES (?) RETURNING id', data) as [number]
  file.run('INSERT INTO blobs (stream, hash, content) VALUES (?, ?, ?)', stream, hash, content[0])
}

/** The bytes under a hash. */
export function getBlob(file: LogFile, _now: number, streamId: string, hash: string): Uint8Array | undefined {
  return file.row<[Uint8Array]>(GET, streamId, hash)?.[0]
}

/** SQLite reads the size of a value from its header. Joined in this order, only the blobs of the scope are visited. */
const USAGE = `
SELECT count(*), coalesce(sum(octet_length(c.data)), 0)
FROM streams s CROSS JOIN blobs b ON b.stream = s.id CROSS JOIN contents c ON c.id = b.content
WHERE b.hash >= ? AND substr(b.hash, 1, length(?)) = ? AND`

/** Number and size of the blobs whose hash begins with a prefix. */
export function blobUsage(file: LogFile, _now: number, scope: BlobScope, prefix: string): BlobUsage {
  const [where, name] = 'streamId' in scope ? ['s.name = ?', scope.streamId] : ['s.principal IS ?', scope.principal]
  const [count, bytes] = file.row<[number, number]>(`${USAGE} ${where}`, prefix, prefix, prefix, name) ?? [0, 0]
  return { count, bytes }
}

/** Size of the value that a probe writes: some pages, as an append. */
const PROBE_BYTES = 16 * 1024

/** Writes a value and deletes it. */
export function probeWrite(file: LogFile): void {
  const [id] = file.row<[number]>(`INSERT INTO contents (data) VALUES (zeroblob(${PROBE_BYTES})) RETURNING id`) ?? [0]
  file.run('DELETE FROM contents WHERE id = ?', id)
}
