import { draftScript, emailDraftBy } from '@millrace/example-email-draft'
import { pacedModel } from '../pace.ts'

/** Asks a person for a tone, and writes an email that fills in a form. */
export const emailDraft = emailDraftBy(pacedModel(draftScript, 50))
