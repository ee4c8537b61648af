import { draftScript, emailDraftWith } from '@millrace/example-email-draft'
import { modelOf } from '../model.ts'

/** Asks for a tone, then streams an email draft as a structured object. */
export const emailDraft = emailDraftWith(modelOf(draftScript, 50))
