// Frames as NDJSON: one frame a line, a heartbeat as a blank line.

import type { Frame } from '../frame/frame.ts'
import { type FrameWriter, packFrame } from '../frame/frame-writer.ts'
import { parsed } from '../json/json.ts'
import { FrameDecoder } from './frame-decoder.ts'

/** What keeps a silent connection open. */
export const NDJSON_HEARTBEAT = '\n'

/** Writes a frame as one line; with the connection's writer it also leaves out an `after` that the reader can tell. */
export function encodeNdjson(frame: Frame, writer?: FrameWriter): string {
  return `${JSON.stringify(writer?.write(frame) ?? packFrame(frame))}\n`
}

/** Reads frames from lines; the last line may lack its end. */
export class NdjsonDecoder extends FrameDecoder {
  protected override line(line: string): void {
    if (line === '') this.heartbeat()
    else this.frame(line)
  }

  protected override rest(line: string): void {
    // What is no JSON was cut off.
    if (parsed(line) !== undefined) this.frame(line)
  }
}
