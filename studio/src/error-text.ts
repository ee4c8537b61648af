const UNREACHABLE = 'Cannot reach the server.'
const RATE_LIMITED = 'Too many requests. Try again in a moment.'
const MODEL_BUSY = 'The model is overloaded. Try again in a moment.'
const RESTARTING = 'The server is restarting. Try again in a moment.'
const TOO_LARGE = 'Your message is too large. Shorten it or attach smaller files.'

/** Texts for error codes, where the message of the error is written for developers. */
const MESSAGES: { readonly [code: string]: string } = {
  network_error: UNREACHABLE,
  provider_unreachable: 'Cannot reach the model. Try again in a moment.',
  provider_overloaded: MODEL_BUSY,
  answer_already_settled: 'This was already answered.',
  answer_unknown: 'This question is no longer open.',
  answer_late: 'This question has expired.',
  answer_claimed: 'Another tab is answering this.',
  run_ended: 'This run has already ended.',
  checks_limit: 'Too many answers at once. Try again in a moment.',
  run_queue_full: 'Too many messages are queued. Wait for a response first.',
  rate_limit: RATE_LIMITED,
  streams_limit: 'Too many tabs are open. Close one and try again.',
  sessions_limit: 'You have too many chats. Delete one and try again.',
  bytes_limit: RATE_LIMITED,
  uploads_limit: 'Your files take too much space. Delete some chats and try again.',
  reply_too_large: 'This chat is too large to load.',
  draining: RESTARTING,
  runtime_closed: RESTARTING,
  store_unavailable: 'The database is unavailable. Try again in a moment.',
  body_too_large: TOO_LARGE,
  input_too_large: TOO_LARGE,
  session_unknown: 'This chat was deleted. Send a message to start it again.',
  unauthorized: 'You are not signed in. Sign in and reload the page.',
  forbidden: 'You do not have access to this chat.',
}

/** Messages of browsers for a request that failed on the network. */
const BROWSER_NETWORK_ERROR = /^(Failed to fetch|NetworkError|Load failed|network error)/i

/** The text to show for an error. */
export function errorText(error: { readonly code?: string | undefined; readonly message: string }): string {
  const { code = '', message } = error
  if (Object.hasOwn(MESSAGES, code)) return MESSAGES[code] as string
  if (BROWSER_NETWORK_ERROR.test(message)) return UNREACHABLE
  return message.charAt(0).toUpperCase() + message.slice(1)
}
