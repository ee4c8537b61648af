// Frames as NDJSON: one frame per line. A blank line is a heartbeat.

import type { Frame } from '../frame/frame.ts'
import { type FrameWriter, packFrame } from '../frame/frame-writer.ts'
import { parseJson } from '../json/json.ts'
import { FrameDecoder } from './frame-decoder.ts'

/** Keeps an idle connection open. */
export const NDJSON_HEARTBEAT = '\n'

/** Encodes a frame as one line. With the writer of the connection, a redundant `after` is omitted. */
export function encodeNdjson(frame: Frame, writer?: FrameWriter): string {
  return `${JSON.stringify(writer?.write(frame) ?? packFrame(frame))}\n`
}

/** Decodes NDJSON. The last line may lack a line end. */
export class NdjsonDecoder extends FrameDecoder {
  protected override line(line: string): void {
    if (line === '') this.heartbeat()
    else this.frame(line)
  }

  protected override rest(line: string): void {
    // Invalid JSON is an incomplete line.
    if (parseJson(line) !== undefined) this.frame(line)
  }
}
