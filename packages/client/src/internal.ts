// Only for other packages of Millrace. These names may change in any release.

export { toChatMessage } from './bridge/chat-message.ts'
export { itemsOf } from './structured/structured-streams.ts'
