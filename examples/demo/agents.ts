import { assistant } from './agents/assistant.ts'
import { echo } from './agents/echo.ts'
import { emailDraft } from './agents/email-draft.ts'
import { flaky } from './agents/flaky.ts'
import { guestBook } from './agents/guest-book.ts'
import { long } from './agents/long.ts'
import { operator } from './agents/operator.ts'
import { team } from './agents/team.ts'

export const agents = [echo, assistant, operator, team, long, flaky]
export const workflows = [emailDraft, guestBook]
