const UNREACHABLE = 'The server cannot be reached.'
const LATER = 'Too much is under way: try again in a while.'

/** What people are told, where the code of an error says more to programs than its message does to them. */
const WORDS: { readonly [code: string]: string } = {
  network_error: UNREACHABLE,
  provider_unreachable: 'The model cannot be reached.',
  provider_overloaded: 'The model has too much to do: try again in a while.',
  provider_rate_limited: 'The model has too much to do: try again in a while.',
  answer_already_settled: 'It has been answered already.',
  answer_unknown: 'It is no longer asked.',
  answer_late: 'It came too late.',
  answer_claimed: 'Somebody else is at it.',
  run_ended: 'It has ended already.',
  run_queue_full: 'Too much waits its turn already.',
  rate_limit: LATER,
  streams_limit: LATER,
  sessions_limit: LATER,
  bytes_limit: LATER,
  draining: 'The server is about to start anew: try again in a moment.',
  runtime_closed: 'The server is about to start anew: try again in a moment.',
  store_unavailable: 'The server cannot reach what it keeps: try again in a moment.',
  body_too_large: 'That is too much at once.',
  input_too_large: 'That is too much at once.',
  session_unknown: 'There is no such session any more: what is said in it begins it anew.',
  unauthorized: 'The server does not know who you are.',
  forbidden: 'The server does not let you do that.',
}

/** What browsers say of a request that did not get there. */
const OF_BROWSERS = /^(Failed to fetch|NetworkError|Load failed|network error)/i

/** An error in words for people. */
export function wordsOf(error: { readonly code?: string | undefined; readonly message: string }): string {
  const { code = '', message } = error
  if (Object.hasOwn(WORDS, code)) return WORDS[code] as string
  if (OF_BROWSERS.test(message)) return UNREACHABLE
  return message.charAt(0).toUpperCase() + message.slice(1)
}
