// The state of a client that follows a session: it applies only frames that provably come next.

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
  #fold = this.#made()
  #incarnation: string | undefined
  /** Whether this connection has another log than the one it resumed. */
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
    const goesOn = this.#take(frame)
    this.#onChange()
    return goesOn
  }

  #take(frame: Frame): boolean {
    switch (frame.type) {
      case 'open':
        if (frame.sessionId !== this.sessionId) this.#complain(`was opened as ${frame.sessionId}`)
        this.#isForeign = this.#incarnation !== undefined && frame.incarnation !== this.#incarnation
        return true
      case 'entries':
        return this.#apply(frame)
      case 'caught-up':
        if (this.#isForeign) return this.#foreign()
        if (frame.sequence !== this.position) return this.#complain(`caught up with ${frame.sequence}`)
        this.cursor = frame.cursor
        return true
      case 'truncated':
        this.isLost = true
        return false
      case 'status':
        return true
      case 'fail':
        // A deleted log may be replaced by another with the same id.
        if (!frame.recoverable && frame.error.code !== 'session_unknown') this.#complain(`failed: ${frame.error.code}`)
        return false
      case 'end':
        return this.#complain('ended, though it is no run')
    }
  }

  /** Continues from a view of the server. */
  adopt({ view, cursor, sequence }: Snapshot): void {
    const { incarnation } = decodeCursor(cursor)
    const from = incarnation === this.#incarnation ? this.position : 0
    if (sequence < from) this.#complain(`a snapshot of ${sequence}, which lies before ${from}`)
    if (view.head !== sequence) this.#complain(`a snapshot of ${sequence} with a view of ${view.head}`)
    if ('internal' in view) this.#complain('a snapshot with what is internal')
    if (from === 0) this.applied = []
    this.applied.push({ kind: 'snapshot', from, sequence })
    this.#fold = this.#made(view)
    this.#incarnation = incarnation
    this.position = sequence
    this.cursor = cursor
    this.isLost = false
    this.#onChange()
  }

  #apply(frame: Extract<Frame, { type: 'entries' }>): boolean {
    if (this.#isForeign) return this.#foreign()
    const { after, sequence, entries, cursor } = frame
    const decoded = decodeCursor(cursor)
    const continuity = continuityOf(frame, this.position)
    if (continuity !== 'next') return this.#complain(`${continuity}: (${after}, ${sequence}]`)
    if (decoded.sequence !== sequence) this.#complain(`the cursor of ${sequence} is one of ${decoded.sequence}`)
    if (this.#incarnation !== undefined && decoded.incarnation !== this.#incarnation) {
      return this.#complain(`(${after}, ${sequence}] is of another log`)
    }
    if (entries.some(({ internal }) => internal)) this.#complain(`(${after}, ${sequence}] has what is internal`)
    this.applied.push({ kind: 'frame', after, sequence, entries })
    this.count += entries.length
    this.#incarnation = decoded.incarnation
    this.position = sequence
    this.cursor = cursor
    // After a rewind the fold needs the earlier state, which only the server has.
    if (this.#fold.apply(entries, sequence)) this.isLost = true
    return !this.isLost
  }

  #made(view?: View): Fold {
    const options = {
      onReport: ({ code, entry }: { code: string; entry: Entry }) =>
        void this.#complain(`the fold dropped ${entry.sequence} (${entry.chunk.type}): ${code}`),
    }
    return view ? Fold.from(view, options) : new Fold(options)
  }

  /** Only a follower that resumes from a bare sequence may get entries of another log. It notices by the incarnation. */
  #foreign(): false {
    if (this.provesItself) this.#complain('was given another log in answer to a cursor of the one before')
    this.isLost = true
    return false
  }

  /** Whether it resumes with a cursor, not with a bare sequence. */
  provesItself = true

  #complain(problem: string): false {
    this.problems.push(`${this.sessionId} at ${this.position}: ${problem}`)
    return false
  }
}
