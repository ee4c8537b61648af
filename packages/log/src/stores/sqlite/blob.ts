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
