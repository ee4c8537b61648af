// The state of a client that follows a session: it applies a frame only if its position shows that it is the next one.

import { continuityOf, decodeCursor, type Entry, Fold, type Frame, type View } from '@millrace/protocol'

/** A frame that was applied, or a snapshot that replaced the earlier ones. */
export type Applied =
  | { readonly kind: 'frame'; readonly after: number; readonly sequence: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'snapshot'; readonly from: number; readonly sequence: number }

export interface Snapshot {
  readonly view: View
  readonly cursor: string
  readonly sequence: number
}

export class SessionReplica {
  readonly sessionId: string
  /** Everything that was applied of the current log. Frames of a replaced log are dropped. */
  applied: Applied[] = []
  /** Violations by the server. */
  readonly problems: string[] = []
  /** Whether a snapshot is needed to continue. */
  isLost = false
  /** Total number of applied entries. */
  count = 0
  position = 0
  cursor: string | undefined
  #fold = this.#newFold()
  #incarnation: string | undefined
  /** Whether this connection serves another log than the replica has. */
  #isForeign = false
  readonly #onChange: () => void

  constructor(sessionId: string, onChange: () => void) {
    this.sessionId = sessionId
    this.#onChange = onChange
  }

  get view(): View {
    return this.#fold.view()
  }

  get incarnation(): string | undefined {
    return this.#incarnation
  }

  /** Applies the next frame. Returns whether the connection is still useful. */
  onFrame(frame: Frame): boolean {
    const isUseful = this.#handle(frame)
    this.#onChange()
    return isUseful
  }

  #handle(frame: Frame): boolean {
    switch (frame.type) {
      case 'open':
        if (frame.sessionId !== this.sessionId) this.#addProblem(`opened as ${frame.sessionId}`)
        this.#isForeign = this.#incarnation !== undefined && frame.incarnation !== this.#incarnation
        return true
      case 'entries':
        return this.#apply(frame)
      case 'caught-up':
        if (this.#isForeign) return this.#rejectForeign()
        if (frame.sequence !== this.position) return this.#addProblem(`caught up at ${frame.sequence}`)
        this.cursor = frame.cursor
        return true
      case 'truncated':
        this.isLost = true
        return false
      case 'status':
        return true
      case 'fail':
        // A deleted log may be replaced by another with the same id.
        if (!frame.recoverable && frame.error.code !== 'session_unknown')
          this.#addProblem(`failed: ${frame.error.code}`)
        return false
      case 'end':
        return this.#addProblem('end: a frame of runs only')
    }
  }

  /** Continues from a view of the server. */
  adopt({ view, cursor, sequence }: Snapshot): void {
    const { incarnation } = decodeCursor(cursor)
    const from = incarnation === this.#incarnation ? this.position : 0
    if (sequence < from) this.#addProblem(`snapshot at ${sequence}, expected ${from} or later`)
    if (view.head !== sequence) this.#addProblem(`snapshot at ${sequence} with the view of ${view.head}`)
    if ('internal' in view) this.#addProblem('snapshot with internal fields')
    if (from === 0) this.applied = []
    this.applied.push({ kind: 'snapshot', from, sequence })
    this.#fold = this.#newFold(view)
    this.#incarnation = incarnation
    this.position = sequence
    this.cursor = cursor
    this.isLost = false
    this.#onChange()
  }

  #apply(frame: Extract<Frame, { type: 'entries' }>): boolean {
    if (this.#isForeign) return this.#rejectForeign()
    const { after, sequence, entries, cursor } = frame
    const decoded = decodeCursor(cursor)
    const continuity = continuityOf(frame, this.position)
    if (continuity !== 'next') return this.#addProblem(`${continuity}: (${after}, ${sequence}]`)
    if (decoded.sequence !== sequence) this.#addProblem(`cursor of ${decoded.sequence} on the frame up to ${sequence}`)
    if (this.#incarnation !== undefined && decoded.incarnation !== this.#incarnation) {
      return this.#addProblem(`(${after}, ${sequence}] belongs to another log`)
    }
    if (entries.some(({ internal }) => internal)) this.#addProblem(`(${after}, ${sequence}] has internal entries`)
    this.applied.push({ kind: 'frame', after, sequence, entries })
    this.count += entries.length
    this.#incarnation = decoded.incarnation
    this.position = sequence
    this.cursor = cursor
    // After a rewind the fold needs the earlier state, which only the server has.
    if (this.#fold.apply(entries, sequence)) this.isLost = true
    return !this.isLost
  }

  #newFold(view?: View): Fold {
    const options = {
      onReport: ({ code, entry }: { code: string; entry: Entry }) =>
        void this.#addProblem(`the fold dropped ${entry.sequence} (${entry.chunk.type}): ${code}`),
    }
    return view ? Fold.from(view, options) : new Fold(options)
  }

  /** Only a follower that resumes from a bare sequence may get entries of another log. It notices by the incarnation. */
  #rejectForeign(): false {
    if (this.hasProvenCursor) this.#addProblem('got another log in reply to a cursor of the earlier one')
    this.isLost = true
    return false
  }

  /** Whether it resumes with a cursor, not with a bare sequence. */
  hasProvenCursor = true

  #addProblem(problem: string): false {
    this.problems.push(`${this.sessionId} at ${this.position}: ${problem}`)
    return false
  }
}
