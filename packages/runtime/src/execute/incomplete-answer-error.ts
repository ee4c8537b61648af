import type { BatchItem } from '@millrace/log'
import { BudgetError, MillraceError } from '../error/error.ts'

/** An answer was cut off at a limit. The end of its agent seals the text that readers have. */
export class IncompleteAnswerError extends BudgetError {
  readonly #items: readonly BatchItem[]

  constructor({ code, message, cause }: BudgetError, items: readonly BatchItem[]) {
    super(code, message, { cause })
    this.#items = items
  }

  /** Entries of the answer that are not in the log yet, for the commit of the end. */
  get items(): readonly BatchItem[] {
    return this.#items
  }
}

/** The entries of an incomplete answer that the end of its agent commits; none for other errors. */
export const incompleteAnswerItems = (error: unknown): readonly BatchItem[] =>
  MillraceError.isInstance(error) && error instanceof IncompleteAnswerError ? error.items : []
