import { draftScript, emailDraftBy } from '@millrace/example-email-draft'
import { modelOf } from '../model.ts'

/** Asks for a tone, then streams an email draft as a structured object. */
export const emailDraft = emailDraftBy(modelOf(draftScript, 50))
