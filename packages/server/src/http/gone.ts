/** Why a signal says that whoever asked is gone: one reason for all of them, since each of its own would take down a stack that nobody reads. */
export const GONE = new DOMException('whoever asked is gone', 'AbortError')
