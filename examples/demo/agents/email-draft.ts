import { draftScript, emailDraftBy } from '@millrace/example-email-draft'
import { modelOf } from '../model.ts'

/** Asks a person for a tone, and writes an email that fills in a form. */
export const emailDraft = emailDraftBy(modelOf(draftScript, 50))
