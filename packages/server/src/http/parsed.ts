// Bodies that a framework has read before this server came to it: what it made of them says the same, but is not the same bytes.

const parsed = new WeakSet<Request>()

/** Notes that the body of a request is not as it was sent. */
export const noteParsed = (request: Request): void => void parsed.add(request)

/** Whether the body of a request is as it was sent, byte for byte. */
export const isAsSent = (request: Request): boolean => !parsed.has(request)
