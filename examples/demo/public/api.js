/** What the server refused, in its own words. */
export class Refusal extends Error {
  constructor({ code, message, retryable }) {
    super(message)
    this.code = code
    this.retryable = retryable
  }
}

/** The refusal that a reply is; what did not come from this server may pass. */
export async function refusalOf(response) {
  const { error } = await response.json().catch(() => ({}))
  if (error) return new Refusal(error)
  return new Refusal({ code: 'unknown', message: `the server said ${response.status}`, retryable: true })
}

/** Asks the server, and gives its answer; throws a `Refusal`. */
export async function ask(method, path, body) {
  const headers = { accept: 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const response = await fetch(path, { method, headers, body: JSON.stringify(body) }).catch(() => {
    throw new Refusal({ code: 'unreachable', message: 'The server is out of reach: try again.', retryable: true })
  })
  if (!response.ok) throw await refusalOf(response)
  return response.json()
}

/** The path of a session, or of something in it. */
export const pathOf = (sessionId, rest = '') => `/api/sessions/${encodeURIComponent(sessionId)}${rest}`
