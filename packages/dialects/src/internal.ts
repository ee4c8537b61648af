// For the other packages of Millrace alone: these names may change in any release.

export { distinctId, foreignId } from './dialect/distinct-id.ts'
export { RepeatedText } from './foreign-server/replay-filter.ts'
export { jsonEventOf } from './http/event-reader.ts'
export { computed, onAbort, send, unlessAborted } from './http/request.ts'
export { failureOf } from './http/request-error.ts'

// Parts of dialects. They come last: the order of the modules in a bundle changes its compressed size.

export { answerFromResume, cancelledQuestionIn } from './ag-ui/events/interrupts.ts'
export { HIDDEN_EXTENSION } from './mui/events/mui-event.ts'
export { chatPartOf } from './mui/messages/chat-messages.ts'
